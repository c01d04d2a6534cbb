// The words that operations make: evaluated once where all lanes have the same operands, else lane by lane.
#include <algorithm>
#include <bit>

#include "verifier/explore/machine.hpp"

namespace kiln::verifier::explore {
namespace {

using flow::TermId;
using ir::Special;
using isa::Opcode;
using Kind = ir::Argument::Kind;

bool differs_by_lane(Special s) {
  switch (s) {
    case Special::tid_x:
    case Special::tid_y:
    case Special::tid_z:
    case Special::laneid:
    case Special::lanemask_eq:
    case Special::lanemask_le:
    case Special::lanemask_lt:
    case Special::lanemask_ge:
    case Special::lanemask_gt: return true;
    default: return false;
  }
}

constexpr std::uint64_t lanes_a_step = 8;  // that are evaluated one by one count as a step

int width_of(isa::ScalarType t) { return std::clamp(isa::bits(t), 1, 64); }

}  // namespace

// Operands as one lane has them.
class Machine::Reader final : public flow::OperandTerms {
 public:
  Reader(Machine& machine, const Turn& turn, int lane) : machine_(machine), turn_(turn), lane_(lane) {}
  TermId term(const ir::Argument& a, int width) override { return machine_.read(turn_, a, lane_, width); }

 private:
  Machine& machine_;
  const Turn& turn_;
  int lane_;
};

TermId Machine::named(const std::string& name, int width, std::span<const TermId> operands) {
  return terms_.atom(evaluator_.name(name), operands, width);
}

TermId Machine::fresh(const char* what, int width, flow::Bits known) {
  const TermId number[] = {terms_.constant(fresh_.size())};
  const TermId t = terms_.atom(evaluator_.name(what), number, width, known);
  fresh_.insert(t);
  return t;
}

TermId Machine::special(const Turn& t, const ir::Argument& a, int lane) {
  const auto s = Special(a.id);
  const std::uint64_t thread = t.warp_index * lanes_per_warp + std::uint32_t(lane);
  const auto constant = [&](std::uint64_t v) { return terms_.constant(v, 32); };
  const std::uint64_t x = program_.cta[0], y = program_.cta[1];
  const std::uint64_t inside[] = {t.cta_index % program_.cluster[0],
                                  t.cta_index / program_.cluster[0] % program_.cluster[1],
                                  t.cta_index / program_.cluster[0] / program_.cluster[1]};
  switch (s) {
    case Special::tid_x: return constant(thread % x);
    case Special::tid_y: return constant(thread / x % y);
    case Special::tid_z: return constant(thread / x / y);
    case Special::laneid: return constant(std::uint64_t(lane));
    case Special::lanemask_eq: return constant(std::uint64_t{1} << lane);
    case Special::lanemask_lt: return constant((std::uint64_t{1} << lane) - 1);
    case Special::lanemask_le: return constant((std::uint64_t{2} << lane) - 1);
    case Special::lanemask_gt: return constant(0xFFFFFFFFu & ~((std::uint64_t{2} << lane) - 1));
    case Special::lanemask_ge: return constant(0xFFFFFFFFu & ~((std::uint64_t{1} << lane) - 1));
    case Special::warp_size: return constant(lanes_per_warp);
    case Special::cluster_ctarank: return constant(t.cta_index);
    case Special::cluster_nctarank: return constant(program_.ctas);
    case Special::cluster_ctaid_x:
    case Special::cluster_ctaid_y:
    case Special::cluster_ctaid_z: return constant(inside[std::size_t(s) - std::size_t(Special::cluster_ctaid_x)]);
    case Special::cluster_nctaid_x:
    case Special::cluster_nctaid_y:
    case Special::cluster_nctaid_z:
      return constant(program_.cluster[std::size_t(s) - std::size_t(Special::cluster_nctaid_x)]);
    case Special::nctaid_x:
    case Special::nctaid_y:
    case Special::nctaid_z: {
      const std::uint32_t extent = program_.shape.grid[std::size_t(s) - std::size_t(Special::nctaid_x)];
      if (extent) return constant(extent);
      break;
    }
    case Special::ctaid_x:
    case Special::ctaid_y:
    case Special::ctaid_z: {
      // The cluster's place in the grid times its extent, and the CTA's place in the cluster.
      const auto k = std::size_t(s) - std::size_t(Special::ctaid_x);
      const TermId cluster = named("clusterid." + std::to_string(k), 32);
      return terms_.add(terms_.scale(cluster, program_.cluster[k]), constant(inside[k]));
    }
    default: break;
  }
  const auto known = program_.facts.known.of(a, 64);
  if (const auto v = known.value()) return constant(*v);
  return terms_.atom(evaluator_.name(std::string(ir::spelling(s))), {}, 64, known);
}

// A word as the number that it must be. What is compared stays what it is where states move along with it.
TermId Machine::settled(const Turn& t, TermId word) {
  const auto moves = [&](TermId base) {
    const auto closed = t.s.closed.find(base);
    return closed != t.s.closed.end() && closed->second != 0;
  };
  if (terms_.is_constant(word) || !(t.compares || evaluator_.compares(word))) return assumptions_.settled(t.s, word);
  const std::set<TermId>& pieces = evaluator_.pieces(word);
  const bool any = moves(assumptions_.word(word).base) || std::any_of(pieces.begin(), pieces.end(), moves);
  return any ? word : assumptions_.settled(t.s, word);
}

TermId Machine::read(const Turn& t, const ir::Argument& a, int lane, int width) {
  const auto with_offset = [&](TermId base) {
    if (a.value == 0) return terms_.truncate(base, std::min(width, terms_.width(base)));
    return terms_.truncate(terms_.add(base, terms_.constant(std::uint64_t(a.value), terms_.width(base))),
                           std::min(width, terms_.width(base)));
  };
  switch (a.kind) {
    case Kind::immediate: return terms_.constant(std::uint64_t(a.value), width);
    case Kind::reg: {
      const std::uint32_t slot = program_.slot(a.id);
      const TermId t0 =
          slot == Program::no_slot
              ? fresh("unfollowed", std::min(64, isa::bits(code_.registers[a.id].type)), program_.facts.known.of(a.id))
              : words_.at(t.f.words[slot], lane);
      return a.negated ? terms_.add(t0, terms_.constant(1, 1)) : with_offset(settled(t, t0));
    }
    case Kind::special: return terms_.truncate(special(t, a, lane), width);
    case Kind::symbol: {
      const ir::Symbol& s = code_.symbols[a.id];
      if (isa::is_shared(s.variable->space))
        return with_offset(
            terms_.constant(std::uint64_t(t.cta_index) << isa::cluster_rank_shift | program_.address(a.id), width));
      const TermId at = named("&" + s.variable->name, width);
      if (s.is_parameter && s.parameter_index >= 0) parameters_[at] = std::uint32_t(s.parameter_index);
      return with_offset(at);
    }
    case Kind::address:
      if (a.count == 1) return read(t, code_.components(a)[0], lane, width);
      break;
    default: break;
  }
  return fresh("unfollowed", width);
}

// An operand that has to be a number.
std::uint64_t Machine::number(const Turn& t, const ir::Argument& a, int lane, int width, const char* what) {
  const TermId word = read(t, a, lane, width);
  if (const auto v = terms_.value(word)) return *v;
  throw Unfollowed{std::string(what) + " is not known: " + evaluator_.text(word), &t.op};
}

void Machine::write(Turn& t, std::size_t result, const LaneTerms& lanes) {
  const auto written = program_.facts.definitions.written(t.at);
  const std::uint32_t slot = program_.slot(written[result]);
  if (slot == Program::no_slot) return;
  WordId& word = t.f.words[slot];
  LaneTerms all = lanes;
  for (Mask m = t.may ? t.lanes : 0; m; m &= m - 1) {
    const auto l = std::size_t(std::countr_zero(m));
    all[l] = evaluator_.choice((*t.may)[l], all[l], words_.at(word, int(l)), terms_.width(all[l]));
  }
  // What other lanes hold is another fragment's, or stays.
  for (int l = 0; l < lanes_per_warp; ++l)
    if (!(t.lanes >> l & 1))
      all[std::size_t(l)] = t.f.lanes >> l & 1 ? words_.at(word, l) : lanes[std::size_t(t.leader())];
  word = words_.of(all);
  note_parts(t, written[result], words_.at(word, t.leader()));
}

// Operations that look at other lanes or at memory. False for all others.
bool Machine::evaluate_across(Turn& t) {
  const auto written = program_.facts.definitions.written(t.at);
  LaneTerms out{};
  switch (t.op.opcode) {
    case Opcode::elect_sync: {
      for (int l = 0; l < lanes_per_warp; ++l) out[std::size_t(l)] = terms_.constant(l == t.leader(), 1);
      LaneTerms leader;
      leader.fill(terms_.constant(std::uint64_t(t.leader()), 32));
      const bool both = written.size() == 2;
      if (both) write(t, 0, leader);
      write(t, both ? 1 : 0, out);
      return true;
    }
    case Opcode::shfl: {
      if (t.op.modifiers.shuffle != isa::ShuffleMode::idx) break;
      const auto x = ops::roles<ops::WarpExchange>(t.op);
      for (int l = 0; l < lanes_per_warp; ++l) {
        if (!(t.lanes >> l & 1)) continue;
        const auto from = terms_.value(read(t, x.lane, l, 32)), clamp = terms_.value(read(t, x.clamp, l, 32));
        if (!from || !clamp || *clamp != 31) return false;
        out[std::size_t(l)] = read(t, x.a, int(*from & 31), 32);
      }
      write(t, 0, out);
      return true;
    }
    case Opcode::mapa: {
      const auto alu = ops::roles<ops::Alu>(t.op);
      for (const int l : Lanes(t.lanes)) {
        const auto rank = terms_.value(read(t, alu.b, l, 32));
        const bool generic = t.op.modifiers.space() == isa::Space::generic;
        TermId address = read(t, alu.a, l, generic ? 64 : 32);
        if (generic) address = terms_.subtract(address, evaluator_.shared_window());
        const auto at = terms_.value(address);
        if (!rank || !at) return false;
        const std::uint64_t there = *rank << isa::cluster_rank_shift | (*at & flow::shared_window_mask);
        const TermId mapped = terms_.constant(there, terms_.width(address));
        out[std::size_t(l)] = generic ? terms_.add(mapped, evaluator_.shared_window()) : mapped;
      }
      write(t, 0, out);
      return true;
    }
    case Opcode::activemask:
      out.fill(terms_.constant(t.lanes, 32));
      write(t, 0, out);
      return true;
    case Opcode::vote: {
      std::uint32_t ballot = 0;
      for (const int l : Lanes(t.lanes)) {
        const auto v = terms_.value(read(t, ops::roles<ops::WarpExchange>(t.op).a, l, 1));
        if (!v) return false;
        ballot |= std::uint32_t(*v) << l;
      }
      const auto mode = t.op.modifiers.vote;
      const std::uint64_t answer = mode == isa::VoteMode::ballot ? ballot
                                   : mode == isa::VoteMode::any  ? ballot != 0
                                   : mode == isa::VoteMode::all  ? ballot == t.lanes
                                                                 : ballot == t.lanes || ballot == 0;
      out.fill(terms_.constant(answer, mode == isa::VoteMode::ballot ? 32 : 1));
      write(t, 0, out);
      return true;
    }
    default: break;
  }
  return false;
}

// What was stored at an address of the thread's own CTA, or a piece of it.
std::optional<TermId> Machine::stored_word(const Turn& t, std::uint32_t address, int bytes, int width) {
  const int unused = isa::is_signed(t.op.modifiers.type()) ? 64 - bytes * 8 : 0;
  for (auto it = t.cta.stored.upper_bound(address); it != t.cta.stored.begin();) {
    --it;
    if (address - it->first >= 8) return std::nullopt;
    for (const auto& [stored_bytes, term] : it->second) {
      const int skipped = int(address - it->first);
      if (skipped + bytes > stored_bytes) continue;
      if (skipped == 0 && stored_bytes == bytes && terms_.width(term) == width) return term;
      const auto v = terms_.value(term);
      if (!v) return std::nullopt;
      const auto piece = std::int64_t((*v >> (8 * skipped) & flow::low_mask(8 * bytes)) << unused) >> unused;
      return terms_.constant(std::uint64_t(piece), width);
    }
  }
  return std::nullopt;
}

// What the launch gives a parameter.
std::optional<std::uint64_t> Machine::given_word(TermId address, int bytes) const {
  const Assumptions::Word at = assumptions_.word(address);
  const auto found = parameters_.find(at.base);
  if (found == parameters_.end() || found->second >= program_.shape.parameters.size()) return std::nullopt;
  const auto& given = program_.shape.parameters[found->second];
  std::uint64_t word = 0;
  for (int k = 0; k < bytes; ++k) {
    const auto byte = given.find(std::uint32_t(at.offset) + std::uint32_t(k));
    if (byte == given.end()) return std::nullopt;
    word |= std::uint64_t{byte->second} << (8 * k);
  }
  return word;
}

// A word out of memory: what was stored there, a parameter, or a word of that place.
void Machine::load_word(Turn& t) {
  const auto written = program_.facts.definitions.written(t.at);
  const isa::Space space = t.op.modifiers.space();
  const ir::Argument& from = ops::roles<ops::MemoryAccess>(t.op).address;
  const int bytes = std::max(1, isa::bits(t.op.modifiers.type()) / 8);
  for (std::size_t k = 0; k < written.size(); ++k) {
    const int width = std::min(64, isa::bits(code_.registers[written[k]].type));
    LaneTerms out{};
    for (const int l : Lanes(t.lanes)) {
      const TermId address = terms_.add(read(t, from, l, 64), terms_.constant(k * std::uint64_t(bytes), 64));
      const auto at = terms_.value(address);
      if (isa::is_shared(space) && at) {
        if (const auto known = stored_word(t, std::uint32_t(*at & flow::shared_window_mask), bytes, width)) {
          out[std::size_t(l)] = *known;
          continue;
        }
      }
      if (const auto given = space == isa::Space::param ? given_word(address, bytes) : std::nullopt) {
        out[std::size_t(l)] = terms_.constant(*given, width);
        continue;
      }
      const bool fixed = space == isa::Space::param || space == isa::Space::constant;
      const TermId operands[] = {address, terms_.constant(std::uint64_t(bytes))};
      out[std::size_t(l)] = fixed ? named("parameter", width, operands) : fresh("loaded", width);
    }
    write(t, k, out);
  }
}

// Remembers which words counters are compared with: states are alike where they are equally far from those.
void Machine::note_comparison(const Turn& t) {
  const auto alu = ops::roles<ops::Alu>(t.op);
  for (const ir::Argument& a : {alu.a, alu.b}) {
    if (a.kind != Kind::reg || program_.family(a.id) == Program::no_slot) continue;
    const TermId word = read(t, a, t.leader(), width_of(t.op.modifiers.type()));
    if (!terms_.value(word)) bases_[program_.family(a.id)].insert(assumptions_.word(word).base);
  }
}

// Whether lanes may have different operands.
bool Machine::differs(const Turn& t) {
  const auto is_shared = [&](ir::RegisterId r) {
    const std::uint32_t slot = program_.slot(r);
    return slot == Program::no_slot || words_.shared(t.f.words[slot], t.lanes);
  };
  const std::vector<ir::RegisterId>& read = code_.read(t.op);
  return !std::all_of(read.begin(), read.end(), is_shared) ||
         std::any_of(t.op.arguments.begin(), t.op.arguments.end(),
                     [](const ir::Argument& a) { return a.kind == Kind::special && differs_by_lane(Special(a.id)); });
}

// Where the words are that an operation makes, by result, of numbers of which each lane has its own, which are the same
// each time: none so far the first time. Null where operands are not such numbers.
std::vector<LaneTerms>* Machine::made_before(const Turn& t) {
  std::vector<std::uint32_t> from{t.at, t.lanes, t.cta_index, t.warp_index};
  for (const ir::RegisterId r : code_.read(t.op)) {
    const std::uint32_t slot = program_.slot(r);
    if (slot == Program::no_slot || !words_.is_constant(t.f.words[slot], terms_)) return nullptr;
    from.push_back(t.f.words[slot]);
  }
  return &made_[std::move(from)];
}

// By result, the words that an operation makes: once where no lanes differ, else lane by lane.
std::vector<LaneTerms> Machine::make(const Turn& t, bool differ) {
  std::vector<LaneTerms> out(program_.facts.definitions.written(t.at).size());
  for (Mask m = t.lanes; m; m &= m - 1) {
    const int l = differ ? std::countr_zero(m) : t.leader();
    Reader reader(*this, t, l);
    const std::vector<TermId> results = evaluator_.results(t.at, reader);
    for (std::size_t k = 0; k < out.size(); ++k)
      if (differ)
        out[k][std::size_t(l)] = results[k];
      else
        out[k].fill(results[k]);
    if (!differ) break;
  }
  if (differ) steps_ += lanes_per_warp / lanes_a_step;
  return out;
}

// The words that an operation of the slice makes.
void Machine::evaluate(Turn& t) {
  const auto written = program_.facts.definitions.written(t.at);
  if (written.empty()) return;
  t.compares = t.op.opcode == Opcode::setp || std::any_of(written.begin(), written.end(), [&](ir::RegisterId r) {
                 return program_.demands.of(r).compared;
               });
  if (t.op.opcode == Opcode::setp && !isa::is_floating(t.op.modifiers.type())) note_comparison(t);
  if (t.op.opcode == Opcode::ld) return load_word(t);
  if (evaluate_across(t)) return;
  const bool differ = differs(t);
  std::vector<LaneTerms> here;
  std::vector<LaneTerms>* known = differ ? made_before(t) : nullptr;
  std::vector<LaneTerms>& out = known ? *known : here;
  if (out.empty()) out = make(t, differ);
  for (std::size_t k = 0; k < written.size(); ++k) write(t, k, out[k]);
}

}  // namespace kiln::verifier::explore

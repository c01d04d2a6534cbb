#include "verifier/explore/values.hpp"

#include <algorithm>
#include <bit>

#include "ptx/isa/launch_limits.hpp"
#include "ptx/isa/spaces.hpp"
#include "ptx/order/access.hpp"

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
struct Values::Reader final : flow::OperandTerms {
  Reader(Values& v, const Turn& t, int l) : values(v), turn(t), lane(l) {}
  TermId term(const ir::Argument& a, int width) override { return values.read(turn, a, lane, width); }

  Values& values;
  const Turn& turn;
  int lane;
};

std::vector<WordId> Values::unset() {
  std::vector<WordId> out(program_.slots());
  for (ir::RegisterId r = 0; r < code_.registers.size(); ++r)
    if (const std::uint32_t slot = program_.slot(r); slot != Program::no_slot)
      out[slot] = words_.uniform(
          symbols_.named("unset " + code_.registers[r].name, std::min(64, isa::bits(code_.registers[r].type))));
  return out;
}

// PTX ISA "%ctaid": less than %nctaid, which a launch says or the hardware bounds.
std::uint32_t Values::clusters(std::size_t axis) const {
  if (const std::uint32_t n = program_.shape.grid[axis]) return std::max(1u, n / program_.cluster[axis]);
  return axis ? isa::max_grid_yz : isa::max_grid_x;
}

TermId Values::cluster_place(std::size_t axis) {
  if (program_.shape.place) return terms_.constant((*program_.shape.place)[axis], 32);
  const std::uint32_t most = clusters(axis) - 1;
  if (most == 0) return terms_.constant(0, 32);
  return symbols_.named("clusterid." + std::to_string(axis), 32, {}, flow::Bits::unknown(std::bit_width(most)));
}

void Values::start(State& s) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const TermId place = cluster_place(axis);
    if (!program_.shape.grid[axis] || terms_.is_constant(place)) continue;
    Domain d(32);
    d.keep(Span{0, clusters(axis) - 1});
    s.domains.insert_or_assign(place, d), s.path.domains.insert_or_assign(place, d);
  }
}

TermId Values::special(const Turn& t, const ir::Argument& a, int lane) {
  const auto s = Special(a.id);
  const auto constant = [&](std::uint64_t v) { return terms_.constant(v, 32); };
  const auto axis_from = [&](Special x) { return std::size_t(s) - std::size_t(x); };
  const std::uint64_t thread = t.warp_index * lanes_per_warp + std::uint32_t(lane), bit = std::uint64_t{1} << lane;
  const std::uint64_t x = program_.cta[0], y = program_.cta[1];
  const std::uint32_t* cluster = program_.cluster;
  const std::uint32_t inside[] = {t.cta_index % cluster[0], t.cta_index / cluster[0] % cluster[1],
                                  t.cta_index / cluster[0] / cluster[1]};
  switch (s) {
    case Special::tid_x: return constant(thread % x);
    case Special::tid_y: return constant(thread / x % y);
    case Special::tid_z: return constant(thread / x / y);
    case Special::laneid: return constant(std::uint64_t(lane));
    case Special::lanemask_eq: return constant(bit);
    case Special::lanemask_lt: return constant(bit - 1);
    case Special::lanemask_le: return constant(2 * bit - 1);
    case Special::lanemask_gt: return constant(0xFFFFFFFFu & ~(2 * bit - 1));
    case Special::lanemask_ge: return constant(0xFFFFFFFFu & ~(bit - 1));
    case Special::warp_size: return constant(lanes_per_warp);
    case Special::cluster_ctarank: return constant(t.cta_index);
    case Special::cluster_nctarank: return constant(program_.ctas);
    case Special::cluster_ctaid_x:
    case Special::cluster_ctaid_y:
    case Special::cluster_ctaid_z: return constant(inside[axis_from(Special::cluster_ctaid_x)]);
    case Special::cluster_nctaid_x:
    case Special::cluster_nctaid_y:
    case Special::cluster_nctaid_z: return constant(cluster[axis_from(Special::cluster_nctaid_x)]);
    // What is explored is a CTA of this size, also where .maxntid is all that the kernel says.
    case Special::ntid_x:
    case Special::ntid_y:
    case Special::ntid_z: return constant(program_.cta[axis_from(Special::ntid_x)]);
    case Special::nctaid_x:
    case Special::nctaid_y:
    case Special::nctaid_z:
      if (const std::uint32_t n = program_.shape.grid[axis_from(Special::nctaid_x)]) return constant(n);
      break;
    case Special::ctaid_x:
    case Special::ctaid_y:
    case Special::ctaid_z: {
      // The cluster's place in the grid times its extent, and the CTA's place in the cluster.
      const std::size_t k = axis_from(Special::ctaid_x);
      return terms_.add(terms_.scale(cluster_place(k), cluster[k]), constant(inside[k]));
    }
    default: break;
  }
  const auto known = program_.facts.known.of(a, 64);
  if (const auto v = known.value()) return constant(*v);
  return symbols_.named(std::string(ir::spelling(s)), 64, {}, known);
}

// A word as the number that it must be. A word that is compared stays symbolic if states move along with its bound.
TermId Values::settled(const Turn& t, TermId word) {
  const auto moves = [&](TermId base) {
    const auto closed = t.s.closed.find(base);
    return closed != t.s.closed.end() && closed->second != 0;
  };
  if (terms_.is_constant(word) || !(t.compares || evaluator_.compares(word))) return assumptions_.settled(t.s, word);
  const std::set<TermId>& pieces = evaluator_.pieces(word);
  const bool any = moves(assumptions_.word(word).base) || std::any_of(pieces.begin(), pieces.end(), moves);
  return any ? word : assumptions_.settled(t.s, word);
}

TermId Values::read(const Turn& t, const ir::Argument& a, int lane, int width) {
  const auto with_offset = [&](TermId base) {
    if (a.value == 0) return terms_.truncate(base, std::min(width, terms_.width(base)));
    return terms_.truncate(terms_.add(base, terms_.constant(std::uint64_t(a.value), terms_.width(base))),
                           std::min(width, terms_.width(base)));
  };
  switch (a.kind) {
    case Kind::immediate: return terms_.constant(std::uint64_t(a.value), width);
    case Kind::real: {
      const bool narrows = !a.is_single && width <= 32;
      const auto bits = std::uint64_t(a.value);
      return terms_.constant(narrows ? std::bit_cast<std::uint32_t>(float(std::bit_cast<double>(bits))) : bits, width);
    }
    case Kind::reg: {
      const std::uint32_t slot = program_.slot(a.id);
      const TermId t0 = slot == Program::no_slot
                            ? symbols_.fresh("unfollowed", std::min(64, isa::bits(code_.registers[a.id].type)),
                                             program_.facts.known.of(a.id))
                            : words_.at(t.f.words[slot], lane);
      return a.negated ? terms_.add(t0, terms_.constant(1, 1)) : with_offset(settled(t, t0));
    }
    case Kind::special: return terms_.truncate(special(t, a, lane), width);
    case Kind::symbol: {
      const ir::Symbol& s = code_.symbols[a.id];
      if (isa::is_shared(s.variable->space))
        return with_offset(
            terms_.constant(std::uint64_t(t.cta_index) << isa::cluster_rank_shift | program_.address(a.id), width));
      const TermId at = symbols_.named("&" + s.variable->name, width);
      if (s.is_parameter && s.parameter_index >= 0) parameters_[at] = std::uint32_t(s.parameter_index);
      return with_offset(at);
    }
    case Kind::address:
      if (a.count == 1) return read(t, code_.components(a)[0], lane, width);
      break;
    default: break;
  }
  return symbols_.fresh("unfollowed", width);
}

// An operand that has to be a number.
std::uint64_t Values::number(const Turn& t, const ir::Argument& a, int lane, int width, const char* what) {
  const TermId word = read(t, a, lane, width);
  if (const auto v = terms_.value(word)) return *v;
  throw Unfollowed{std::string(what) + " is not known: " + evaluator_.text(word), &t.op};
}

std::optional<ParameterPlace> Values::parameter_place(const Turn& t, const ir::Argument& a, int lane) {
  const TermId address = terms_.subtract(read(t, a, lane, 64), evaluator_.parameter_window());
  const Assumptions::Word at = assumptions_.word(address);
  const auto found = parameters_.find(at.base);
  if (found == parameters_.end() || at.negated || at.cleared) return std::nullopt;
  return ParameterPlace{found->second, std::uint32_t(at.offset)};
}

void Values::write(Turn& t, std::size_t result, const LaneTerms& lanes) {
  const auto written = program_.facts.definitions.written(t.at);
  const std::uint32_t slot = program_.slot(written[result]);
  if (slot == Program::no_slot) return;
  WordId& word = t.f.words[slot];
  LaneTerms all = lanes;
  for (const int lane : Lanes(t.predicates ? t.lanes : 0)) {
    const auto l = std::size_t(lane);
    all[l] = evaluator_.choice((*t.predicates)[l], all[l], words_.at(word, lane), terms_.width(all[l]));
  }
  // Lanes of the fragment that do not execute keep their word. Words of other lanes are not read here.
  for (int l = 0; l < lanes_per_warp; ++l)
    if (!(t.lanes >> l & 1))
      all[std::size_t(l)] = t.f.lanes >> l & 1 ? words_.at(word, l) : lanes[std::size_t(t.leader())];
  word = words_.of(all);
  rounds_.note_parts(t, written[result], words_.at(word, t.leader()));
}

// What a lane gets of another one.
std::optional<TermId> Values::shuffled(const Turn& t, int lane) {
  const auto x = ops::roles<ops::WarpExchange>(t.op);
  const auto from = known(t, x.lane, lane, 32), clamp = known(t, x.clamp, lane, 32);
  if (!from || !clamp || *clamp != 31) return std::nullopt;
  return read(t, x.a, int(*from & 31), 32);
}

// mapa: the address in another CTA of the cluster.
std::optional<TermId> Values::mapped(const Turn& t, int lane) {
  const auto alu = ops::roles<ops::Alu>(t.op);
  const auto rank = known(t, alu.b, lane, 32);
  const bool generic = t.op.modifiers.space() == isa::Space::generic;
  TermId address = read(t, alu.a, lane, generic ? 64 : 32);
  if (generic) address = terms_.subtract(address, evaluator_.shared_window());
  const auto at = terms_.value(address);
  if (!rank || !at) return std::nullopt;
  const std::uint64_t there = *rank << isa::cluster_rank_shift | (*at & flow::shared_window_mask);
  const TermId mapped = terms_.constant(there, terms_.width(address));
  return generic ? terms_.add(mapped, evaluator_.shared_window()) : mapped;
}

// What lanes vote is one word for all of them, known or not.
TermId Values::vote(const Turn& t) {
  const bool is_ballot = t.op.modifiers.vote == isa::VoteMode::ballot;
  if (t.predicates) return symbols_.fresh("vote", is_ballot ? 32 : 1);  // which lanes vote is not known
  const auto one = common_operand(t);
  std::uint32_t ballot = 0;
  for (const int l : Lanes(t.lanes)) {
    const auto v = known(t, ops::roles<ops::WarpExchange>(t.op).a, l, 1);
    if (!v && one) {
      if (is_ballot) return evaluator_.choice(*one, terms_.constant(t.lanes, 32), terms_.constant(0, 32), 32);
      return t.op.modifiers.uniform ? terms_.constant(1, 1) : *one;
    }
    if (!v) return symbols_.fresh("vote", is_ballot ? 32 : 1);
    ballot |= std::uint32_t(*v) << l;
  }
  switch (t.op.modifiers.vote) {
    case isa::VoteMode::ballot: return terms_.constant(ballot, 32);
    case isa::VoteMode::any: return terms_.constant(ballot != 0, 1);
    case isa::VoteMode::all: return terms_.constant(ballot == t.lanes, 1);
    default: return terms_.constant(ballot == t.lanes || ballot == 0, 1);
  }
}

// The operand that all lanes give to an operation of the warp; nothing where they differ.
std::optional<TermId> Values::common_operand(const Turn& t) {
  const ir::Argument& a = *ops::roles<ops::WarpExchange>(t.op).a;
  if (a.kind != Kind::reg || program_.slot(a.id) == Program::no_slot) return std::nullopt;
  if (!words_.shared(t.f.words[program_.slot(a.id)], t.lanes)) return std::nullopt;
  return read(t, a, t.leader(), std::min(64, isa::bits(code_.registers[a.id].type)));
}

// Operations that look at other lanes. False for all others.
bool Values::evaluate_across(Turn& t) {
  LaneTerms out{};
  std::size_t result = 0;
  switch (t.op.opcode) {
    case Opcode::elect_sync:
      for (int l = 0; l < lanes_per_warp; ++l) out[std::size_t(l)] = terms_.constant(l == t.leader(), 1);
      if (program_.facts.definitions.written(t.at).size() == 2) {
        LaneTerms leader;
        leader.fill(terms_.constant(std::uint64_t(t.leader()), 32));
        write(t, result++, leader);
      }
      break;
    case Opcode::shfl:
    case Opcode::mapa:
      if (t.op.opcode == Opcode::shfl && t.op.modifiers.shuffle != isa::ShuffleMode::idx) return false;
      for (const int l : Lanes(t.lanes)) {
        const auto word = t.op.opcode == Opcode::shfl ? shuffled(t, l) : mapped(t, l);
        if (!word) return false;
        out[std::size_t(l)] = *word;
      }
      break;
    case Opcode::vote: out.fill(vote(t)); break;
    case Opcode::redux_sync:
      if (common_operand(t)) return false;
      out.fill(symbols_.fresh("redux", 32));
      break;
    case Opcode::activemask: out.fill(terms_.constant(t.lanes, 32)); break;
    default: return false;
  }
  write(t, result, out);
  return true;
}

// What was stored at an address of the thread's own CTA, or a piece of it. Words of other CTAs are not known.
std::optional<TermId> Values::stored_word(const Turn& t, std::uint64_t at, int bytes, int width) {
  if (t.op.modifiers.space() == isa::Space::shared_cluster && at >> isa::cluster_rank_shift != t.cta_index)
    return std::nullopt;
  const auto& stored = t.cta.stored;
  const auto address = std::uint32_t(at & flow::shared_window_mask);
  const int unused = isa::is_signed(t.op.modifiers.type()) ? 64 - bytes * 8 : 0;
  for (auto it = stored.upper_bound(address); it != stored.begin();) {
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
std::optional<std::uint64_t> Values::given_word(TermId address, int bytes) const {
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

// A pointer of a parameter is no number: what it points to may be known.
void Values::note_pointer(TermId pointer, TermId address) {
  const Assumptions::Word at = assumptions_.word(address);
  const auto found = parameters_.find(at.base);
  if (found == parameters_.end() || found->second >= program_.shape.content.size()) return;
  const auto& pointers = program_.shape.content[found->second];
  if (const auto content = pointers.find(std::uint32_t(at.offset)); content != pointers.end())
    content_[pointer] = content->second;
}

// What the launch has in global memory, where one cluster is explored: others find other words there.
std::optional<std::uint64_t> Values::word_of_launch(TermId address, int bytes, bool is_signed) const {
  if (!program_.shape.place) return std::nullopt;
  const Assumptions::Word at = assumptions_.word(address);
  const auto found = content_.find(at.base);
  if (found == content_.end() || at.negated || at.cleared) return std::nullopt;
  const std::size_t size = found->second.size();
  if (at.offset >= size || size - at.offset < std::size_t(bytes)) return std::nullopt;
  std::uint64_t word = 0;
  for (int k = 0; k < bytes; ++k) word |= std::uint64_t{found->second[at.offset + std::size_t(k)]} << (8 * k);
  const int unused = is_signed ? 64 - 8 * bytes : 0;
  return std::uint64_t(std::int64_t(word << unused) >> unused);
}

// Other threads may write the word at any time.
bool Values::is_flag(const Turn& t, std::uint64_t address) {
  const std::uint64_t cta = address >> isa::cluster_rank_shift;
  return cta < t.s.ctas.size() && t.s.ctas[cta].flags.contains(std::uint32_t(address & flow::shared_window_mask));
}

// Where a word that is not known is kept for those that read it again: for the lanes of one load at least, which find
// one word at one address.
Unknowns& Values::unknowns(const Turn& t, isa::Space space, std::optional<std::uint64_t> at, Unknowns& here) const {
  const bool own = space != isa::Space::shared_cluster || (at && *at >> isa::cluster_rank_shift == t.cta_index);
  if (isa::is_shared(space)) return at && own ? t.cta.unknown : here;
  return program_.finds_lasting_word(t.at) ? t.s.unknown : here;
}

TermId Values::unknown_word(Unknowns& among, std::uint32_t address, const ir::Operation& load, int width) {
  const auto [found, is_new] =
      among.try_emplace({address, std::uint32_t(load.modifiers.type()) << 8 | std::uint32_t(width)});
  if (is_new) found->second = symbols_.loaded(load, width);
  return found->second;
}

// A word out of memory: what was stored there, a parameter, or a word of that place.
void Values::load(Turn& t) {
  const auto written = program_.facts.definitions.written(t.at);
  const isa::Space space = t.op.modifiers.space();
  const ir::Argument& from = ops::roles<ops::MemoryAccess>(t.op).address;
  const int bytes = std::max(1, isa::bits(t.op.modifiers.type()) / 8);
  for (std::size_t k = 0; k < written.size(); ++k) {
    const int width = std::min(64, isa::bits(code_.registers[written[k]].type));
    LaneTerms out{};
    Unknowns here;
    for (const int l : Lanes(t.lanes)) {
      const TermId address = terms_.add(read(t, from, l, 64), terms_.constant(k * std::uint64_t(bytes), 64));
      const auto at = terms_.value(address);
      if (t.found) {
        out[std::size_t(l)] = terms_.width(*t.found) == width ? *t.found : symbols_.loaded(t.op, width);
        continue;
      }
      if (isa::is_shared(space) && at && !(order::is_strong(t.op) && is_flag(t, *at))) {
        if (const auto known = stored_word(t, *at, bytes, width)) {
          out[std::size_t(l)] = *known;
          continue;
        }
      }
      if (const auto given = isa::is_parameter(space) ? given_word(address, bytes) : std::nullopt) {
        out[std::size_t(l)] = terms_.constant(*given, width);
        continue;
      }
      if (program_.finds_lasting_word(t.at)) {
        if (const auto word = word_of_launch(address, bytes, isa::is_signed(t.op.modifiers.type()))) {
          out[std::size_t(l)] = terms_.constant(*word, width);
          continue;
        }
      }
      const bool fixed = isa::is_parameter(space) || space == isa::Space::constant;
      const TermId operands[] = {address, terms_.constant(std::uint64_t(bytes))};
      if (fixed) {
        out[std::size_t(l)] = symbols_.named("parameter", width, operands);
        if (isa::is_parameter(space) && width == 64) note_pointer(out[std::size_t(l)], address);
      } else if (order::is_strong(t.op))
        out[std::size_t(l)] = symbols_.loaded(t.op, width);
      else
        out[std::size_t(l)] = unknown_word(
            unknowns(t, space, at, here),
            isa::is_shared(space) && at ? std::uint32_t(*at & flow::shared_window_mask) : address, t.op, width);
    }
    write(t, k, out);
  }
}

// Whether lanes may have different operands.
bool Values::differs(const Turn& t) {
  const auto is_shared = [&](ir::RegisterId r) {
    const std::uint32_t slot = program_.slot(r);
    return slot == Program::no_slot || words_.shared(t.f.words[slot], t.lanes);
  };
  const std::vector<ir::RegisterId>& read = code_.read(t.op);
  return !std::all_of(read.begin(), read.end(), is_shared) ||
         std::any_of(t.op.arguments.begin(), t.op.arguments.end(),
                     [](const ir::Argument& a) { return a.kind == Kind::special && differs_by_lane(Special(a.id)); });
}

// Where an operation's words for these operands are kept, by result; empty at first. Null unless all operands are
// numbers.
std::vector<LaneTerms>* Values::known_results(const Turn& t) {
  std::vector<std::uint32_t> from{t.at, t.lanes, t.cta_index, t.warp_index};
  for (const ir::RegisterId r : code_.read(t.op)) {
    const std::uint32_t slot = program_.slot(r);
    if (slot == Program::no_slot || !words_.is_constant(t.f.words[slot], terms_)) return nullptr;
    from.push_back(t.f.words[slot]);
  }
  return &results_[std::move(from)];
}

// By result, the words that an operation makes.
std::vector<LaneTerms> Values::compute(const Turn& t, bool differ) {
  std::vector<LaneTerms> out(program_.facts.definitions.written(t.at).size());
  const auto results = [&](int lane) {
    Reader reader(*this, t, lane);
    return evaluator_.results(t.at, reader);
  };
  if (!differ) {
    const std::vector<TermId> all = results(t.leader());
    for (std::size_t k = 0; k < out.size(); ++k) out[k].fill(all[k]);
    return out;
  }
  for (const int l : Lanes(t.lanes)) {
    const std::vector<TermId> own = results(l);
    for (std::size_t k = 0; k < out.size(); ++k) out[k][std::size_t(l)] = own[k];
  }
  budget_.spend(lanes_per_warp / lanes_a_step);
  return out;
}

// The words that an operation of the slice makes.
void Values::evaluate(Turn& t) {
  const auto written = program_.facts.definitions.written(t.at);
  if (written.empty()) return;
  t.compares = t.op.opcode == Opcode::setp || std::any_of(written.begin(), written.end(), [&](ir::RegisterId r) {
                 return program_.demands.of(r).compared;
               });
  if (t.op.opcode == Opcode::setp && !isa::is_floating(t.op.modifiers.type())) {
    const auto alu = ops::roles<ops::Alu>(t.op);
    for (const ir::Argument& a : {alu.a, alu.b})
      if (a.kind == Kind::reg && program_.family(a.id) != Program::no_slot)
        rounds_.note_comparison(program_.family(a.id), read(t, a, t.leader(), width_of(t.op.modifiers.type())));
  }
  if (t.op.opcode == Opcode::ld) return load(t);
  if (evaluate_across(t)) return;
  const bool differ = differs(t);
  std::vector<LaneTerms> here;
  std::vector<LaneTerms>* known = differ ? known_results(t) : nullptr;
  std::vector<LaneTerms>& out = known ? *known : here;
  if (out.empty()) out = compute(t, differ);
  for (std::size_t k = 0; k < written.size(); ++k) write(t, k, out[k]);
}

}  // namespace kiln::verifier::explore

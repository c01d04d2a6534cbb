#include "verifier/explore/global.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_map>

#include "ptx/isa/access_bytes.hpp"

#include "ptx/isa/spaces.hpp"
#include "ptx/order/access.hpp"
#include "ptx/rules/order.hpp"
#include "verifier/explore/assumptions.hpp"

namespace kiln::verifier::explore {
namespace {

using flow::TermId;
using ir::Special;
using isa::Opcode;
using Kind = ir::Argument::Kind;

constexpr std::uint32_t assumed_threads = 64;  // of a CTA, where nothing says it
constexpr std::size_t most_steps = 30'000, most_of_a_thread = 500;
constexpr std::string_view parameter = "parameter(&";

// A load or store by threads that is none of shared memory, parameters or the thread's own.
bool may_be_global(const ir::Operation& op) {
  const isa::Space space = op.modifiers.space();
  return (op.opcode == Opcode::ld || op.opcode == Opcode::st) &&
         (space == isa::Space::global || space == isa::Space::generic);
}

// Threads may tell each other something by memory, or by what is not followed here.
bool may_signal(const ir::Operation& op) {
  if (op.opcode == Opcode::call || op.opcode == Opcode::brx_idx) return true;
  const bool by_threads = op.opcode == Opcode::atom || op.opcode == Opcode::red || may_be_global(op);
  return by_threads && !isa::is_shared(op.modifiers.space()) && order::is_strong(op);
}

// Something that waits for, or tells, other threads of the CTA or cluster.
bool is_meeting(const ir::Operation& op) {
  return isa::unit(op.opcode) == isa::Unit::barrier || isa::unit(op.opcode) == isa::Unit::mbarrier;
}

bool names(const ir::Code& code, Special s) {
  const auto is = [&](const ir::Argument& a) { return a.kind == Kind::special && Special(a.id) == s; };
  return std::any_of(code.operations.begin(), code.operations.end(), [&](const ir::Operation& op) {
    return std::any_of(op.arguments.begin(), op.arguments.end(), is);
  });
}

struct Place {
  std::array<std::uint32_t, 3> cta{};
  std::uint32_t thread = 0;

  std::uint32_t warp() const { return thread / lanes_per_warp; }
};

// Bytes that a thread touches: an offset from a pointer.
struct GlobalAccess {
  const ir::Operation* operation = nullptr;
  TermId base = 0;
  std::uint64_t first = 0, end = 0;
  Place by{};
  std::uint32_t meetings = 0;  // that the thread has been at before
  bool matters = false;        // of a load: the thread stores what it makes of it, decides by it, or hands it on

  bool overlaps(const GlobalAccess& o) const { return base == o.base && first < o.end && o.first < end; }
  bool may_be_unordered(const GlobalAccess& o) const {
    if (by.cta != o.by.cta) return true;
    return by.warp() != o.by.warp() && meetings == o.meetings;
  }
};

// Follows threads one by one.
class Walk final : public flow::OperandTerms {
 public:
  Walk(const Program& program, std::array<std::uint32_t, 3> extents)
      : program_(program), code_(program.code), symbols_(program.facts), extents_(extents) {}

  /// Until its end, or where it is not known how it goes on.
  void follow(Place who);
  std::size_t steps() const { return steps_; }
  const std::vector<GlobalAccess>& loads() const { return loads_; }
  const std::vector<GlobalAccess>& stores() const { return stores_; }
  /// Parameters whose numbers have decided something: "n = 1048576".
  std::string example();

  TermId term(const ir::Argument&, int width) override;

 private:
  std::optional<std::uint32_t> step(std::uint32_t at);
  std::optional<bool> is_true(TermId predicate);
  TermId special(Special);
  void load(const ir::Operation&, std::uint32_t at);
  void note(const ir::Operation&);
  void forget(std::uint32_t at);
  using Sources = std::set<std::uint32_t>;
  Sources sources(std::uint32_t at) const;
  void matter(const Sources&);

  const Program& program_;
  const ir::Code& code_;
  Symbols symbols_;
  flow::Terms& terms_ = symbols_.terms();
  std::array<std::uint32_t, 3> extents_;
  Place who_{};
  std::uint32_t meetings_ = 0;
  std::vector<TermId> words_{};
  std::vector<Sources> sources_{};  // by register: the loads that it was made of, by their number
  std::size_t steps_ = 0;
  std::vector<GlobalAccess> loads_{}, stores_{};
  std::map<TermId, std::uint64_t> used_{};
};

TermId Walk::special(Special s) {
  const auto number = [&](std::uint64_t v) { return terms_.constant(v, 32); };
  const auto axis = [&](Special x) { return std::size_t(s) - std::size_t(x); };
  switch (s) {
    case Special::tid_x: return number(who_.thread % extents_[0]);
    case Special::tid_y: return number(who_.thread / extents_[0] % extents_[1]);
    case Special::tid_z: return number(who_.thread / extents_[0] / extents_[1]);
    case Special::ntid_x:
    case Special::ntid_y:
    case Special::ntid_z: return number(extents_[axis(Special::ntid_x)]);
    case Special::ctaid_x:
    case Special::ctaid_y:
    case Special::ctaid_z: return number(who_.cta[axis(Special::ctaid_x)]);
    case Special::nctaid_x:
    case Special::nctaid_y: return number(2);
    case Special::nctaid_z: return number(1);
    case Special::laneid: return number(who_.thread % lanes_per_warp);
    default: return symbols_.fresh("special", 64);
  }
}

TermId Walk::term(const ir::Argument& a, int width) {
  const auto with_offset = [&](TermId base) {
    if (a.value != 0) base = terms_.add(base, terms_.constant(std::uint64_t(a.value), terms_.width(base)));
    return terms_.truncate(base, std::min(width, terms_.width(base)));
  };
  switch (a.kind) {
    case Kind::immediate: return terms_.constant(std::uint64_t(a.value), width);
    case Kind::reg: return a.negated ? terms_.add(words_[a.id], terms_.constant(1, 1)) : with_offset(words_[a.id]);
    case Kind::special: return terms_.truncate(special(Special(a.id)), width);
    case Kind::symbol: return with_offset(symbols_.named("&" + code_.symbols[a.id].variable->name, width));
    case Kind::address:
      if (a.count == 1) return term(code_.components(a)[0], width);
      break;
    default: break;
  }
  return symbols_.fresh("unfollowed", width);
}

// With large numbers for parameters: sizes that leave work for all threads.
std::optional<bool> Walk::is_true(TermId predicate) {
  if (const auto v = terms_.value(predicate)) return *v != 0;
  std::map<TermId, std::uint64_t> numbers;
  for (const TermId piece : symbols_.evaluator().pieces(predicate)) {
    if (!symbols_.evaluator().is_leaf(piece)) continue;
    if (!symbols_.evaluator().text(piece).starts_with(parameter)) return std::nullopt;
    numbers[piece] = terms_.width(piece) > 32 ? std::uint64_t{1} << 40 : std::uint64_t{1} << 20;
  }
  const auto v = terms_.value(symbols_.evaluator().with(predicate, numbers));
  if (v) used_.insert(numbers.begin(), numbers.end());
  return v ? std::optional(*v != 0) : std::nullopt;
}

std::string Walk::example() {
  constexpr std::size_t most = 3;
  std::string out;
  std::size_t shown = 0;
  for (const auto& [leaf, v] : used_) {
    const std::string text = symbols_.evaluator().text(leaf);
    if (terms_.width(leaf) > 32 || shown++ >= most) continue;
    out += (out.empty() ? "" : " and ") + text.substr(parameter.size(), text.rfind(',') - parameter.size()) + " = " +
           std::to_string(v);
  }
  return out;
}

void Walk::forget(std::uint32_t at) {
  for (const ir::RegisterId r : program_.facts.definitions.written(at))
    words_[r] = symbols_.fresh("unfollowed", std::min(64, isa::bits(code_.registers[r].type)));
}

void Walk::load(const ir::Operation& op, std::uint32_t at) {
  const auto written = program_.facts.definitions.written(at);
  if (!isa::is_parameter(op.modifiers.space())) return forget(at);
  const auto bytes = std::uint64_t(std::max(1, isa::bits(op.modifiers.type()) / 8));
  for (std::size_t k = 0; k < written.size(); ++k) {
    const TermId address =
        terms_.add(term(ops::roles<ops::MemoryAccess>(op).address, 64), terms_.constant(k * bytes, 64));
    const TermId operands[] = {address, terms_.constant(bytes)};
    words_[written[k]] =
        symbols_.named("parameter", std::min(64, isa::bits(code_.registers[written[k]].type)), operands);
  }
}

Walk::Sources Walk::sources(std::uint32_t at) const {
  Sources out;
  for (const ir::RegisterId r : program_.facts.definitions.read(at)) out.insert(sources_[r].begin(), sources_[r].end());
  return out;
}

void Walk::matter(const Sources& loads) {
  for (const std::uint32_t k : loads) loads_[k].matters = true;
}

// An access whose address is a parameter and a number.
void Walk::note(const ir::Operation& op) {
  const TermId address = term(ops::roles<ops::MemoryAccess>(op).address, 64);
  const flow::Terms::Sum sum = terms_.sum(address);
  if (sum.parts.size() != 1 || sum.parts[0].factor != 1) return;
  const TermId base = sum.parts[0].atom;
  if (!symbols_.evaluator().text(base).starts_with(parameter)) return;
  const std::uint64_t bytes = isa::access_bytes(op.modifiers);
  (op.opcode == Opcode::st ? stores_ : loads_).push_back({&op, base, sum.number, sum.number + bytes, who_, meetings_});
}

// The operation that comes next; nothing where that is not known.
std::optional<std::uint32_t> Walk::step(std::uint32_t at) {
  const ir::Operation& op = code_.operations[at];
  std::optional<bool> executes = true;
  if (op.guard) {
    executes = is_true(words_[*op.guard]);
    if (executes) executes = *executes != op.guard_negated;
    if (!executes) matter(sources_[*op.guard]);
  }
  if (executes == false) return at + 1;
  switch (op.opcode) {
    case Opcode::bra: return executes ? std::optional(ops::roles<ops::Branch>(op).target->id) : std::nullopt;
    case Opcode::exit:
    case Opcode::ret:
    case Opcode::trap: return std::nullopt;
    default: break;
  }
  meetings_ += is_meeting(op);
  const std::size_t loads = loads_.size();
  if (executes && may_be_global(op)) note(op);
  Sources from = sources(at);
  if (loads_.size() != loads) from.insert(std::uint32_t(loads));
  const auto written = program_.facts.definitions.written(at);
  const bool is_arithmetic = isa::unit(op.opcode) == isa::Unit::alu;
  if (!is_arithmetic && op.opcode != Opcode::ld) matter(from);
  for (const ir::RegisterId r : written) sources_[r] = from;
  if (!executes) {
    forget(at);
  } else if (op.opcode == Opcode::ld) {
    load(op, at);
  } else if (op.opcode == Opcode::cvta && !isa::is_shared(op.modifiers.space())) {
    words_[written[0]] = term(ops::roles<ops::Alu>(op).a, 64);
  } else if (is_arithmetic) {
    const std::vector<TermId> results = symbols_.evaluator().results(at, *this);
    for (std::size_t k = 0; k < written.size(); ++k) words_[written[k]] = results[k];
  } else {
    forget(at);
  }
  return at + 1;
}

void Walk::follow(Place who) {
  who_ = who;
  meetings_ = 0;
  words_.resize(code_.registers.size());
  sources_.assign(code_.registers.size(), {});
  for (ir::RegisterId r = 0; r < words_.size(); ++r)
    words_[r] = symbols_.named("unset", std::min(64, isa::bits(code_.registers[r].type)));
  std::size_t taken = 0;
  for (std::optional<std::uint32_t> at = 0; at && *at < code_.operations.size() && taken < most_of_a_thread; ++taken)
    at = step(*at);
  steps_ += taken;
}

std::string text_of(const Place& p) { return fmt::format("thread {} of CTA ({}, {})", p.thread, p.cta[0], p.cta[1]); }

// The first store that a load may race with.
class Stores {
 public:
  explicit Stores(const std::vector<GlobalAccess>& stores) : stores_(stores) {
    for (std::uint32_t k = 0; k < stores.size(); ++k)
      for (std::uint64_t at = stores[k].first / granule; at * granule < stores[k].end; ++at)
        by_granule_[at].push_back(k);
  }
  /// Within a CTA if `within`, else between CTAs.
  const GlobalAccess* racing(const GlobalAccess& load, bool within) const {
    for (std::uint64_t at = load.first / granule; at * granule < load.end; ++at) {
      const auto found = by_granule_.find(at);
      if (found == by_granule_.end()) continue;
      for (const std::uint32_t k : found->second) {
        const GlobalAccess& s = stores_[k];
        if ((s.by.cta == load.by.cta) == within && s.overlaps(load) && s.may_be_unordered(load)) return &s;
      }
    }
    return nullptr;
  }

 private:
  static constexpr std::uint64_t granule = 4;
  const std::vector<GlobalAccess>& stores_;
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> by_granule_{};
};

// All threads of a CTA, or those at the ends of warps where that would take too long.
std::vector<std::uint32_t> threads_to_follow(std::uint32_t threads, std::size_t steps_each, std::size_t ctas) {
  std::vector<std::uint32_t> out;
  const bool all = threads * steps_each * ctas <= most_steps;
  for (std::uint32_t t = 0; t < threads; ++t)
    if (all || t < 2 || t + 2 >= threads || t == lanes_per_warp - 1 || t == lanes_per_warp) out.push_back(t);
  return out;
}

void add(const Program& program, Walk& walk, std::uint32_t threads, Explored& e) {
  const Stores stores(walk.stores());
  std::set<const ir::Operation*> said;
  for (const bool within : {true, false})
    for (const GlobalAccess& load : walk.loads()) {
      if (!load.matters || said.contains(load.operation)) continue;
      const GlobalAccess* store = stores.racing(load, within);
      if (!store) continue;
      said.insert(load.operation);
      Breach b{rules::race(false), load.operation, store->operation};
      if (!b.verdict.broken()) return;
      b.got = fmt::format("{} reads what {} stores", text_of(load.by), text_of(store->by));
      b.what = "the store is here";
      b.example = walk.example();
      if (program.threads == 0) b.premises.push_back({Premise::Fact::block, threads, {}});
      b.premises.insert(b.premises.end(), program.premises.begin(), program.premises.end());
      if (!within) b.premises.push_back({Premise::Fact::grid, 2, {}});
      e.breaches.push_back(std::move(b));
    }
}

}  // namespace

void find_global_races(const Program& program, Explored& e) {
  const ir::Code& code = program.code;
  const auto any = [&](const auto& is) { return std::any_of(code.operations.begin(), code.operations.end(), is); };
  const auto is = [](Opcode o) { return [o](const ir::Operation& op) { return op.opcode == o && may_be_global(op); }; };
  if (!any(is(Opcode::ld)) || !any(is(Opcode::st)) || any(may_signal)) return;
  std::array<std::uint32_t, 3> extents{program.cta[0], program.cta[1], program.cta[2]};
  if (program.threads == 0) extents = {assumed_threads, 1, 1};
  const std::uint32_t threads = extents[0] * extents[1] * extents[2];
  std::vector<std::array<std::uint32_t, 3>> ctas{{}};
  if (program.ctas == 1 && names(code, Special::ctaid_x)) ctas.push_back({1, 0, 0});
  if (program.ctas == 1 && names(code, Special::ctaid_y)) ctas.push_back({0, 1, 0});
  // A few threads first: most kernels do not load what they store.
  Walk first(program, extents);
  for (const Place& who : {Place{}, Place{{}, threads - 1}, Place{ctas.back(), 0}}) first.follow(who);
  const bool is_of_interest = std::any_of(first.loads().begin(), first.loads().end(), [&](const GlobalAccess& load) {
    return std::any_of(first.stores().begin(), first.stores().end(),
                       [&](const GlobalAccess& store) { return store.base == load.base; });
  });
  if (!is_of_interest) return;
  Walk walk(program, extents);
  for (const auto& cta : ctas)
    for (const std::uint32_t t : threads_to_follow(threads, first.steps() / 3, ctas.size()))
      if (walk.steps() < most_steps) walk.follow({cta, t});
  add(program, walk, threads, e);
}

}  // namespace kiln::verifier::explore

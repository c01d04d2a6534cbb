#include "verifier/explore/machine.hpp"

#include <algorithm>
#include <bit>

#include "ptx/isa/proxy_fence.hpp"
#include "ptx/isa/tmem.hpp"
#include "ptx/ops/meaning.hpp"
#include "verifier/barrier_object.hpp"
#include "verifier/explore/protocol.hpp"

namespace kiln::verifier::explore {

using flow::TermId;
using isa::Opcode;

namespace {

bool may_go_on(const State& s, const Cta& cta, const Fragment& f) {
  switch (f.wait.kind) {
    case Wait::Kind::none: return true;
    case Wait::Kind::mbarrier: {
      const auto& barriers = s.ctas[f.wait.cta].mbarriers;
      const auto found = barriers.find(f.wait.object);
      return found == barriers.end() || found->second.phase > f.wait.phase;
    }
    case Wait::Kind::barrier: return cta.barriers.at(f.wait.object).generation > f.wait.phase;
    case Wait::Kind::cluster: return s.cluster.generation > f.wait.phase;
    case Wait::Kind::flag: {
      const auto& flags = s.ctas[f.wait.cta].flags;
      const auto found = flags.find(f.wait.object);
      return found == flags.end() || found->second.end() > f.wait.phase;
    }
    case Wait::Kind::lanes:
    case Wait::Kind::warpgroup:
    case Wait::Kind::choice: return false;
  }
  return false;
}

// Calls f() while the state of a turn lacks what the turn's own warp does not touch where it waits for no others: the
// other warps and the barriers.
template <class F>
void without_others(Turn& t, F f) {
  struct Others {
    std::vector<Warp> warps{};
    std::map<std::uint32_t, Barrier> mbarriers{};
    std::map<std::uint32_t, NamedBarrier> barriers{};
  };
  std::vector<Others> all(t.s.ctas.size());
  const auto exchange = [&] {
    for (std::size_t c = 0; c < all.size(); ++c) {
      Cta& cta = t.s.ctas[c];
      all[c].warps.resize(cta.warps.size());
      for (std::size_t w = 0; w < cta.warps.size(); ++w)
        if (&cta.warps[w] != &t.warp) std::swap(cta.warps[w], all[c].warps[w]);
      cta.mbarriers.swap(all[c].mbarriers), cta.barriers.swap(all[c].barriers);
    }
  };
  exchange();
  f();
  exchange();
}

// Threads of a fragment that take a branch go to its target, the others on.
void part(Warp& warp, Fragment& f, Mask taken, std::uint32_t target) {
  if (taken == f.lanes) return void(f.at = target);
  ++f.at;
  if (taken == 0) return;
  Fragment other = f;
  other.lanes = taken;
  other.at = target;
  f.lanes &= ~taken;
  warp.fragments.push_back(std::move(other));  // f may be gone from here on
}

// Operations after which a wait that has failed before is another one: the loop around both does not only wait.
bool signals(const ir::Operation& op) {
  return arrives(op) || expects_bytes(op) || op.modifiers.completion != isa::Completion::none;
}

}  // namespace

void Machine::assume(State& s, TermId predicate, bool holds) {
  const std::set<TermId>& pieces = symbols_.evaluator().pieces(predicate);
  s.guessed |= std::any_of(pieces.begin(), pieces.end(), [&](TermId p) { return symbols_.is_fresh(p); });
  symbols_.assumptions().assume(s, predicate, holds);
  const TermId always = rounds_.of_all_rounds(predicate);
  s.contradicts |= symbols_.assumptions().holds(s.path, always) == !holds;
  symbols_.assumptions().assume(s.path, always, holds);
  each_fragment(s, [](Fragment& f) {
    if (f.wait.kind == Wait::Kind::choice) f.wait = {};
  });
}

State Machine::start() {
  State s;
  s.ctas.resize(program_.ctas);
  const int warps = (program_.threads + lanes_per_warp - 1) / lanes_per_warp;
  const std::vector<WordId> words = values_.unset();
  for (Cta& cta : s.ctas) {
    cta.tensor.resize(isa::tmem_lanes / tensor_block_lanes);
    cta.warps.resize(std::size_t(warps));
    for (int w = 0; w < warps; ++w) {
      const int live = std::min(lanes_per_warp, program_.threads - w * lanes_per_warp);
      Fragment f;
      f.lanes = live == lanes_per_warp ? all_lanes : (Mask{1} << live) - 1;
      f.words = words;
      cta.warps[std::size_t(w)].fragments.push_back(std::move(f));
      cta.warps[std::size_t(w)].groups.emplace_back();
    }
  }
  Memory::start(s);
  values_.start(s);
  return s;
}

void Machine::restart(bool is_last) {
  must_restart_ = false;
  rounds_.restart(is_last);
  if (is_last) apart_.assign(apart_.size(), true);
}

// Threads of a warp that stand at one instruction become one fragment again, if they wait for nothing but each other.
void Machine::merge(Warp& w, Mask within) {
  for (std::size_t i = 0; i < w.fragments.size(); ++i)
    for (std::size_t k = i + 1; k < w.fragments.size();) {
      Fragment &a = w.fragments[i], &b = w.fragments[k];
      const auto is_free = [&](const Fragment& f) {
        return !(f.lanes & ~within) && !f.arrived &&
               (f.wait.kind == Wait::Kind::none || f.wait.kind == Wait::Kind::lanes);
      };
      if (a.at != b.at || !is_free(a) || !is_free(b)) {
        ++k;
        continue;
      }
      for (std::size_t n = 0; n < a.words.size(); ++n)
        a.words[n] = values_.words().merged(a.words[n], b.words[n], a.lanes);
      a.lanes |= b.lanes;
      for (auto& [bound, r] : b.rounds)
        if (Round& mine = a.rounds[bound]; mine.number < r.number) mine = std::move(r);
      a.wait = {};
      w.fragments.erase(w.fragments.begin() + std::ptrdiff_t(k));
    }
}

// Runs a warp for as long as it can go on, the threads at the lowest instruction first. False if none could.
bool Machine::advance(State& s, std::uint32_t cta_index, std::uint32_t warp_index) {
  Cta& cta = s.ctas[cta_index];
  Warp& warp = cta.warps[warp_index];
  bool moved = false;
  for (;;) {
    merge(warp);
    Fragment* next = nullptr;
    for (Fragment& f : warp.fragments)
      if (may_go_on(s, cta, f) && (!next || f.at < next->at)) next = &f;
    if (!next) return moved;
    const std::uint32_t at = next->at = program_.next(next->at, !warp.loads.empty());
    if (at >= code_.operations.size()) {
      const Fragment gone = std::move(*next);
      warp.fragments.erase(warp.fragments.begin() + (next - warp.fragments.data()));
      barriers_.depart(s, cta_index, warp, gone, gone.lanes);
      moved = true;
      const auto is_gone = [](const Warp& w) { return w.fragments.empty(); };
      if (std::all_of(cta.warps.begin(), cta.warps.end(), is_gone)) memory_.exit(s, cta_index);
      continue;
    }
    if (take_turn(s, cta_index, warp_index, *next) != Status::blocked)
      moved = true;
    else if (next->wait.kind == Wait::Kind::choice)
      return moved;
  }
}

// Threads execute the operation that they stand at.
Status Machine::take_turn(State& s, std::uint32_t cta, std::uint32_t warp, Fragment& f) {
  const std::uint32_t at = f.at;
  f.wait = {};
  Turn t{s, s.ctas[cta], s.ctas[cta].warps[warp], f, code_.operations[at], cta, warp, at, f.lanes};
  budget_.step(t.op, has_rounds());
  const Status status = step(t);
  if (status != Status::blocked) followed_[at] = true;
  if (status == Status::next) ++f.at, f.arrived = false;
  return status;
}

// Runs threads that have gone one way of a branch to where its ways meet. False if they wait on the way.
bool Machine::go_to(State& s, const Parting& p) {
  Warp& warp = s.ctas[p.cta].warps[p.warp];
  for (;;) {
    merge(warp, p.lanes);
    Fragment* next = nullptr;
    bool waits = false;
    for (Fragment& f : warp.fragments) {
      if ((f.lanes & ~p.lanes) || f.at == p.meet) continue;
      waits |= f.wait.kind != Wait::Kind::none;
      if (f.wait.kind == Wait::Kind::none && (!next || f.at < next->at)) next = &f;
    }
    if (!next) return !waits;
    const std::uint32_t at = program_.next(next->at, !warp.loads.empty());
    const bool arrives = next->at < p.meet && p.meet <= at;
    next->at = arrives ? p.meet : at;
    if (!arrives && take_turn(s, p.cta, p.warp, *next) == Status::blocked && next->wait.kind != Wait::Kind::lanes)
      return false;
  }
}

// Of two predicates that must hold both, one is decided after the other, so that other predicates may share them.
std::optional<bool> Machine::decide(Turn& t, int lane, TermId predicate, std::uint32_t part) {
  if (const auto all = symbols_.assumptions().conjunction(predicate)) {
    if (const auto v = symbols_.assumptions().holds(t.s, predicate)) return v;
    for (std::uint32_t k = 0; k < 2; ++k) {
      const auto v = decide(t, lane, all->parts[k], 2 * part + k);
      if (!v || !*v) return v ? std::optional(all->opposite) : v;
    }
    return !all->opposite;
  }
  const TermId question = rounds_.question(t, lane, predicate, part);
  if (const auto v = symbols_.assumptions().holds(t.s, question)) return v;
  t.f.wait = {Wait::Kind::choice, 0, 0, 0, question};
  t.f.undecided = t.at;
  return std::nullopt;
}

// Lanes whose guard lets them execute; nothing when that has to be decided first.
std::optional<Mask> Machine::guard_lanes(Turn& t) {
  if (!t.op.guard) return t.f.lanes;
  const std::uint32_t slot = program_.slot(*t.op.guard);
  if (slot == Program::no_slot) throw Unfollowed{"the guard is not followed", &t.op};
  const WordId word = t.f.words[slot];
  if (const auto p = values_.words().shared(word, t.f.lanes)) {
    const auto v = decide(t, lanes_per_warp, *p);
    if (!v) return std::nullopt;
    t.f.undecided = Program::no_slot;
    return *v != t.op.guard_negated ? t.f.lanes : 0;
  }
  Mask out = 0;
  for (const int l : Lanes(t.f.lanes)) {
    const auto v = decide(t, l, values_.words().at(word, l));
    if (!v) return std::nullopt;
    if (*v != t.op.guard_negated) out |= Mask{1} << l;
  }
  t.f.undecided = Program::no_slot;
  return out;
}

// An operation that only makes a word or touches memory is followed without deciding its guard, for all lanes that may
// execute it.
bool Machine::guess_guard(Turn& t, LaneTerms& may) {
  const bool plain = !is_protocol(t.op) || is_shared_access(t.op);
  const Opcode op = t.op.opcode;
  if (!plain || op == Opcode::st_async || op == Opcode::red_async || op == Opcode::atom) return false;
  const WordId word = t.f.words[program_.slot(*t.op.guard)];
  t.lanes = 0;
  const bool same = values_.words().shared(word, t.f.lanes).has_value();
  for (const int l : Lanes(t.f.lanes)) {
    TermId p = rounds_.question(t, same ? lanes_per_warp : l, values_.words().at(word, l));
    if (t.op.guard_negated) p = symbols_.terms().add(p, symbols_.terms().constant(1, 1));
    const auto v = symbols_.assumptions().holds(t.s, p);
    may[std::size_t(l)] = v ? symbols_.terms().constant(*v, 1) : p;
    if (!v || *v) t.lanes |= Mask{1} << l;
  }
  t.f.wait = {};
  t.f.undecided = Program::no_slot;
  t.predicates = &may;
  return true;
}

// Whether a word is a number whatever these predicates are.
bool Machine::is_number_by(TermId word, const std::set<TermId>& predicates) {
  for (std::uint32_t way = 0; way < 1u << predicates.size(); ++way) {
    std::map<TermId, std::uint64_t> decided;
    for (const TermId p : predicates) decided[p] = way >> decided.size() & 1;
    if (!symbols_.terms().is_constant(symbols_.evaluator().with(word, decided))) return false;
  }
  return true;
}

// A word that predicates choose among numbers: they are decided, and it is what is chosen. False if one has to be
// decided first. Words that are not numbers are not followed apart: what is known of a bound is known of it as a whole.
bool Machine::settle_choices(Turn& t, std::uint32_t slot) {
  constexpr std::size_t most = 4;  // predicates of a word
  WordId& word = t.f.words[slot];
  const bool shared = values_.words().shared(word, t.lanes).has_value();
  LaneTerms out;
  for (int l = 0; l < lanes_per_warp; ++l) out[std::size_t(l)] = values_.words().at(word, l);
  for (const int l : Lanes(shared ? t.lanes & -t.lanes : t.lanes)) {
    TermId& now = out[std::size_t(l)];
    const std::set<TermId>& by = symbols_.evaluator().chosen_by(now);
    if (by.empty() || by.size() > most || !is_number_by(now, by)) continue;
    std::map<TermId, std::uint64_t> decided;
    for (const TermId predicate : by) {
      const auto holds = decide(t, shared ? lanes_per_warp : l, predicate, std::uint32_t(decided.size() + 1));
      if (!holds) return false;
      decided[predicate] = *holds;
    }
    now = symbols_.evaluator().with(now, decided);
  }
  if (shared)
    for (const int l : Lanes(t.lanes)) out[std::size_t(l)] = out[std::size_t(t.leader())];
  word = values_.words().of(out);
  return true;
}

// If an operand depends on a word that can only be a few numbers, each number is a choice.
bool Machine::settle_operands(Turn& t) {
  for (const ir::RegisterId r : program_.questions(t.at)) {
    const std::uint32_t slot = program_.slot(r);
    if (slot == Program::no_slot) continue;
    if (!values_.words().is_constant(t.f.words[slot], symbols_.terms()) && !settle_choices(t, slot)) return false;
    const TermId word = symbols_.assumptions().settled(t.s, values_.words().at(t.f.words[slot], t.leader()));
    if (symbols_.terms().is_constant(word) || symbols_.terms().width(word) == 1) continue;
    const auto way = symbols_.assumptions().way_to_settle(t.s, word);
    if (!way) continue;
    t.f.wait = {Wait::Kind::choice, 0, 0, 0, *way};
    return false;
  }
  return true;
}

Status Machine::branch(Turn& t) {
  if (const auto around = program_.merge_point(t.at)) return t.f.at = *around, Status::jumped;
  const auto taken = guard_lanes(t);
  if (!taken) return go_both_ways(t) ? Status::jumped : Status::blocked;
  part(t.warp, t.f, *taken, ops::roles<ops::Branch>(t.op).target->id);  // t.f may be gone from here on
  return Status::jumped;
}

// A branch asks again and again: for words out of memory, or for one predicate after the other. A predicate of
// parameters alone is decided once for all threads.
bool Machine::recurs(const Turn& t, TermId predicate) {
  const std::set<TermId>& pieces = symbols_.evaluator().pieces(predicate);
  if (std::any_of(pieces.begin(), pieces.end(), [&](TermId p) { return symbols_.is_fresh(p); })) return true;
  return asked_.try_emplace(t.at, predicate).first->second != predicate;
}

// Where it is not decided which threads take a branch, and they do nothing on its ways that others wait for, they go
// both ways up to where these meet: all that may take it, and only those that must.
bool Machine::go_both_ways(Turn& t) {
  const auto local = apart_[t.at] ? std::nullopt : program_.local_ways(t.at);
  if (!local) return false;
  const WordId word = t.f.words[program_.slot(*t.op.guard)];
  const auto same = values_.words().shared(word, t.f.lanes);
  if (!same && local->together) return false;
  Mask must = 0, may = 0;
  TermId question = 0;
  for (const int l : Lanes(t.f.lanes)) {
    question = rounds_.question(t, same ? lanes_per_warp : l, values_.words().at(word, l));
    const auto holds = symbols_.assumptions().holds(t.s, question);
    if (!holds) may |= Mask{1} << l;
    if (holds && *holds != t.op.guard_negated) must |= Mask{1} << l;
  }
  if (same && !recurs(t, question)) return false;
  const Parting p{t.cta_index, t.warp_index, t.f.lanes, t.at, local->meet};
  const auto fragment = std::size_t(&t.f - t.warp.fragments.data());
  const std::uint32_t target = ops::roles<ops::Branch>(t.op).target->id;
  std::array<State, 2> ways;
  without_others(t, [&] { ways = {t.s, t.s}; });
  bool meets = true;
  try {
    for (const bool all : {false, true}) {
      State& s = ways[all];
      if (same) assume(s, question, all != t.op.guard_negated);
      Warp& w = s.ctas[p.cta].warps[p.warp];
      w.fragments[fragment].wait = {}, w.fragments[fragment].undecided = Program::no_slot;
      part(w, w.fragments[fragment], all ? must | may : must, target);
      findings_.run(s);
      meets = meets && go_to(s, p);
    }
  } catch (const Unfollowed& u) {
    if (u.decider != no_branch) throw;
    meets = false;
  }
  findings_.run(t.s);
  apart_[t.at] = !meets || !join(t.s, ways, p, program_, values_.words());
  return !apart_[t.at];
}

Status Machine::jump_by_table(Turn& t) {
  const auto jump = ops::roles<ops::BranchTable>(t.op);
  if (t.op.guard || jump.targets->kind != ir::Argument::Kind::table)
    throw Unfollowed{"a branch by a table of this form", &t.op};
  if (!settle_operands(t)) return Status::blocked;
  const std::vector<std::uint32_t>& table = code_.tables[jump.targets->id];
  t.lanes = t.f.lanes;
  std::map<std::uint32_t, Mask> targets;
  for (const int l : Lanes(t.lanes)) {
    const std::uint64_t index = values_.number(t, jump.index, l, 32, "where a branch goes");
    if (index >= table.size()) throw Unfollowed{"a branch past the end of its table", &t.op};
    targets[table[index]] |= Mask{1} << l;
  }
  std::vector<Fragment> others;
  for (auto it = std::next(targets.begin()); it != targets.end(); ++it) {
    others.push_back(t.f);
    others.back().at = it->first, others.back().lanes = it->second;
  }
  t.f.at = targets.begin()->first, t.f.lanes = targets.begin()->second;
  for (Fragment& f : others) t.warp.fragments.push_back(std::move(f));  // t.f may be gone from here on
  return Status::jumped;
}

Status Machine::leave(Turn& t) {
  const auto gone = guard_lanes(t);
  if (!gone) return Status::blocked;
  if (*gone == 0) return Status::next;
  if (*gone == t.f.lanes) return t.f.at = std::uint32_t(code_.operations.size()), Status::jumped;
  t.f.lanes &= ~*gone;
  barriers_.depart(t.s, t.cta_index, t.warp, t.f, *gone);
  return Status::next;
}

Status Machine::step(Turn& t) {
  switch (t.op.opcode) {
    case Opcode::bra: return branch(t);
    case Opcode::exit:
    case Opcode::ret: return leave(t);
    case Opcode::trap: t.cta.trapped = true; return t.f.at = std::uint32_t(code_.operations.size()), Status::jumped;
    case Opcode::brx_idx: return jump_by_table(t);
    case Opcode::call: throw Unfollowed{"calls", &t.op};
    default: break;
  }
  tensor_memory_.consume_loads(t);
  if (!program_.matters(t.at)) return Status::next;
  // elect.sync looks at all lanes of the warp.
  if (t.op.opcode == Opcode::elect_sync && !t.converge(all_lanes)) return Status::blocked;
  const auto lanes = guard_lanes(t);
  LaneTerms may{};
  if (!lanes && !guess_guard(t, may)) return Status::blocked;
  if (lanes && *lanes == 0) return Status::next;
  if (lanes) t.lanes = *lanes;
  if (t.op.opcode == Opcode::elect_sync && t.warp.groups.size() > 1) t.warp.wait_for_lanes(t.lanes);
  if (is_protocol(t.op)) {
    if (!settle_operands(t)) return Status::blocked;
    if (signals(t.op)) t.f.failed_wait = Program::no_slot;  // no loop that only waits
    const Status status = synchronise(t);
    if (status != Status::next) return status;
  }
  if (program_.facts.definitions.written(t.at).size() && program_.demands.matters(t.at) &&
      !(t.op.opcode == Opcode::mbarrier_try_wait || t.op.opcode == Opcode::mbarrier_test_wait))
    values_.evaluate(t);
  return Status::next;
}

// Which part of the machine executes an operation of the protocol.
Status Machine::synchronise(Turn& t) {
  if (const std::string part = ops::without_model(t.op); !part.empty())
    throw Unfollowed{part + " of " + std::string(isa::spelling(t.op.opcode)), &t.op};
  if (t.at != t.f.poll.at && !order::is_fence(t.op)) t.f.poll = {};
  switch (isa::unit(t.op.opcode)) {
    case isa::Unit::barrier: return barriers_.execute(t);
    case isa::Unit::mbarrier: return barriers_.execute_mbarrier(t);
    case isa::Unit::async_copy: return copies_.execute(t);
    case isa::Unit::tcgen05: return tensor_memory_.execute(t);
    default: break;
  }
  switch (t.op.opcode) {
    case Opcode::bar_warp_sync: return barriers_.execute_warp(t);
    case Opcode::fence_proxy:
    case Opcode::membar_proxy:
      if (t.op.modifiers.proxy == isa::Proxy::tensormap_generic)
        Copies::fence_map(t);
      else if (isa::async_fence(t.op.modifiers).shared)
        t.warp.proxy_fence(t.lanes);
      return Status::next;
    case Opcode::fence_mbarrier_init: Barriers::publish(t); return Status::next;
    case Opcode::fence:
    case Opcode::membar: Flags::fence(t); return Status::next;
    case Opcode::wgmma_mma_async:
    case Opcode::wgmma_mma_async_sp:
    case Opcode::wgmma_commit_group:
    case Opcode::wgmma_wait_group: return warpgroups_.execute(t);
    case Opcode::st_async:
    case Opcode::red_async:
    case Opcode::multimem_cp_async_bulk:
    case Opcode::multimem_cp_reduce_async_bulk: return copies_.execute(t);
    default: return memory_.load_or_store(t);
  }
}

Stop Machine::run(State& s) {
  findings_.run(s);
  budget_.begin_run();
  try {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::uint32_t c = 0; c < s.ctas.size(); ++c)
        for (std::uint32_t w = 0; w < s.ctas[c].warps.size(); ++w) moved |= advance(s, c, w);
      if (!moved)
        moved = copies_.finish(s, any_fragment(s, [](const Fragment& f) { return f.wait.kind == Wait::Kind::choice; }));
    }
  } catch (const Unfollowed& u) {
    if (u.decider != no_branch) apart_[u.decider] = must_restart_ = true;
    return {Stop::Kind::unfollowed, 0, u.what, u.may_be_nothing, u.operation};
  }
  Stop stop;
  for (const Cta& cta : s.ctas)
    for (const Warp& w : cta.warps)
      for (const Fragment& f : w.fragments) {
        const ir::Operation* op = &code_.operations[f.at];
        if (f.wait.kind == Wait::Kind::choice) return {Stop::Kind::choice, f.wait.choice, {}, false, op};
        if (stop.kind == Stop::Kind::finished) stop = {Stop::Kind::deadlock, 0, {}, false, op};
      }
  const bool awaits_flag = any_fragment(s, [](const Fragment& f) { return f.wait.kind == Wait::Kind::flag; });
  if (stop.kind == Stop::Kind::deadlock && awaits_flag)
    return {Stop::Kind::unfollowed, 0, "a loop that reads a flag until it changes", false, stop.operation};
  // What warps do that come to a wgmma without their group is not defined.
  if (stop.kind == Stop::Kind::deadlock && awaits_warpgroup(s))
    return {Stop::Kind::unfollowed, 0, "a wgmma that not all four warps come to", false, stop.operation};
  return stop;
}

}  // namespace kiln::verifier::explore

#include "verifier/explore/explore.hpp"

#include <malloc.h>

#include <algorithm>
#include <deque>
#include <set>
#include <unordered_map>

#include "verifier/explore/deadlock.hpp"
#include "verifier/explore/key.hpp"

namespace kiln::verifier::explore {

namespace {

constexpr int most_passes = 24;

// What follows is not known. If no run is known to come here, exploring goes on: another way to a like state may be
// open.
void give_up(Explored& out, bool is_doubtful, std::string why, const ir::Operation* where) {
  if (is_doubtful && !out.doubt.empty()) return;
  (is_doubtful ? out.doubt : out.incomplete) = std::move(why);
  (is_doubtful ? out.doubtful : out.where) = where;
}

// A deadlock.
struct Standstill {
  const ir::Operation* where = nullptr;
  State last{};
  std::string example{};
  std::vector<flow::TermId> least_words{};  // as of a Breach
  std::vector<Premise> premises{};
  std::vector<std::uint32_t> roots{};
};

void report_deadlock(Explored& out, Standstill&& d) {
  out.deadlock = d.where;
  out.example = std::move(d.example);
  out.deadlock_premises = std::move(d.premises);
  out.last = std::move(d.last);
  out.roots = std::move(d.roots);
}

// A deadlock that needs a parameter to be zero, or a larger grid, waits for another one.
void note_deadlock(Explored& out, std::optional<Standstill>& waiting, State& s, Machine& machine,
                   const ir::Operation* where) {
  auto example = machine.findings().example(s);
  if (!example) return give_up(out, true, machine.findings().doubt(s, "a deadlock"), where);
  Standstill d{where, {}, {}, machine.findings().least_words(s), machine.findings().grid_premises(s, *example), {}};
  d.example = machine.findings().text(*example);
  d.roots = roots(machine.program(), s);
  if (!d.roots.empty()) d.where = &machine.program().code.operations[d.roots.front()];
  d.last = std::move(s);
  if (d.least_words.empty() && d.premises.empty()) return report_deadlock(out, std::move(d));
  if (!waiting) waiting = std::move(d);
}

// The words that counters of loops have been compared with.
std::set<flow::TermId> bounds(Machine& machine) {
  std::set<flow::TermId> out;
  for (ir::RegisterId r = 0; r < machine.program().code.registers.size(); ++r) {
    const std::uint32_t family = machine.program().family(r);
    if (family == Program::no_slot) continue;
    const Program::Family& kin = machine.program().family_of(family);
    if (!kin.bounded && !kin.counts) continue;
    for (const flow::TermId base : machine.rounds().bases(family)) {
      const auto round = machine.rounds().round_of(base);
      out.insert(round ? round->bound : base);
    }
  }
  return out;
}

void need(const Premise& premise, std::vector<Premise>& all) {
  if (std::find(all.begin(), all.end(), premise) == all.end()) all.push_back(premise);
}

// What is found only where a loop has no step is known under that premise alone.
void note_loops(Machine& machine, std::optional<Standstill>&& waiting, Explored& out) {
  const std::set<flow::TermId> all = bounds(machine);
  const auto has_bound = [&](const std::vector<flow::TermId>& words) {
    return std::any_of(words.begin(), words.end(), [&](flow::TermId t) { return all.contains(t); });
  };
  for (Breach& b : out.breaches)
    if (has_bound(b.least_words)) b.premises.push_back({Premise::Fact::loop});
  if (!waiting || out.deadlock) return;
  if (has_bound(waiting->least_words)) waiting->premises.push_back({Premise::Fact::loop});
  report_deadlock(out, std::move(*waiting));
}

// States to go on from: few trips first, those that no run is known to come to last. Of the states of one key (key.hpp)
// one is kept; its threads know what those of all of them know.
class Worklist {
 public:
  explicit Worklist(Machine& machine) : machine_(machine) {}

  // A run has come to a choice: both outcomes are to be followed if its state is new. If its threads know less than
  // those of the state that is kept, that one is to be followed again, with what both know.
  void add(State& s, flow::TermId choice) {
    forget(s, machine_);
    const auto [found, is_new] = numbers_.try_emplace(key(s, machine_), kept_.size());
    if (is_new) return follow(kept_.emplace_back(s, choice));  // a copy takes less memory
    State& kept = kept_[found->second].first;
    std::vector<EventSet> here;
    each_known(s, [&](const EventSet& e) { here.push_back(e); });
    bool less = false;
    std::size_t k = 0;
    each_known(kept, [&](EventSet& e) { less |= !e.within(here[k]), e.meet(here[k]), ++k; });
    if (!less) return;
    kept.is_merged = true;
    again_.insert(found->second);
  }
  std::optional<State> next() {
    if (open_.empty() && doubtful_.empty() && !again_.empty()) {
      // All in turn, so that each is followed with what the others have lost.
      auto it = again_.upper_bound(last_);
      if (it == again_.end()) it = again_.begin();
      last_ = *it;
      again_.erase(it);
      follow(kept_[last_]);
    }
    std::deque<State>& from = open_.empty() ? doubtful_ : open_;
    if (from.empty()) return std::nullopt;
    State s = std::move(from.front());
    from.pop_front();
    return s;
  }

 private:
  void follow(const std::pair<State, flow::TermId>& kept) {
    for (const bool holds : {false, true}) {
      State next = kept.first;
      machine_.assume(next, kept.second, holds);
      (next.is_doubtful() ? doubtful_ : open_).push_back(std::move(next));
    }
  }

  Machine& machine_;
  std::unordered_map<std::string, std::size_t> numbers_{};  // by key
  std::deque<std::pair<State, flow::TermId>> kept_{};       // with the choice that it has come to
  std::set<std::size_t> again_{};
  std::size_t last_ = 0;
  std::deque<State> open_{}, doubtful_{};
};

// Bytes that the process has allocated, where the C library says so; else 0.
std::size_t allocated() {
#ifdef __GLIBC__
  const struct mallinfo2 m = mallinfo2();
  return m.uordblks + m.hblkhd;
#else
  return 0;
#endif
}

void follow_all(Machine& machine, std::uint64_t most_states, Explored& out, std::optional<Standstill>& waiting) {
  constexpr std::uint64_t states_a_look = 32;  // at the memory
  constexpr std::size_t most_memory = std::size_t{1} << 30;
  Worklist work(machine);
  for (std::optional<State> s = machine.start(); s; s = work.next()) {
    const Stop stop = machine.run(*s);
    if (machine.must_restart()) return;
    ++out.states;
    if (machine.budget().is_over()) return give_up(out, false, Budget::out_of_time, stop.operation);
    if (out.states > (machine.has_rounds() ? 3 : 1) * most_states)
      return give_up(out, false, "too many ways to go", stop.operation);
    if (out.states % states_a_look == 0 && allocated() > most_memory)
      return give_up(out, false, "too many ways to go in 1 GiB of memory", stop.operation);
    if (stop.kind == Stop::Kind::unfollowed)
      give_up(out, stop.may_be_nothing || s->is_doubtful(), stop.what, stop.operation);
    if (stop.kind == Stop::Kind::deadlock) note_deadlock(out, waiting, *s, machine, stop.operation);
    if (!out.incomplete.empty() || out.deadlock) return;
    if (stop.kind == Stop::Kind::choice) work.add(*s, stop.choice);
  }
  out.incomplete = out.doubt;
  out.where = out.doubtful;
}

}  // namespace

Explored explore(const Program& program, Deadline deadline, std::uint64_t most_states) {
  Explored out;
  if (program.threads == 0 && !program.synchronises()) {
    out.complete = true;
    return out;
  }
  if (program.threads == 0) {
    out.incomplete = "how many threads a CTA has";
    return out;
  }
  Machine machine(program, deadline);
  std::optional<Standstill> waiting;
  for (int pass = 0; pass <= most_passes; ++pass) {
    machine.restart(pass == most_passes);
    machine.budget().begin();
    out = Explored{};
    waiting.reset();
    follow_all(machine, most_states, out, waiting);
    if (!machine.must_restart()) break;
    if (pass == most_passes) out.incomplete = "which threads compare with a bound that is not known";
  }
  out.breaches = machine.findings().all();
  note_loops(machine, std::move(waiting), out);
  out.complete = out.incomplete.empty() && !out.deadlock;
  out.steps = machine.budget().steps();
  out.followed = machine.followed();
  out.unknown_copies = machine.unknown_copies();
  return out;
}

void find_premises(const Program& program, Explored& e, Deadline deadline) {
  if (e.breaches.empty() && !e.deadlock) return;
  for (const Premise& premise : program.premises) {
    if (premise.is_guess) {
      for (Breach& b : e.breaches) need(premise, b.premises);
      if (e.deadlock) need(premise, e.deadlock_premises);
    }
    for (const std::uint32_t number : premise.others) {
      Shape shape = program.shape;
      (premise.fact == Premise::Fact::block ? shape.cta : shape.cluster) = {number, 1, 1};
      const Explored other = explore(Program(program.facts, shape), deadline);
      const auto is_found = [&](const Breach& b) {
        return std::any_of(other.breaches.begin(), other.breaches.end(), [&](const Breach& o) {
          return o.operation == b.operation && o.verdict.rule == b.verdict.rule;
        });
      };
      for (Breach& b : e.breaches)
        if (!is_found(b)) need(premise, b.premises);
      if (e.deadlock && e.deadlock != other.deadlock) need(premise, e.deadlock_premises);
    }
  }
}

}  // namespace kiln::verifier::explore

#include "verifier/explore/explore.hpp"

#include <algorithm>
#include <deque>
#include <set>
#include <unordered_map>

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

void report_deadlock(Explored& out, State& s, Machine& machine, const ir::Operation* where) {
  const auto example = machine.findings().example(s);
  if (!example) return give_up(out, true, "whether all that is assumed on the way to a deadlock can hold", where);
  out.deadlock = where;
  out.example = machine.findings().text(*example);
  out.last = std::move(s);
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

void follow_all(Machine& machine, std::uint64_t most_states, Explored& out) {
  Worklist work(machine);
  for (std::optional<State> s = machine.start(); s; s = work.next()) {
    const Stop stop = machine.run(*s);
    if (machine.rounds().must_restart()) return;
    ++out.states;
    if (out.states > (machine.has_rounds() ? 3 : 1) * most_states)
      return give_up(out, false, "too many ways to go", stop.operation);
    if (stop.kind == Stop::Kind::unfollowed)
      give_up(out, stop.may_be_nothing || s->is_doubtful(), stop.what, stop.operation);
    if (stop.kind == Stop::Kind::deadlock) report_deadlock(out, *s, machine, stop.operation);
    if (!out.incomplete.empty() || out.deadlock) return;
    if (stop.kind == Stop::Kind::choice) work.add(*s, stop.choice);
  }
  out.incomplete = out.doubt;
  out.where = out.doubtful;
}

}  // namespace

Explored explore(const Program& program, std::uint64_t most_states) {
  Explored out;
  if (program.threads == 0 && !program.synchronises()) {
    out.complete = true;
    return out;
  }
  if (program.threads == 0) {
    out.incomplete = "how many threads a CTA has";
    return out;
  }
  Machine machine(program);
  for (int pass = 0; pass <= most_passes; ++pass) {
    machine.rounds().restart(pass == most_passes);
    machine.budget().begin();
    out = Explored{};
    follow_all(machine, most_states, out);
    if (!machine.rounds().must_restart()) break;
    if (pass == most_passes) out.incomplete = "which threads compare with a bound that is not known";
  }
  out.complete = out.incomplete.empty() && !out.deadlock;
  out.breaches = machine.findings().all();
  out.steps = machine.budget().steps();
  return out;
}

}  // namespace kiln::verifier::explore

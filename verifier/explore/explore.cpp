#include "verifier/explore/explore.hpp"

#include <algorithm>
#include <deque>
#include <set>
#include <unordered_map>

#include "verifier/explore/key.hpp"

namespace kiln::verifier::explore {

namespace {

constexpr int most_passes = 24;

// What follows is not known. Where nobody may come here, another way to a like state may be open still.
void give_up(Explored& out, bool is_doubtful, std::string why, const ir::Operation* where) {
  if (is_doubtful && !out.doubt.empty()) return;
  (is_doubtful ? out.doubt : out.incomplete) = std::move(why);
  (is_doubtful ? out.doubtful : out.where) = where;
}

void stand_still(Explored& out, State& s, Machine& machine, const ir::Operation* where) {
  const auto example = machine.findings().example(s);
  if (!example)
    return give_up(out, true, "whether all that is taken for granted on the way to a standstill can be", where);
  out.deadlock = where;
  out.example = machine.findings().text(*example);
  out.last = std::move(s);
}

State follow(const State& s, Machine& machine, flow::TermId choice, bool holds) {
  State next = s;
  machine.assume(next, choice, holds);
  each_fragment(next, [](Fragment& f) {
    if (f.wait.kind == Wait::Kind::choice) f.wait = {};
  });
  return next;
}

// States by what they have in common (key.hpp), each as one in which threads know what they know in all of them.
class Known {
 public:
  enum class Is : std::uint8_t { new_one, known, less };
  struct Entry {
    State state{};
    flow::TermId choice = 0;
  };

  /// Keeps a state: a new one; one in which threads know no less than in a state that was gone on from; or one in which
  /// they know less, so that what they know in both is to be gone on from again.
  Is keep(const std::string& key, const State& s, flow::TermId choice) {
    const auto [found, is_new] = numbers_.try_emplace(key, entries_.size());
    if (is_new) return entries_.push_back({s, choice}), Is::new_one;
    Entry& entry = entries_[found->second];
    std::vector<EventSet> here;
    each_known(s, [&](const EventSet& e) { here.push_back(e); });
    bool less = false;
    std::size_t k = 0;
    each_known(entry.state, [&](EventSet& e) { less |= !e.within(here[k]), e.meet(here[k]), ++k; });
    if (!less) return Is::known;
    entry.state.forgets = true;
    again_.insert(found->second);
    return Is::less;
  }
  /// A state in which threads know less than when it was gone on from: all in turn, so that each is gone on from with
  /// what the others have lost.
  std::optional<Entry> next() {
    if (again_.empty()) return std::nullopt;
    auto it = again_.upper_bound(last_);
    if (it == again_.end()) it = again_.begin();
    last_ = *it;
    again_.erase(it);
    return entries_[last_];
  }

 private:
  std::unordered_map<std::string, std::size_t> numbers_{};
  std::deque<Entry> entries_{};
  std::set<std::size_t> again_{};
  std::size_t last_ = 0;
};

// Ways that are open: few trips first, ways that no run is known to go last.
class Open {
 public:
  void add(const State& s, Machine& machine, flow::TermId choice) {
    for (const bool holds : {false, true}) {
      State next = follow(s, machine, choice, holds);
      (next.is_doubtful() ? doubtful_ : states_).push_back(std::move(next));
    }
  }
  bool is_empty() const { return states_.empty() && doubtful_.empty(); }
  std::optional<State> next() {
    std::deque<State>& from = states_.empty() ? doubtful_ : states_;
    if (from.empty()) return std::nullopt;
    State s = std::move(from.front());
    from.pop_front();
    return s;
  }

 private:
  std::deque<State> states_{}, doubtful_{};
};

void go_all_ways(Machine& machine, const Program& program, std::uint64_t most_states, Explored& out) {
  Known known;
  Open open;
  for (std::optional<State> s = machine.start(); s; s = open.next()) {
    const Stop stop = machine.run(*s);
    if (machine.rounds().must_restart()) return;
    ++out.states;
    if (out.states > (machine.has_rounds() ? 3 : 1) * most_states)
      return give_up(out, false, "too many ways to go", stop.operation);
    if (stop.kind == Stop::Kind::unfollowed)
      give_up(out, stop.may_be_nothing || s->is_doubtful(), stop.what, stop.operation);
    if (stop.kind == Stop::Kind::deadlock) stand_still(out, *s, machine, stop.operation);
    if (!out.incomplete.empty() || out.deadlock) return;
    if (stop.kind == Stop::Kind::choice) {
      forget(*s, program, machine);
      if (known.keep(key(*s, program, machine), *s, stop.choice) == Known::Is::new_one)
        open.add(*s, machine, stop.choice);
    }
    if (!open.is_empty()) continue;
    if (const auto entry = known.next()) open.add(entry->state, machine, entry->choice);
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
    go_all_ways(machine, program, most_states, out);
    if (!machine.rounds().must_restart()) break;
    if (pass == most_passes) out.incomplete = "who compares with a bound that is not known";
  }
  out.complete = out.incomplete.empty() && !out.deadlock;
  out.breaches = machine.findings().all();
  out.steps = machine.budget().steps();
  return out;
}

}  // namespace kiln::verifier::explore

#include "verifier/protocol/explore.hpp"

#include <deque>
#include <unordered_set>

#include "verifier/protocol/key.hpp"

namespace kiln::verifier::protocol {

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
  std::unordered_set<std::string> known;
  std::deque<State> open;  // few trips first
  open.push_back(machine.start());
  while (!open.empty()) {
    State s = std::move(open.front());
    open.pop_front();
    const Stop stop = machine.run(s);
    ++out.states;
    if (stop.kind == Stop::Kind::unfollowed || out.states > most_states) {
      out.incomplete = stop.kind == Stop::Kind::unfollowed ? stop.what : "too many ways to go";
      out.where = stop.operation;
      break;
    }
    if (stop.kind == Stop::Kind::deadlock) {
      const auto example = machine.example(s);
      if (example) {
        out.deadlock = stop.operation;
        out.example = machine.text(*example);
        out.last = std::move(s);
      } else {
        out.incomplete = "whether all that is taken for granted on the way to a standstill can be";
        out.where = stop.operation;
      }
      break;
    }
    if (stop.kind == Stop::Kind::finished) continue;
    forget(s, program, machine);
    if (!known.insert(key(s, program, machine)).second) continue;
    for (const bool holds : {false, true}) {
      State next = s;
      machine.assume(next, stop.choice, holds);
      for (Cta& cta : next.ctas)
        for (Warp& w : cta.warps)
          for (Fragment& f : w.fragments)
            if (f.wait.kind == Wait::Kind::choice) f.wait = {};
      open.push_back(std::move(next));
    }
  }
  out.complete = out.incomplete.empty() && !out.deadlock;
  out.breaches = machine.breaches();
  out.steps = machine.steps();
  return out;
}

}  // namespace kiln::verifier::protocol

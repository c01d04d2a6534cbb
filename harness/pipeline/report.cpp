#include "harness/pipeline/report.hpp"

namespace kiln::harness {

bool RunReport::finished() const {
  if (simulation) return simulation->outcome == sim::Outcome::finished;
  return cuda && cuda->outcome == CudaResult::Outcome::finished;
}

int RunReport::exit_code() const {
  for (const Comparison& c : comparisons)
    if (!c.pass) return 1;
  const int found = diag::exit_code(findings);
  if (found == 1 || !simulation) return found;
  switch (simulation->outcome) {
    case sim::Outcome::finished: return found;
    case sim::Outcome::fault:
    case sim::Outcome::deadlock:
    case sim::Outcome::livelock: return 1;
    case sim::Outcome::step_limit:
    case sim::Outcome::incomplete: return 3;
  }
  return found;
}

}  // namespace kiln::harness

#include "sim/core/run.hpp"

namespace kiln::sim {

std::string_view spelling(Strategy s) {
  switch (s) {
    case Strategy::random: return "random";
    case Strategy::adversarial: return "adversarial";
    case Strategy::pct: return "pct";
    case Strategy::exhaustive: return "exhaustive";
  }
  return "";
}

std::string_view spelling(Outcome o) {
  switch (o) {
    case Outcome::finished: return "finished";
    case Outcome::fault: return "fault";
    case Outcome::deadlock: return "deadlock";
    case Outcome::livelock: return "livelock";
    case Outcome::step_limit: return "step limit";
    case Outcome::incomplete: return "incomplete";
  }
  return "";
}

}  // namespace kiln::sim

#include "sim/fault.hpp"

#include <fmt/format.h>

#include "ptx/rules/catalogue.hpp"

namespace kiln::sim {

void fault(std::string slug, std::string message) { throw Fault{Outcome::fault, std::move(slug), std::move(message)}; }

void unmodelled(std::string what) {
  throw Fault{Outcome::incomplete, "sim-unmodelled", "the simulator does not model " + std::move(what)};
}

std::string rule_text(const rules::Verdict& verdict) {
  return fmt::format("{}; got {}", rules::info(verdict.rule).must, verdict.given);
}

void require(const rules::Verdict& verdict) {
  if (verdict.broken()) fault(std::string(rules::info(verdict.rule).slug), rule_text(verdict));
}

}  // namespace kiln::sim

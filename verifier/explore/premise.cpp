#include "verifier/explore/premise.hpp"

#include <fmt/format.h>

namespace kiln::verifier::explore {

std::string text(const Premise& p) {
  switch (p.fact) {
    case Premise::Fact::block: return fmt::format("with {} threads to a CTA", p.value);
    case Premise::Fact::cluster: return fmt::format("with {} CTA{} to a cluster", p.value, p.value == 1 ? "" : "s");
    case Premise::Fact::grid: return fmt::format("with {} CTAs in the grid", p.value);
    case Premise::Fact::loop: return "where a loop has no step";
  }
  return {};
}

std::string question(Premise::Fact fact) {
  return fact == Premise::Fact::block ? "how many threads a CTA has" : "how many CTAs a cluster has";
}

std::string option(const Premise& p) {
  return fmt::format("--assume {}={}", p.fact == Premise::Fact::block ? "block" : "cluster", p.value);
}

}  // namespace kiln::verifier::explore

// What exploring takes for granted where neither the PTX nor a launch says it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kiln::verifier::explore {

/// A fact that only a launch decides. A finding that needs one is conditional.
struct Premise {
  enum class Fact : std::uint8_t {
    block,    // the CTA has so many threads
    cluster,  // the cluster has so many CTAs
    grid,     // the grid has so many CTAs
    loop      // a loop has no step, because a parameter is zero or less
  };
  Fact fact{};
  std::uint32_t value = 0;
  std::vector<std::uint32_t> others{};  // other numbers that the kernel allows

  bool operator==(const Premise&) const = default;
};

/// "with 2 CTAs to a cluster".
std::string text(const Premise&);
/// What is not known: "how many CTAs a cluster has".
std::string question(Premise::Fact);
/// The option of kiln check that says it.
std::string option(const Premise&);

}  // namespace kiln::verifier::explore

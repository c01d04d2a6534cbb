// What exploring takes for granted where neither the PTX nor a launch says it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "verifier/facts.hpp"

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
  bool is_guess = false;                // nothing bounds it: no finding is one of every launch

  bool operator==(const Premise&) const = default;
};

/// How many threads the text of a kernel suggests: the fewest whole warps in which each operation that hangs on the
/// thread index has all threads that it singles out, instructions of a warpgroup have four warps, and barriers with a
/// count get their threads; two warps at least where all threads meet. 0 where the CTA has more than one dimension.
std::uint32_t suggested_threads(const Facts&);

/// "with 2 CTAs to a cluster".
std::string text(const Premise&);
/// What is not known: "how many CTAs a cluster has".
std::string question(Premise::Fact);
/// The option of kiln check that says it.
std::string option(const Premise&);

}  // namespace kiln::verifier::explore

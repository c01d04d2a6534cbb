// All ways that a kernel's protocol can go: every trip count, every outcome of what its values do not decide.
#pragma once

#include "verifier/explore/machine.hpp"

namespace kiln::verifier::explore {

/// What exploring a kernel has come to.
struct Explored {
  bool complete = false;     // every way was gone to its end, or came back to a state known before
  std::string incomplete{};  // else: why not
  const ir::Operation* where = nullptr;
  const ir::Operation* deadlock = nullptr;
  std::string doubt{};  // why not all of the ways that are gone though no numbers are known for them is followed
  const ir::Operation* doubtful = nullptr;
  std::vector<Breach> breaches{};
  State last{};           // of a standstill
  std::string example{};  // parameters under which it comes to that
  std::uint64_t states = 0, steps = 0;
};

Explored explore(const Program&, std::uint64_t most_states = 2000);

}  // namespace kiln::verifier::explore

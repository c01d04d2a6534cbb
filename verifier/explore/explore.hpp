// Follows all paths of a kernel's protocol: every trip count, both outcomes of each predicate that its values do not
// decide.
#pragma once

#include "verifier/explore/findings.hpp"
#include "verifier/explore/program.hpp"
#include "verifier/explore/turn.hpp"

namespace kiln::verifier::explore {

/// What exploring a kernel has come to.
struct Explored {
  bool complete = false;     // every path has ended, or come back to a known state
  std::string incomplete{};  // else: why not
  const ir::Operation* where = nullptr;
  const ir::Operation* deadlock = nullptr;
  std::string doubt{};  // why a path for which no numbers are known was not followed to its end
  const ir::Operation* doubtful = nullptr;
  std::vector<Breach> breaches{};
  State last{};                              // of a deadlock
  std::vector<std::uint32_t> roots{};        // where threads wait for what no other wait explains, by operation
  std::string example{};                     // parameters under which it comes to that
  std::vector<Premise> deadlock_premises{};  // it is known under these alone
  std::uint64_t states = 0, steps = 0;
  std::vector<bool> followed{};                        // by operation: some run has executed it
  std::vector<const ir::Operation*> unknown_copies{};  // tensor copies of which nothing says how large their boxes are
};

/// What is not explored by the deadline makes the answer incomplete.
Explored explore(const Program&, Deadline = no_deadline, std::uint64_t most_states = 2000);

/// Explores again with another number for each premise: what is not found then is known under that premise alone.
void find_premises(const Program&, Explored&, Deadline = no_deadline);

}  // namespace kiln::verifier::explore

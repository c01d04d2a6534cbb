// What the verifier says of a text without running it: its rules, and every way that the protocol of its kernels can
// go.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "ptx/diag/diagnostic.hpp"
#include "tests/mutation/kernel.hpp"
#include "tests/mutation/mutant.hpp"

namespace kiln::mutation {

/// A finding: what is said and where in the text.
struct StaticFinding {
  std::string slug{};
  diag::Severity severity = diag::Severity::error;
  std::size_t at = 0;  // offset in the text
  std::string message{};
  bool is_explored = false;  // exploring found it, not the rules alone
};

/// What the static layer comes to for one text.
struct StaticLayer {
  std::string incomplete{};  // what is not followed; empty: everything is judged
  std::vector<StaticFinding> findings{};
};

/// Checks the functions of a text and explores what the contract launches. A text that does not parse has no
/// findings. `exploring`: as long as it may take.
StaticLayer check_statically(const std::string& name, const std::string& text, const launch::Contract&,
                             std::chrono::milliseconds exploring);

/// The first finding of a mutant that the kernel itself does not have and that is as bad as the mutant's class asks
/// for; empty when there is none.
std::string static_witness(const Mutant&, const StaticLayer& mutant, const StaticLayer& whole);

}  // namespace kiln::mutation

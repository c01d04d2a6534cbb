// kiln check --lint: what is legal and costs.
#pragma once

#include <future>

#include "harness/ptxas/ptxas.hpp"
#include "launch/contract.hpp"
#include "ptx/diag/diagnostic.hpp"
#include "ptx/ir/module.hpp"
#include "verifier/launch_facts.hpp"

namespace kiln::command {

/// What is legal and costs: the verifier's notes, and for each entry what ptxas makes of it: registers, spills, CTAs
/// that share an SM. ptxas works while the module, which must stay, is judged in other ways.
class Lint {
 public:
  /// Reports the verifier's notes and starts ptxas.
  Lint(const ir::Module&, diag::Sink&);
  /// Reports what ptxas has made. Without a ptxas that takes the text, says on stderr why that part is left out. A launch
  /// says how large CTAs are and what shared memory it adds; without one `facts` may.
  void finish(diag::Sink&, const launch::Contract* launch, const verifier::LaunchFacts& facts);

 private:
  const ir::Module& module_;
  std::future<harness::Assembly> made_{};  // nothing to wait for: the module names no target
};

}  // namespace kiln::command

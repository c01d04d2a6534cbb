// kiln check --lint: what is legal and costs.
#pragma once

#include "launch/contract.hpp"
#include "ptx/diag/diagnostic.hpp"
#include "ptx/ir/module.hpp"
#include "verifier/launch_facts.hpp"

namespace kiln::command {

/// What is legal and costs: the verifier's notes, and for each entry what ptxas makes of it: registers, spills, CTAs
/// that share an SM. Without a ptxas that takes the text, says on stderr why that part is left out. A launch says how
/// large CTAs are and what shared memory it adds; without one `facts` may.
void lint(const ir::Module&, diag::Sink&, const launch::Contract* launch = nullptr,
          const verifier::LaunchFacts& facts = {});

}  // namespace kiln::command

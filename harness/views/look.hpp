// A look at the memory that a kernel uses, without the whole of its problem.
#pragma once

#include <string>
#include <vector>

#include "launch/contract.hpp"
#include "ptx/diag/diagnostic.hpp"
#include "ptx/ir/module.hpp"
#include "sim/simulate.hpp"
#include "sim/views/memory_map.hpp"

namespace kiln::harness {

struct Look {
  std::vector<sim::MemoryMap> maps{};  // empty when the verifier gave no proof
  sim::Outcome outcome = sim::Outcome::finished;
};

/// Verifies a built module and simulates the first cluster of the contract's first launch; findings go to the sink.
/// What it computes is of no interest, so arithmetic is fast and races are not judged.
Look look_at(ir::Module, const std::string& name, launch::Contract contract, launch::Dim3 cluster, diag::Sink&);

}  // namespace kiln::harness

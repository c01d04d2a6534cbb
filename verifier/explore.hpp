// Proves or refutes a kernel's synchronisation for all its trip counts, without running it.
#pragma once

#include <string>
#include <vector>

#include "launch/contract.hpp"
#include "ptx/diag/diagnostic.hpp"
#include "ptx/ir/module.hpp"

namespace kiln::verifier {

/// What exploring one entry function came to.
struct Exploration {
  std::string entry{};
  bool complete = false;  // every way was gone to its end, whatever the parameters are
  std::uint64_t states = 0, steps = 0;
};

/// Explores the entry functions of a module (verifier/protocol): races of shared and tensor memory, missing proxy
/// fences, wrong arrivals, laps and standstills, each with the parameters under which it happens. What cannot be
/// followed is reported as `incomplete`. Findings that the sink has already are not repeated. `launch` tells how large
/// the CTA and the cluster are where the kernel does not.
std::vector<Exploration> explore(const ir::Module&, diag::Sink&, const launch::Contract* launch = nullptr);

}  // namespace kiln::verifier

// The kernels that are mutated: those of the tree, and PTX files written for this with contracts beside them.
#pragma once

#include <string>
#include <vector>

#include "launch/contract.hpp"
#include "ptx/diag/source.hpp"

namespace kiln::mutation {

struct Kernel {
  std::string name{};
  diag::SourcePtr ptx{};
  launch::Contract contract{};  // its buffers are filled
};

/// Every kernel, in the order of the table; throws InputError for a file that cannot be read.
std::vector<Kernel> kernels();

}  // namespace kiln::mutation

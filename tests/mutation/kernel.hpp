// The kernels that are mutated: those of the tree, PTX files written for this with contracts beside them, or any other.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "launch/contract.hpp"
#include "ptx/diag/source.hpp"

namespace kiln::mutation {

struct Kernel {
  std::string name{};
  diag::SourcePtr ptx{};
  launch::Contract contract{};      // its buffers are filled
  std::uint64_t max_steps = 60000;  // more than ten times what the longest kernel of the table needs
  std::map<std::string, std::vector<std::uint8_t>>
      results{};  // what buffers must hold, if the contract expects nothing
};

/// Every kernel, in the order of the table; throws InputError for a file that cannot be read.
std::vector<Kernel> kernels();

/// Any PTX file with a launch contract; its name is that of its file or, for `kernel.ptx`, of its folder.
Kernel foreign_kernel(const std::string& ptx, const std::string& launch);

}  // namespace kiln::mutation

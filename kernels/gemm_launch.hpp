// The launch of a GEMM that the generator builds: its buffers, tensor maps, grid and workspace.
#pragma once

#include "dsl/entry.hpp"
#include "kernels/problem.hpp"

namespace kiln::kernels {

/// The operands that have a tile's rows and its columns: the names of their buffers, and of the kernel's parameters.
struct OperandNames {
  const char *a, *b;
};
OperandNames operand_names(const GemmPlan&);

/// The launch of a problem of these sizes. Throws diag::InputError for sizes that the kernel refuses.
launch::Contract contract(const GemmPlan&, const dsl::Kernel&, const dsl::Sizes&);

}  // namespace kiln::kernels

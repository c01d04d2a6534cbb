// Grouped GEMM, as a mixture of experts has it: rows of A in groups of any size, each multiplied by a matrix of its
// own.
#pragma once

#include "dsl/dsl.hpp"

namespace kiln::kernels {

/// The options --m, --n, --k, --groups and --ctas.
std::span<const dsl::SizeOption> grouped_options();
dsl::Kernel gemm_grouped(isa::Target, const dsl::Sizes&);
/// Groups that get larger one by one; where there are fewer rows than groups, some are empty.
launch::Contract gemm_grouped_problem(const dsl::Kernel&, const dsl::Sizes&);

}  // namespace kiln::kernels

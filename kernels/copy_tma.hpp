// A copy through shared memory, tile by tile, by TMA alone; and a look at how TMA lays a tile out.
#pragma once

#include "dsl/dsl.hpp"

namespace kiln::kernels {

/// The options --rows, --cols, --swizzle, --inner and --shift.
std::span<const dsl::SizeOption> copy_tma_options();
/// Throws diag::InputError for a swizzle and an inner extent that do not go together, with the list of those that do.
dsl::Kernel copy_tma(isa::Target, const dsl::Sizes&);
launch::Contract copy_tma_problem(const dsl::Kernel&, const dsl::Sizes&);

}  // namespace kiln::kernels

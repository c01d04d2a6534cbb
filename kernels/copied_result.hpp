// Results that leave through shared memory and TMA, whole lines at a time, while the warps go on.
#pragma once

#include <functional>

#include "dsl/dsl.hpp"
#include "dsl/register_sums.hpp"

namespace kiln::kernels {

/// Stores the sums of a tile, which belong at (row, col).
using CopyOut =
    std::function<void(dsl::Warpgroup& g, const dsl::AnyTmem& sums, const dsl::U32& row, const dsl::U32& col)>;
/// Out of tensor memory, by blocks of GemmPlan::copied_columns, which keep the epilogue's registers few. Declares the
/// parameter D, and room for the blocks on their way.
CopyOut copied_result(dsl::KernelBuilder&, dsl::ElementType);

/// Stores the sums of the warpgroup `which` of two, in tiles of `columns`, which belong at (row, col).
using RegistersOut = std::function<void(dsl::Warpgroup& g, int which, dsl::RegisterSums& sums, int columns,
                                        const dsl::U32& row, const dsl::U32& col)>;
/// Out of the registers of two warpgroups that multiply, by blocks of 64 rows and so many columns: 32, or of 16 bits
/// also 64. Declares D and room for the blocks too.
RegistersOut registers_result(dsl::KernelBuilder&, dsl::ElementType, int columns);

}  // namespace kiln::kernels

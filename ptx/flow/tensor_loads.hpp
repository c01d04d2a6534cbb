// What becomes of the columns that a tcgen05.ld reads.
#pragma once

#include "ptx/flow/definitions.hpp"
#include "ptx/isa/tmem.hpp"

namespace kiln::flow {

/// Of the columns of a tcgen05.ld, relative to its address, those from the first to the last that lie in a register which
/// some instruction reads; none where no instruction does. A reduction reads all of its columns. PTX ISA "tcgen05.ld".
isa::ColumnRange columns_used(const ir::Code&, const Definitions&, const ir::Operation& load);

}  // namespace kiln::flow

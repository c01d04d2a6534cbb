// The layouts of tensor memory as pictures: accumulators, scale factors, sparsity metadata.
#pragma once

#include <string>

#include "ptx/isa/tcgen05.hpp"
#include "ptx/isa/tmem.hpp"

namespace kiln::harness {

/// Which row m and column n lies where, of an accumulator of M x N; both CTAs of a pair side by side.
std::string accumulator_picture(isa::DataPath path, int m, int n);

/// The scales that one MMA reads for 128 rows of A, in one quarter of the lanes.
std::string scale_picture(int scales);

/// The metadata of sixteen rows of a sparse A.
std::string metadata_picture(isa::MmaKind kind);

}  // namespace kiln::harness

// What a tcgen05.mma reads from tensor memory besides A and B: scale factors, and the metadata of a sparse A.
#pragma once

#include "sim/tensor/part.hpp"

namespace kiln::sim {

/// Scale bytes of each row of A that the CTA holds, or of each column of B: `scale_vector` each.
std::vector<u8> gather_scales(Grid& grid, const MmaTask& task, Cta& cta, isa::ScaleSide side);
/// Columns that the scales cover from their address on.
int scale_footprint(const MmaTask& task, isa::ScaleSide side);
/// Metadata of each row of a part's A in the order of ptx/num: the nibble of the first chunk lowest.
std::vector<u32> gather_metadata(Grid& grid, const MmaTask& task, const Part& part, Cta& cta);
/// Words of metadata that a row has.
int metadata_words(isa::MmaKind kind);

}  // namespace kiln::sim

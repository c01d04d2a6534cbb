// What a tcgen05.mma reads from tensor memory besides A and B: scale factors, and the metadata of a sparse A.
#pragma once

#include "sim/tensor/operands.hpp"

namespace kiln::sim {

/// Scale bytes of each row of A that the CTA holds, or of each column of B, `scale_vector` each. Poison among them
/// makes that row of `scaled` poison.
std::vector<u8> gather_scales(const MmaTask& task, Cta& cta, isa::ScaleSide side, Elements& scaled);
/// Columns that the scales cover from their address on.
int scale_footprint(const MmaTask& task, isa::ScaleSide side);
/// Metadata of each row of a part's A in the order of ptx/num: the nibble of the first chunk lowest. Poison among it
/// makes the row poison.
std::vector<u32> gather_metadata(const MmaTask& task, const Part& part, Cta& cta, Elements& a);
/// Words of metadata that a row has.
int metadata_words(isa::MmaKind kind);

}  // namespace kiln::sim

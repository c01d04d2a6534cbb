// What belongs to the operands of an MMA in global memory: the arithmetic of their types, and the buffers of scales and
// metadata that go with them. For contracts written in C++.
#pragma once

#include "launch/contract.hpp"
#include "ptx/isa/scales.hpp"
#include "ptx/isa/sparse.hpp"

namespace kiln::launch {

/// The kind whose arithmetic multiplies elements of these types: `block` of them share a scale, or 0 for none; `mma_k`
/// is the K of a dense MMA, which tells mxf8f6f4 (32) from mxf4 where both operands are e2m1, and 0 where it says
/// nothing. `none` for types that no tcgen05.mma multiplies. mxf4 stands for mxf4nvf4 with blocks of 32 too: they
/// agree.
isa::MmaKind mma_kind(isa::ScalarType a, isa::ScalarType b, std::uint32_t block = 0, std::uint32_t mma_k = 0);

/// A buffer for the scales of `rows` rows of `scales` each: [row chunks, K chunks, 512], isa::scale_index's layout with
/// shape[1] as its k_chunks. Along K it is padded to a multiple of `k_multiple` chunks: those that one stage copies.
Buffer scale_buffer(std::string name, isa::ScalarType type, std::uint64_t rows, std::uint64_t scales,
                    std::uint64_t k_multiple = 1);

/// A buffer for the metadata of a sparse A of `rows` rows of `k` elements before it was pruned: [row images, K images,
/// 512] of u32, isa::metadata_nibble's layout with shape[1] as its k_images, padded as scale_buffer pads.
Buffer metadata_buffer(std::string name, isa::MmaKind kind, std::uint64_t rows, std::uint64_t k,
                       std::uint64_t k_multiple = 1);

/// Has the matrix `operand` of a contract quantised from what its init draws, and adds the buffers that `how` names:
/// scales of `scale_type`, one f32, metadata. `k_multiple` as above. The matrix must be there; its shape is what it
/// stores.
void quantise(Contract&, const std::string& operand, const Quantisation& how,
              isa::ScalarType scale_type = isa::ScalarType::ue8m0, std::uint64_t k_multiple = 1);

}  // namespace kiln::launch

#include "kernels/block_scaled.hpp"

#include "launch/operands.hpp"

namespace kiln::kernels {

launch::Contract scaled_buffers(const GemmSizes& s, const ScaledTypes& t) {
  launch::Contract c = gemm_buffers(s, t.a, t.b, t.d);
  const auto quantise = [&](const char* operand, const char* scales) {
    launch::quantise(c, operand, launch::Quantisation{.scales = scales, .block = t.block, .mma_k = t.mma_k}, t.scale,
                     t.chunks);
  };
  quantise("A", "SFA");
  quantise("B", "SFB");
  launch::Expectation& product = c.expectations.front();
  product.sfa = "SFA";
  product.sfb = "SFB";
  product.block = t.block;
  product.mma_k = t.mma_k;
  return c;
}

launch::TensorMap scale_map(const launch::Contract& c, const std::string& buffer, std::uint32_t row_chunks,
                            std::uint32_t k_chunks) {
  constexpr std::uint64_t words = isa::scale_chunk_bytes / 4;
  const launch::Buffer& scales = c.at(buffer);
  launch::TensorMap m;
  m.buffer = buffer;
  m.dtype = isa::ScalarType::u32;
  m.rank = 3;
  m.dims = {words, scales.shape[1], scales.shape[0], 1, 1};
  m.strides[1] = isa::scale_chunk_bytes;
  m.strides[2] = scales.shape[1] * isa::scale_chunk_bytes;
  m.box = {std::uint32_t(words), k_chunks, row_chunks, 1, 1};
  return m;
}

}  // namespace kiln::kernels

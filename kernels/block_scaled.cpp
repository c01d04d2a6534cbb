#include "kernels/block_scaled.hpp"

#include "ptx/isa/scales.hpp"

namespace kiln::kernels {
namespace {

// Scales of `rows` rows, in whole chunks.
launch::Buffer scale_buffer(const char* name, isa::ScalarType type, std::uint64_t rows, std::uint64_t scales) {
  launch::Buffer b;
  b.name = name;
  b.dtype = type;
  b.shape = {isa::scale_row_chunks(rows), isa::scale_k_chunks(scales), isa::scale_chunk_bytes};
  b.init.kind = launch::Init::Kind::quantised;
  return b;
}

}  // namespace

launch::Contract scaled_buffers(const GemmSizes& s, isa::ScalarType a, isa::ScalarType b, isa::ScalarType scale,
                                isa::ScalarType d, std::uint32_t block) {
  launch::Contract c = gemm_buffers(s, a, b, d);
  c.buffers[0].init.quantised = launch::Quantisation{.scales = "SFA", .block = block};
  c.buffers[1].init.quantised = launch::Quantisation{.scales = "SFB", .block = block};
  c.buffers.insert(c.buffers.begin() + 2, {scale_buffer("SFA", scale, s.m, s.k / block), scale_buffer("SFB", scale, s.n, s.k / block)});
  launch::Expectation& product = c.expectations.front();
  product.sfa = "SFA";
  product.sfb = "SFB";
  product.block = block;
  return c;
}

launch::TensorMap scale_map(const std::string& buffer, std::uint64_t rows, std::uint64_t scales, std::uint32_t chunks) {
  constexpr std::uint64_t words = isa::scale_chunk_bytes / 4;
  launch::TensorMap m;
  m.buffer = buffer;
  m.dtype = isa::ScalarType::u32;
  m.rank = 3;
  m.dims = {words, isa::scale_k_chunks(scales), isa::scale_row_chunks(rows), 1, 1};
  m.strides[1] = isa::scale_chunk_bytes;
  m.strides[2] = m.dims[1] * isa::scale_chunk_bytes;
  m.box = {std::uint32_t(words), chunks, 1, 1, 1};
  return m;
}

}  // namespace kiln::kernels

#include "kernels/sparse.hpp"

#include "launch/operands.hpp"

namespace kiln::kernels {

launch::Contract sparse_buffers(const GemmSizes& s, const SparseTypes& t) {
  launch::Contract c = gemm_buffers(s, t.a, t.b, t.d);
  c.buffers.front().shape[1] /= 2;
  launch::quantise(c, "A", launch::Quantisation{.metadata = "E"}, isa::ScalarType::none, t.images);
  c.expectations.front().metadata = "E";
  return c;
}

launch::TensorMap metadata_map(const launch::Contract& c, const std::string& buffer, std::uint32_t images) {
  const launch::Buffer& metadata = c.at(buffer);
  launch::TensorMap m;
  m.buffer = buffer;
  m.dtype = isa::ScalarType::u32;
  m.rank = 3;
  m.dims = {metadata_box_words, metadata.shape[1] * image_rows, metadata.shape[0], 1, 1};
  m.strides[1] = isa::metadata_image_bytes / image_rows;
  m.strides[2] = metadata.shape[1] * isa::metadata_image_bytes;
  m.box = {metadata_box_words, images * image_rows, 1, 1, 1};
  return m;
}

}  // namespace kiln::kernels

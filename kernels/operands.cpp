#include "kernels/operands.hpp"

#include "launch/operands.hpp"

namespace kiln::kernels {
namespace {

// A buffer of chunks or images padded to whole slots.
void pad(launch::Contract& c, const char* name, std::uint64_t multiple) {
  std::uint64_t& along_k = c.at(name).shape[1];
  along_k = pieces(along_k, multiple) * multiple;
}

}  // namespace

void add_sides(launch::Contract& c, const std::optional<Scaling>& scaling, const std::optional<Pruning>& pruning) {
  launch::Quantisation of_a;
  if (scaling) of_a.scales = "SFA", of_a.block = scaling->a_block, of_a.mma_k = scaling->a_k;
  if (pruning) {
    of_a.metadata = "E";
    c.buffers.front().shape[1] /= 2;
  }
  // Scales and metadata of one operand are padded each to its own multiple.
  if (scaling || pruning) launch::quantise(c, "A", of_a, scaling ? scaling->type : isa::ScalarType::none, 1);
  launch::Expectation& product = c.expectations.front();
  if (scaling) {
    launch::quantise(c, "B", launch::Quantisation{.scales = "SFB", .block = scaling->b_block, .mma_k = scaling->a_k},
                     scaling->type, scaling->chunks);
    pad(c, "SFA", scaling->chunks);
    product.sfa = "SFA";
    product.sfb = "SFB";
    product.block = scaling->a_block;
    product.mma_k = scaling->a_k;
  }
  if (pruning) {
    pad(c, "E", pruning->images);
    product.metadata = "E";
  }
}

launch::Buffer drawn_scales(const char* name, isa::ScalarType type, std::uint64_t rows, std::uint64_t scales) {
  launch::Buffer drawn = launch::scale_buffer(name, type, rows, scales);
  drawn.init.kind = launch::Init::Kind::uniform;
  drawn.init.low = 0.25, drawn.init.high = 4, drawn.init.seed = 3;
  return drawn;
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

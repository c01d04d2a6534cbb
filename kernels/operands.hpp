// What stands beside the operands of a GEMM in global memory: scales of block-scaled kinds, metadata of a sparse A.
#pragma once

#include "kernels/gemm.hpp"

namespace kiln::kernels {

/// How operands are scaled: the type of a scale, the elements of B and the stored elements of A that share one, the
/// stored elements of A that an MMA takes, and the chunks of scales along K that a slot takes, to whole ones of which
/// buffers are padded.
struct Scaling {
  isa::ScalarType type{};
  std::uint32_t a_block = 0, b_block = 0, a_k = 0;
  std::uint64_t chunks = 0;
};
/// How A is sparse: the images of metadata along K that a slot takes.
struct Pruning {
  std::uint64_t images = 0;
};

/// Quantises A and B of a contract, halves A where it is sparse, and adds SFA and SFB, and E, the metadata of A.
void add_sides(launch::Contract&, const std::optional<Scaling>&, const std::optional<Pruning>&);

/// A buffer of scales for rows of so many, drawn from 1/4 to 4: where nothing is quantised.
launch::Buffer drawn_scales(const char* name, isa::ScalarType, std::uint64_t rows, std::uint64_t scales);

/// A contract's scales as TMA sees them: words of a chunk, chunks along K, chunks of rows; a box of the chunks that one
/// slot takes.
launch::TensorMap scale_map(const launch::Contract&, const std::string& buffer, std::uint32_t row_chunks,
                            std::uint32_t k_chunks);

/// How TMA sees metadata: rows of as many words as a box may have, `image_rows` of them an image.
inline constexpr int metadata_box_words = 256, image_rows = isa::metadata_image_words / metadata_box_words;
/// A contract's metadata as TMA sees it; a box of so many images along K.
launch::TensorMap metadata_map(const launch::Contract&, const std::string& buffer, std::uint32_t images);

}  // namespace kiln::kernels

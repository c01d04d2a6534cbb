// Problems of groups of rows in e4m3 with f32 scales of blocks, for both chips.
#pragma once

#include "kernels/groups.hpp"

namespace kiln::kernels {

/// Elements along K that a scale of A is for; of B along K and along N.
inline constexpr int scaled_block = 128;
inline constexpr std::uint64_t scaled_k_multiple = 16;  // rows of whole 16 bytes

/// f32s in 16 bytes, of which rows of scales are whole ones, as tensor maps want them.
inline constexpr int scales_in_piece = 4;

/// From a row of scales to the next, in f32s.
constexpr std::uint64_t scale_pitch(std::uint64_t k) {
  return pieces(k, std::uint64_t(scaled_block) * scales_in_piece) * scales_in_piece;
}
/// The same on the device, of so many blocks along K.
inline dsl::U32 scale_pitch(const dsl::U32& k_blocks) {
  return (k_blocks + (scales_in_piece - 1)) / scales_in_piece * scales_in_piece;
}

/// A[m, k], D in bf16, B and SFB[n / 128, k / 128] for each group, SFA[m, k / 128], and what D must be. "ends" says
/// where groups end.
launch::Contract fp8_grouped_buffers(const GemmSizes&, std::uint64_t groups);
/// The same where each group has room for m rows of its own, and "lengths" says how many it has.
launch::Contract fp8_masked_buffers(const GemmSizes&, std::uint64_t groups);

}  // namespace kiln::kernels

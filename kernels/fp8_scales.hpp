// Problems of groups of rows in e4m3 with f32 scales of blocks, for both chips.
#pragma once

#include "kernels/groups.hpp"

namespace kiln::kernels {

/// Elements along K that a scale of A is for; of B along K and along N.
inline constexpr int scaled_block = 128;
inline constexpr std::uint64_t scaled_k_multiple = 16;  // rows of whole 16 bytes

/// From a row of scales to the next, in f32s: whole 16 bytes, as tensor maps want them.
constexpr std::uint64_t scale_pitch(std::uint64_t k) { return pieces(k, std::uint64_t(scaled_block) * 4) * 4; }
/// The same on the device, of so many blocks along K.
inline dsl::U32 scale_pitch(const dsl::U32& k_blocks) { return (k_blocks + 3) / 4 * 4; }

/// A[m, k], D in bf16, B and SFB[n / 128, k / 128] for each group, SFA[m, k / 128], and what D must be. "ends" says
/// where groups end.
launch::Contract fp8_grouped_buffers(const GemmSizes&, std::uint64_t groups);
/// The same where each group has room for m rows of its own, and "lengths" says how many it has.
launch::Contract fp8_masked_buffers(const GemmSizes&, std::uint64_t groups);

}  // namespace kiln::kernels

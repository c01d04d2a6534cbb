// A copy through shared memory, tile by tile, by TMA alone; and a look at how TMA lays a tile out.
#pragma once

#include "dsl/dsl.hpp"

namespace kiln::kernels {

inline constexpr int copy_tma_rows = 64;  // of a tile

/// What the host must know of a tile.
struct CopyTile {
  std::uint64_t cols, bytes;
  launch::TensorMap (*map)(const dsl::GlobalTensor&);
};

/// The tile that --swizzle and --inner choose. Throws diag::InputError for a pair that the kernel is not instantiated
/// for.
CopyTile copy_tma_tile(const dsl::Sizes&);
/// Throws diag::InputError for --rows, --cols or --shift that TMA cannot address.
void check_copy_tma(const dsl::Sizes&);

/// The options --rows, --cols, --swizzle, --inner and --shift.
std::span<const dsl::SizeOption> copy_tma_options();
/// Throws diag::InputError for a swizzle and an inner extent that do not go together, with the list of those that do.
dsl::Kernel copy_tma(isa::Target, const dsl::Sizes&);
launch::Contract copy_tma_problem(const dsl::Kernel&, const dsl::Sizes&);

}  // namespace kiln::kernels

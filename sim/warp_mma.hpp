// A matrix instruction of a warp, or one warp's share of a wgmma: what its text says, resolved once, and the product
// itself on gathered operands.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ptx/isa/matrix_shape.hpp"
#include "ptx/num/warp_dot.hpp"

namespace kiln::ir {
struct Operation;
}

namespace kiln::sim {

struct Grid;

/// What an mma, mma.sp, wmma.mma or wgmma.mma_async says in its text. Bits of b1 matrices count 32 at a time.
struct WarpMma {
  isa::MatrixShape shape{};
  num::WarpDotSpec spec{};
  bool sparse = false;
  bool ordered = false;                           // sp::ordered_metadata
  int container = 16;                             // bits that a stored element of A or B takes
  int selector = 0;                               // sparse: which lanes have the metadata
  bool transpose_a = false, transpose_b = false;  // wgmma: MN-major in shared memory
  std::array<std::uint16_t, 8> operands{};        // where each operand's slots begin
  enum Operand : std::uint8_t { d, a, b, c, metadata, sfa, sfb, end };

  /// Stored elements along K of a row of A, and elements of a column of B.
  int stored_k() const { return elements_k() / (sparse ? 2 : 1); }
  int elements_k() const { return spec.bits == num::BitProduct::none ? shape.k : shape.k / 32; }
  /// Elements of a register of `register_bits`.
  int per_register(int register_bits = 32) const { return register_bits / container; }
};

/// Gathered operands: rows with K contiguous, one element per word. D holds C on entry.
struct WarpProduct {
  int m = 0, n = 0;
  std::vector<std::uint32_t> a{}, b{}, d{};
  std::vector<std::uint8_t> columns{};    // sparse: the column of B that each stored element of A meets
  std::vector<std::uint32_t> metadata{};  // and what says so, a row of A after the other
  std::vector<std::uint8_t> scale_a{}, scale_b{};

  WarpProduct(const WarpMma& mma, int rows);
  std::uint32_t& d_at(int row, int column) { return d[std::size_t(row * n + column)]; }
};

/// The element that a container's bits hold: e2m1 in a byte lies in the middle of it. PTX ISA "Packing format used for
/// .e2m1".
std::uint32_t contained(const WarpMma& mma, isa::ScalarType type, std::uint32_t bits);

/// Fills `columns` and `metadata` out of the metadata that the 32 lanes hold; metadata without a meaning is not
/// modelled.
void select_columns(const WarpMma& mma, const std::uint32_t* lanes, WarpProduct& p);

/// D = A * B + D, bit for bit as the target's hardware does it.
void multiply(Grid& grid, const WarpMma& mma, WarpProduct& p);

/// What the modifiers of a matrix instruction say; Gap for forms without a model. Operand places are the caller's.
WarpMma describe_mma(const ir::Operation& op, int sm);

}  // namespace kiln::sim

// A matrix instruction of a warp, or one warp's share of a wgmma: its modifiers and operands, resolved once.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ptx/isa/matrix_shape.hpp"
#include "ptx/num/warp_dot.hpp"

namespace kiln::sim {

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
  /// Where in gathered rows of A, columns of B and rows of D each element of the registers lies: register after
  /// register, in each lane after lane, in each element after element.
  std::vector<std::uint16_t> a_places{}, b_places{}, d_places{};

  /// Stored elements along K of a row of A, and elements of a column of B.
  int stored_k() const { return elements_k() / (sparse ? 2 : 1); }
  int elements_k() const { return spec.bits == num::BitProduct::none ? shape.k : shape.k / 32; }
  /// Elements of a register of `register_bits`.
  int per_register(int register_bits = 32) const { return register_bits / container; }
};

}  // namespace kiln::sim

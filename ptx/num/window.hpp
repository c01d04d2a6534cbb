// The tensor core's arithmetic: one element of D from a row of A, a column of B, the old D and their scales.
//
// No floating-point adder works like this. All products and C are cut, each on its own and toward zero, to a grid 25
// bits below the largest *encoded* exponent among them; the cut terms are summed exactly; the sum is rounded once to D
// (f32: toward zero, f16: nearest even). So the order of k is irrelevant and small terms vanish. docs/numerics.md has
// the rules, what was measured on a B200 and what has not been measured. The fast kernel must agree with this
// reference.
#pragma once

#include <cstdint>
#include <span>

#include "ptx/isa/tcgen05.hpp"
#include "ptx/num/format.hpp"

namespace kiln::num {

using isa::MmaKind;

/// The kind whose arithmetic a kind has: `none` that of f16.
constexpr MmaKind mma_kind(MmaKind kind) { return kind == MmaKind::none ? MmaKind::f16 : kind; }

/// Bits between the largest encoded exponent and the grid that terms are cut to; 25 on H100 and B200.
inline constexpr int blackwell_window = 25;

/// What fixes the arithmetic of one instruction; M, N, the CTA group and the layouts do not change an element's value.
struct DotSpec {
  MmaKind kind = MmaKind::f16;
  ScalarType a = ScalarType::bf16;
  ScalarType b = ScalarType::bf16;
  ScalarType d = ScalarType::f32;       // f32, f16, or s32 for i8; C has the same type
  ScalarType scale = ScalarType::none;  // ue8m0 or ue4m3 for the block-scaled kinds
  int scale_vector = 0;                 // 1, 2 or 4 scales for each row of A and column of B; 3 or 6 for K = 96
  bool sparse = false;                  // A holds only the selected half of k
  bool k96 = false;                     // mxf4 and mxf4nvf4: K of 96 (sm_103a)
  bool saturate = false;                // i8: clamp the sum once, at the end, instead of wrapping
  bool negate_a = false;
  bool negate_b = false;
  bool read_c = true;             // enable-input-d; false takes C as +0 without reading it
  int scale_input_d = 0;          // C enters as C * 2^-scale_input_d
  int window = blackwell_window;  // 24 on sm_80 and sm_89, 13 for fp8 on sm_89 and for fp8 wgmma on sm_90
  int cut_d_bits = 0;             // low fraction bits missing in an f32 D; 10 where the window is 13
};

/// Side operands of one element: the scale bytes of its A row and B column, and the sparsity metadata of its A row.
struct DotSides {
  std::span<const std::uint8_t> scale_a = {};
  std::span<const std::uint8_t> scale_b = {};
  std::span<const std::uint32_t> metadata = {};
};

/// Elements of a row of A that one instruction reads: its K, half of it if A is sparse. K = 96 has not been measured:
/// six groups of the same datapath are an extrapolation.
constexpr int stored_k(const DotSpec& spec) { return isa::mma_k(spec.kind, false, spec.k96); }

/// Logical column of B that stored element `slot` of a sparse A row meets; metadata holds 4-bit selectors, low nibble
/// first.
int sparse_column(MmaKind kind, int slot, std::span<const std::uint32_t> metadata);

/// One D element as its raw word (f16 and s32 too, upper bits zero for f16). `a` holds one element per stored k in the
/// low bits of each word, `b` one per logical k; `c` is a word of D's type. Sparse: b is twice as long as a.
std::uint32_t dot(const DotSpec& spec, std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                  std::uint32_t c, const DotSides& sides = {});

}  // namespace kiln::num

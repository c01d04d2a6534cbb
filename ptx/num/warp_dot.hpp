// One element of D of the matrix instructions of warps and warpgroups: mma.sync, wmma, wgmma.
//
// PTX does not define their arithmetic, and architectures differ: how wide the window is, into how many windows the
// instruction's K is split, and whether fp8 has hardware at all (sm_90 and sm_100 convert it and multiply as f16).
// docs/numerics.md says which of it is measured. Element i of A meets element i of B: the caller has expanded a
// sparse A.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ptx/num/window.hpp"

namespace kiln::num {

/// The unit that multiplies: the tensor core of one warp, or that of a warpgroup (sm_90a).
enum class WarpUnit : std::uint8_t { mma, wgmma };

/// What a b1 product is: the bits that differ, or that are set in both.
enum class BitProduct : std::uint8_t { none, xor_popc, and_popc };

/// What fixes the value of one element. Types as the instruction names them; C has the type of D.
struct WarpDotSpec {
  int sm = 80;  // of `.target sm_80`
  WarpUnit unit = WarpUnit::mma;
  MmaKind kind = MmaKind::f16;  // block-scaled kinds and f8f6f4 as written; else the kind that the types have
  ScalarType a = ScalarType::f16;
  ScalarType b = ScalarType::f16;
  ScalarType d = ScalarType::f32;
  ScalarType scale = ScalarType::none;  // block-scaled kinds: ue8m0 or ue4m3
  int scale_vector = 0;                 // scales for each row of A and column of B
  BitProduct bits = BitProduct::none;   // b1
  bool saturate = false;                // integers: .satfinite
  bool negate_a = false, negate_b = false;
  bool read_c = true;  // wgmma: scale-d
};

/// Width of the window of warp-level f16, bf16 and tf32 instructions.
int warp_window(int sm);

/// Products that one window takes: an instruction with more of them is a chain of windows, each rounded to D.
int window_length(const WarpDotSpec& spec);

/// True where an fp8 mma.sync becomes two f16 instructions and an addition (sm_90 and sm_100).
bool is_emulated(const WarpDotSpec& spec);
/// Which of the two takes element `k`: of the four in a 32-bit register the lower two go to one, the upper two to the
/// other.
constexpr std::size_t emulated_half(std::size_t k) { return k % 4 / 2; }
/// C and the sum that the two have left, added outside of the tensor core.
std::uint32_t emulated_sum(const WarpDotSpec& spec, std::uint32_t sum, std::uint32_t c);

/// One window over everything, as a DotSpec: what `GemmKernel` can take where window_length() covers the instruction.
DotSpec window_spec(const WarpDotSpec& spec);

/// One D element as its raw word; f16 in the low half. `a` and `b` hold one element per word in its low bits, as long
/// as each other. f64 has `warp_dot_f64`.
std::uint32_t warp_dot(const WarpDotSpec& spec, std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                       std::uint32_t c, const DotSides& scales = {});

/// The same for f64: fused multiply-adds in the order of k, each rounded to nearest even.
double warp_dot_f64(std::span<const double> a, std::span<const double> b, double c);

}  // namespace kiln::num

#include "ptx/num/warp_dot.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace kiln::num {
namespace {

using Words = std::span<const std::uint32_t>;

constexpr std::size_t max_pairs = 64;
constexpr int fp8_window = 13, fp8_cut_bits = 10;
constexpr int ada = 89, hopper = 90, consumer_blackwell = 120;

bool is_fp8(ScalarType t) { return t == ScalarType::e4m3 || t == ScalarType::e5m2; }
bool is_integer(const WarpDotSpec& s) { return s.d == ScalarType::s32; }

// sm_89 has fp8 in hardware with a narrow accumulator, and so has sm_90, but for warpgroups alone.
bool is_narrow_fp8(const WarpDotSpec& s) { return is_fp8(s.a) && (s.unit == WarpUnit::wgmma || s.sm == ada); }

// s4 and s8 are sign-extended out of the low bits of their words.
std::int64_t integer(ScalarType type, std::uint32_t word) {
  const int bits = isa::bits(type);
  const std::uint32_t low = word & ((1u << bits) - 1);
  return isa::is_signed(type) && low >> (bits - 1) ? std::int64_t{low} - (std::int64_t{1} << bits) : std::int64_t{low};
}

std::int64_t product(const WarpDotSpec& s, std::uint32_t a, std::uint32_t b) {
  switch (s.bits) {
    case BitProduct::xor_popc: return std::popcount(a ^ b);
    case BitProduct::and_popc: return std::popcount(a & b);
    case BitProduct::none: break;
  }
  return integer(s.a, a) * integer(s.b, b);
}

std::uint32_t integer_dot(const WarpDotSpec& s, Words a, Words b, std::uint32_t c) {
  std::int64_t n = s.read_c ? std::int32_t(c) : 0;
  for (std::size_t i = 0; i < a.size(); ++i) n += product(s, a[i], b[i]);
  if (s.saturate)
    n = std::clamp<std::int64_t>(n, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max());
  return std::uint32_t(n);
}

// fp8 through f16.
std::uint32_t emulated_dot(const WarpDotSpec& s, Words a, Words b, std::uint32_t c) {
  const DotSpec spec = window_spec(s);
  std::uint32_t sum = 0;
  for (std::size_t half = 0; half < 2; ++half) {
    std::array<std::uint32_t, max_pairs> x, y;
    std::size_t n = 0;
    for (std::size_t k = 0; k < a.size(); ++k)
      if (emulated_half(k) == half) x[n] = a[k], y[n] = b[k], ++n;
    sum = dot(spec, Words(x).first(n), Words(y).first(n), sum);
  }
  return emulated_sum(s, sum, c);
}

}  // namespace

int warp_window(int sm) { return sm >= hopper ? 25 : 24; }

int window_length(const WarpDotSpec& s) {
  const int whole = int(max_pairs);
  if (is_integer(s) || s.unit == WarpUnit::wgmma || s.sm >= hopper) return whole;
  if (is_fp8(s.a)) return 16;
  return s.a == ScalarType::tf32 ? 4 : 8;
}

bool is_emulated(const WarpDotSpec& s) {
  return is_fp8(s.a) && s.unit == WarpUnit::mma && s.sm >= hopper && s.sm < consumer_blackwell;
}

// add.rn, with the NaN that the hardware's adders give.
std::uint32_t emulated_sum(const WarpDotSpec& s, std::uint32_t sum, std::uint32_t c) {
  if (s.d == ScalarType::f16) return std::uint32_t(encode(s.d, to_double(s.d, sum) + to_double(s.d, c)));
  const float single = std::bit_cast<float>(sum) + std::bit_cast<float>(c);
  return std::isnan(single) ? std::uint32_t(canonical_nan(s.d)) : std::bit_cast<std::uint32_t>(single);
}

DotSpec window_spec(const WarpDotSpec& s) {
  DotSpec spec;
  spec.kind = s.kind;
  spec.a = s.a, spec.b = s.b, spec.d = s.d;
  spec.scale = s.scale;
  spec.scale_vector = s.scale_vector;
  spec.saturate = s.saturate;
  spec.negate_a = s.negate_a, spec.negate_b = s.negate_b;
  spec.read_c = s.read_c;
  const bool narrow = is_narrow_fp8(s);
  spec.window = narrow ? fp8_window : warp_window(s.sm);
  spec.cut_d_bits = narrow && s.d == ScalarType::f32 ? fp8_cut_bits : 0;
  return spec;
}

std::uint32_t warp_dot(const WarpDotSpec& s, Words a, Words b, std::uint32_t c, const DotSides& scales) {
  if (is_integer(s)) return integer_dot(s, a, b, c);
  if (is_emulated(s)) return emulated_dot(s, a, b, c);
  DotSpec spec = window_spec(s);
  const auto length = std::size_t(window_length(s));
  for (std::size_t first = 0; first < a.size(); first += length) {
    const std::size_t n = std::min(length, a.size() - first);
    c = dot(spec, a.subspan(first, n), b.subspan(first, n), c, scales);
    spec.read_c = true;
  }
  return c;
}

double warp_dot_f64(std::span<const double> a, std::span<const double> b, double c) {
  for (std::size_t i = 0; i < a.size(); ++i) c = std::fma(a[i], b[i], c);
  return c;
}

}  // namespace kiln::num

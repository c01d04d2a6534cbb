#include "ptx/num/window.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <limits>

namespace kiln::num {
namespace {

constexpr int max_k = 128;
constexpr int no_exponent = std::numeric_limits<int>::min() / 2;

// A decoded operand without default values, since most of an array of 128 stays unused.
struct Element {
  std::int32_t m;
  std::int16_t lsb, e;
  NumberClass kind;
  bool negative;
};

// The pairs that meet, in stored order, and the scales of their blocks.
struct Pairs {
  int k = 0;
  Element a[max_k], b[max_k];
  int block = max_k;  // stored k per scale
  Element scale_a[8], scale_b[8];
};

struct Term {
  std::int64_t m;
  int lsb;
  int e;
};

// Sign-magnitude truncation of m * 2^lsb to whole units of 2^q; not an arithmetic shift, which would floor.
std::int64_t chop(std::int64_t m, int lsb, int q) {
  if (lsb >= q) return m << std::min(lsb - q, 62);
  const int right = std::min(q - lsb, 63);
  return m < 0 ? -(-m >> right) : m >> right;
}

std::uint32_t infinity_word(ScalarType d, bool negative) {
  if (d == ScalarType::f16) return negative ? 0xFC00 : 0x7C00;
  return negative ? 0xFF800000 : 0x7F800000;
}

// n * 2^q rounded once to D. A result of zero is +0 even if the sum was negative, and f32 truncates yet overflows to
// infinity.
std::uint32_t round_sum(const DotSpec& spec, std::int64_t n, int q) {
  if (n == 0) return 0;
  const auto magnitude = std::uint64_t(n < 0 ? -n : n);
  const bool half = spec.d == ScalarType::f16;
  if (!half && int(std::bit_width(magnitude)) - 1 + q > 127) return infinity_word(spec.d, n < 0);
  const auto rounding = half ? Rounding::rn : Rounding::rz;
  auto word = std::uint32_t(encode_exact(spec.d, n < 0, magnitude, q, rounding, false));
  word &= ~((1u << spec.cut_d_bits) - 1);
  const std::uint32_t magnitude_bits = half ? 0x7FFF : 0x7FFFFFFF;
  return (word & magnitude_bits) == 0 ? 0 : word;
}

Element element(ScalarType type, std::uint32_t word) {
  const Number n = decode(type, word);
  return {std::int32_t(n.m), std::int16_t(n.lsb), std::int16_t(n.e), n.kind, n.negative};
}

// Every word of the formats of eight bits and fewer.
struct Table {
  Element of[256];
  explicit Table(ScalarType type) {
    for (std::uint32_t word = 0; word < 256; ++word) of[word] = element(type, word);
  }
};

const Table* small_table(ScalarType type) {
  static const Table e4m3(ScalarType::e4m3), e5m2(ScalarType::e5m2), e3m2(ScalarType::e3m2), e2m3(ScalarType::e2m3),
      e2m1(ScalarType::e2m1), ue8m0(ScalarType::ue8m0), ue4m3(ScalarType::ue4m3);
  switch (type) {
    case ScalarType::e4m3: return &e4m3;
    case ScalarType::e5m2: return &e5m2;
    case ScalarType::e3m2: return &e3m2;
    case ScalarType::e2m3: return &e2m3;
    case ScalarType::e2m1: return &e2m1;
    case ScalarType::ue8m0: return &ue8m0;
    case ScalarType::ue4m3: return &ue4m3;
    default: return nullptr;
  }
}

// Field by field into place: a copy that is patched afterwards stalls on its own bytes.
inline void decode_operand(const Table* table, ScalarType type, std::uint32_t word, bool negate, Element& out) {
  const Element n = table ? table->of[word & 0xFF] : element(type, word);
  out.m = negate ? -n.m : n.m;
  out.lsb = n.lsb;
  out.e = n.e;
  out.kind = n.kind;
  out.negative = n.negative != negate;
}

Number decode_c(const DotSpec& spec, std::uint32_t word) {
  Number c = spec.read_c ? decode(spec.d, word) : Number{};
  c.lsb -= spec.scale_input_d;
  c.e -= spec.scale_input_d;
  return c;
}

Pairs gather(const DotSpec& spec, std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
             const DotSides& sides) {
  assert(a.size() <= max_k && b.size() == a.size() * (spec.sparse ? 2 : 1));
  Pairs p;
  p.k = int(a.size());
  const Table *a_table = small_table(spec.a), *b_table = small_table(spec.b), *scales = small_table(spec.scale);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const int slot = int(i);
    const auto column = std::size_t(spec.sparse ? sparse_column(spec.kind, slot, sides.metadata) : slot);
    decode_operand(a_table, spec.a, a[i], spec.negate_a, p.a[i]);
    decode_operand(b_table, spec.b, b[column], spec.negate_b, p.b[i]);
  }
  if (spec.scale_vector == 0) return p;
  p.block = stored_k(spec) / spec.scale_vector;
  for (int g = 0; g * p.block < p.k; ++g) {
    const auto i = std::size_t(g);
    p.scale_a[i] = scales->of[sides.scale_a[i]];
    p.scale_b[i] = scales->of[sides.scale_b[i]];
  }
  return p;
}

bool any_nan_scale(const DotSpec& spec, const Pairs& p) {
  if (spec.scale_vector == 0) return false;
  for (std::size_t g = 0; int(g) * p.block < p.k; ++g)
    if (p.scale_a[g].kind == NumberClass::nan || p.scale_b[g].kind == NumberClass::nan) return true;
  return false;
}

// Which special result the operands force, if any; decided before any arithmetic, so the order of k cannot matter.
struct Forced {
  bool nan = false, plus = false, minus = false;
  void infinite(bool negative) { (negative ? minus : plus) = true; }
};

Forced find_specials(const DotSpec& spec, const Pairs& p, const Number& c) {
  Forced found;
  found.nan = c.kind == NumberClass::nan || any_nan_scale(spec, p);
  if (c.kind == NumberClass::infinite) found.infinite(c.negative);
  for (std::size_t i = 0; i < std::size_t(p.k); ++i) {
    const Element &a = p.a[i], &b = p.b[i];
    const bool a_inf = a.kind == NumberClass::infinite, b_inf = b.kind == NumberClass::infinite;
    if (a.kind == NumberClass::nan || b.kind == NumberClass::nan) found.nan = true;
    if (!a_inf && !b_inf) continue;
    if ((!a_inf && a.m == 0) || (!b_inf && b.m == 0)) found.nan = true;  // infinity times zero
    found.infinite(a.negative != b.negative);
  }
  return found;
}

// kinds tf32, f16, f8f6f4, mxf8f6f4: one window over all products and C.
std::uint32_t window_dot(const DotSpec& spec, const Pairs& p, const Number& c) {
  Term terms[max_k + 1];
  std::size_t count = 0;
  const bool scaled = spec.scale_vector != 0;
  const Element unit{1, 0, 0, NumberClass::finite, false};
  for (std::size_t i = 0; i < std::size_t(p.k); ++i) {
    const Element &a = p.a[i], &b = p.b[i];
    const Element& sa = scaled ? p.scale_a[i / std::size_t(p.block)] : unit;
    const Element& sb = scaled ? p.scale_b[i / std::size_t(p.block)] : unit;
    const std::int64_t m = std::int64_t{a.m} * b.m * sa.m * sb.m;
    if (m != 0) terms[count++] = {m, a.lsb + b.lsb + sa.lsb + sb.lsb, a.e + b.e + sa.e + sb.e};
  }
  if (c.m != 0) terms[count++] = {c.m, c.lsb, c.e};
  if (count == 0) return 0;
  // The floor, seven below the least normal exponent of D, was measured for tf32 and bf16 with an f32 D, and by others
  // for f16 D at warp level; for mxf8f6f4 it is an assumption.
  int top = spec.d == ScalarType::f16 ? -21 : -133;
  for (std::size_t i = 0; i < count; ++i) top = std::max(top, terms[i].e);
  const int q = top - spec.window;
  std::int64_t n = 0;
  for (std::size_t i = 0; i < count; ++i) n += chop(terms[i].m, terms[i].lsb, q);
  return round_sum(spec, n, q);
}

// kinds mxf4 and mxf4nvf4: each group of 16 stored k is summed exactly, and the window (35 bits) is anchored to the
// scales' exponents alone. For ue4m3 the published vectors allow groups of 4 and 8 too; 16 is the ue8m0 datapath's
// size. Groups without a live product do not count for the anchor; no published data decides that.
std::uint32_t fp4_dot(const DotSpec& spec, const Pairs& p, const Number& c) {
  constexpr std::size_t group = 16;
  constexpr int fp4_window = 35, fp4_floor = -174;
  Term sums[max_k / group];
  std::size_t count = 0;
  int top = c.m != 0 ? c.e : no_exponent;
  for (std::size_t first = 0; first < std::size_t(p.k); first += group) {
    const std::size_t block = first / std::size_t(p.block);
    const Element &sa = p.scale_a[block], &sb = p.scale_b[block];
    const std::int64_t scale = std::int64_t{sa.m} * sb.m;
    std::int64_t quarters = 0;
    bool live = false;
    for (std::size_t i = first; i < std::min(first + group, std::size_t(p.k)); ++i) {
      const std::int64_t m = std::int64_t{p.a[i].m} * p.b[i].m;
      quarters += m << (p.a[i].lsb + p.b[i].lsb + 2);  // e2m1 lsb is -1, 0 or 1
      live = live || m * scale != 0;
    }
    if (!live) continue;
    top = std::max(top, sa.e + sb.e);
    sums[count++] = {quarters * scale, sa.lsb + sb.lsb - 2, 0};
  }
  if (top == no_exponent) return 0;
  const int q = std::max(top - fp4_window, fp4_floor);
  std::int64_t n = chop(c.m, c.lsb, q);
  for (std::size_t g = 0; g < count; ++g) n += chop(sums[g].m, sums[g].lsb, q);
  return round_sum(spec, n, q);
}

std::int64_t integer_operand(ScalarType type, std::uint32_t word) {
  return type == ScalarType::s8 ? std::int64_t{std::int8_t(word)} : std::int64_t{word & 0xFF};
}

std::uint32_t integer_dot(const DotSpec& spec, std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                          std::uint32_t c, const DotSides& sides) {
  std::int64_t n = spec.read_c ? std::int32_t(c) : 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const int slot = int(i);
    const auto column = std::size_t(spec.sparse ? sparse_column(spec.kind, slot, sides.metadata) : slot);
    n += integer_operand(spec.a, a[i]) * integer_operand(spec.b, b[column]);
  }
  if (spec.saturate)
    n = std::clamp<std::int64_t>(n, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max());
  return std::uint32_t(n);
}

}  // namespace

int sparse_column(MmaKind kind, int slot, std::span<const std::uint32_t> metadata) {
  const bool fp4 = kind == MmaKind::mxf4 || kind == MmaKind::mxf4nvf4;
  const int kept = kind == MmaKind::tf32 ? 1 : fp4 ? 4 : 2;  // stored elements per chunk of twice as many columns
  const int chunk = slot / kept, within = slot % kept;
  const std::uint32_t selector = metadata[std::size_t(chunk / 8)] >> (4 * (chunk % 8));
  const int low = int(selector & 3), high = int((selector >> 2) & 3);
  if (kind == MmaKind::tf32) return 2 * chunk + high / 2;  // 0x4 keeps the first of two, 0xE the second
  if (!fp4) return 4 * chunk + (within == 0 ? low : high);
  return 8 * chunk + 2 * (within < 2 ? low : high) + within % 2;
}

std::uint32_t dot(const DotSpec& spec, std::span<const std::uint32_t> a, std::span<const std::uint32_t> b,
                  std::uint32_t c, const DotSides& sides) {
  if (spec.kind == MmaKind::i8) return integer_dot(spec, a, b, c, sides);
  const Pairs pairs = gather(spec, a, b, sides);
  const Number old = decode_c(spec, c);
  const Forced found = find_specials(spec, pairs, old);
  if (found.nan || (found.plus && found.minus)) return std::uint32_t(canonical_nan(spec.d));
  if (found.plus || found.minus) return infinity_word(spec.d, found.minus);
  const bool fp4 = spec.kind == MmaKind::mxf4 || spec.kind == MmaKind::mxf4nvf4;
  return fp4 ? fp4_dot(spec, pairs, old) : window_dot(spec, pairs, old);
}

}  // namespace kiln::num

#include "ptx/flow/numbers.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "ptx/flow/bits.hpp"

namespace kiln::flow {
namespace {

using isa::HalfSelect;
using isa::Opcode;
using isa::ScalarType;
using Result = std::optional<std::uint64_t>;
using Wide = __int128;

constexpr int word_bits = 32;

int type_width(ScalarType t) { return std::clamp(isa::bits(t), 1, 64); }

// The number that a word of a type is.
Wide value_of(std::uint64_t v, ScalarType t) {
  return isa::is_signed(t) ? Wide(as_signed(v, type_width(t))) : Wide(v & low_mask(type_width(t)));
}

// The low bits, filled up by the sign of a signed type.
std::uint64_t filled(Wide v, ScalarType t) {
  const auto word = std::uint64_t(v);
  return isa::is_signed(t) ? std::uint64_t(as_signed(word, type_width(t))) : word & low_mask(type_width(t));
}

std::uint64_t saturated(Wide v, ScalarType t) {
  const int bits = type_width(t) - isa::is_signed(t);
  const Wide most = Wide(low_mask(bits)), least = isa::is_signed(t) ? -most - 1 : 0;
  return filled(std::clamp(v, least, most), t);
}

// Two products of 64-bit words: the upper half needs more than 128 bits only for unsigned ones.
std::uint64_t high_half(std::uint64_t a, std::uint64_t b, ScalarType t) {
  const int width = type_width(t);
  if (isa::is_signed(t)) return std::uint64_t((value_of(a, t) * value_of(b, t)) >> width);
  return std::uint64_t(
      static_cast<unsigned __int128>(value_of(a, t)) * static_cast<unsigned __int128>(value_of(b, t)) >> width);
}

std::uint64_t product(const isa::Modifiers& m, std::uint64_t a, std::uint64_t b) {
  const ScalarType t = m.type();
  return m.half == HalfSelect::hi ? high_half(a, b, t) : std::uint64_t(value_of(a, t)) * std::uint64_t(value_of(b, t));
}

// mul24 and mad24: the low or the upper 32 bits of a product of 48.
std::uint64_t product24(const isa::Modifiers& m, std::uint64_t a, std::uint64_t b) {
  constexpr int bits = 24;
  const bool is_signed = isa::is_signed(m.type());
  const auto part = [&](std::uint64_t v) { return is_signed ? as_signed(v, bits) : std::int64_t(v & low_mask(bits)); };
  return std::uint64_t(part(a) * part(b) >> (m.half == HalfSelect::hi ? 16 : 0));
}

Result sum(const isa::Modifiers& m, bool sat, Wide a, Wide b) {
  if (!sat) return std::uint64_t(a) + std::uint64_t(b);
  return m.type() == ScalarType::s32 ? Result(saturated(a + b, m.type())) : std::nullopt;
}

Result quotient(Opcode op, ScalarType t, std::uint64_t a, std::uint64_t b) {
  const Wide x = value_of(a, t), y = value_of(b, t);
  if (y == 0) return std::nullopt;
  return std::uint64_t(op == Opcode::div ? x / y : x % y);
}

std::uint64_t shifted(Opcode op, ScalarType t, std::uint64_t a, std::uint64_t n) {
  const int width = type_width(t), steps = int(std::min<std::uint64_t>(n & low_mask(word_bits), std::uint64_t(width)));
  if (op == Opcode::shl) return steps >= 64 ? 0 : a << steps;
  return std::uint64_t(value_of(a, t) >> steps);
}

// shf: the upper or lower word of a 64-bit shift of {b, a}.
Result funnel(const isa::Modifiers& m, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  if (m.shift_mode == isa::ShiftMode::none) return std::nullopt;
  const std::uint64_t n = m.shift_mode == isa::ShiftMode::wrap ? c & 31 : std::min<std::uint64_t>(c, word_bits);
  const std::uint64_t both = b << word_bits | a;
  return m.direction == isa::Direction::left ? both << n >> word_bits : both >> n;
}

// A byte of a position or a length counts in instructions of 32 bits.
int field(std::uint64_t v, int width) { return int(std::min<std::uint64_t>(width == word_bits ? v & 0xFF : v, 0xFF)); }

std::uint64_t extract(ScalarType t, std::uint64_t a, std::uint64_t at, std::uint64_t count) {
  const int width = type_width(t), from = field(at, width), bits = field(count, width);
  if (bits == 0) return 0;
  // The sign is the highest bit taken; beyond the word's end that is the word's own.
  const Wide taken = value_of(a, t) >> std::min(from, width);
  return bits >= 64 ? std::uint64_t(taken)
                    : filled(isa::is_signed(t) ? Wide(as_signed(std::uint64_t(taken), bits))
                                               : Wide(std::uint64_t(taken) & low_mask(bits)),
                             t);
}

std::uint64_t insert(ScalarType t, std::uint64_t from, std::uint64_t into, std::uint64_t at, std::uint64_t count) {
  const int width = type_width(t), place = field(at, width), bits = field(count, width);
  if (place >= width) return into;
  const std::uint64_t mask = low_mask(bits) << place;
  return (into & ~mask) | (from << place & mask);
}

std::uint64_t find_leading(const isa::Modifiers& m, std::uint64_t a) {
  const int width = type_width(m.type());
  std::uint64_t v = a;
  if (isa::is_signed(m.type()) && as_signed(a, width) < 0) v = ~a;
  v &= low_mask(width);
  if (v == 0) return low_mask(word_bits);
  const int highest = 63 - std::countl_zero(v);
  return std::uint64_t(m.shiftamt ? width - 1 - highest : highest);
}

std::uint64_t reversed(std::uint64_t a, int width) {
  std::uint64_t out = 0;
  for (int k = 0; k < width; ++k) out = out << 1 | (a >> k & 1);
  return out;
}

// The n-th set bit from a base on upwards, or downwards for a negative n; for 0 the base itself if it is set.
std::uint64_t nth_set(std::uint64_t mask, std::uint64_t base, std::uint64_t offset) {
  const std::int64_t n = as_signed(offset, word_bits);
  if (n == 0) return base < word_bits && (mask >> base & 1) ? base : low_mask(word_bits);
  std::int64_t left = n < 0 ? -n : n;
  for (auto at = std::int64_t(base); at >= 0 && at < word_bits; at += n < 0 ? -1 : 1)
    if ((mask >> at & 1) && --left == 0) return std::uint64_t(at);
  return low_mask(word_bits);
}

std::uint64_t ones(const isa::Modifiers& m, std::uint64_t start, std::uint64_t count) {
  if (m.shift_mode == isa::ShiftMode::wrap) start &= 31, count &= 31;
  return start >= word_bits ? 0 : low_mask(int(std::min<std::uint64_t>(count, word_bits))) << start;
}

std::uint64_t extended(const isa::Modifiers& m, std::uint64_t a, std::uint64_t count) {
  if (m.shift_mode == isa::ShiftMode::wrap) count &= 31;
  if (count == 0) return 0;
  const int bits = int(std::min<std::uint64_t>(count, word_bits));
  return isa::is_signed(m.type()) ? std::uint64_t(as_signed(a, bits)) : a & low_mask(bits);
}

// The selectors of prmt's modes, four nibbles for each value of the low two bits of the third operand.
std::uint64_t selectors(isa::PrmtMode mode, std::uint64_t control) {
  static constexpr std::uint32_t table[6][4] = {{0x3210, 0x4321, 0x5432, 0x6543}, {0x5670, 0x6701, 0x7012, 0x0123},
                                                {0x0000, 0x1111, 0x2222, 0x3333}, {0x3210, 0x3211, 0x3222, 0x3333},
                                                {0x0000, 0x1110, 0x2210, 0x3210}, {0x1010, 0x3232, 0x1010, 0x3232}};
  return mode == isa::PrmtMode::none ? control : table[int(mode) - 1][control & 3];
}

std::uint64_t permuted(const isa::Modifiers& m, std::uint64_t a, std::uint64_t b, std::uint64_t control) {
  const std::uint64_t both = b << word_bits | a, pick = selectors(m.prmt_mode, control);
  std::uint64_t out = 0;
  for (int k = 0; k < 4; ++k) {
    const std::uint64_t nibble = pick >> (4 * k), byte = both >> (8 * (nibble & 7)) & 0xFF;
    out |= (nibble & 8 ? (byte & 0x80 ? 0xFF : 0) : byte) << (8 * k);
  }
  return out;
}

// dp4a and dp2a: products of bytes, or of the halves of a with bytes of b.
std::uint64_t dot(const ir::Operation& op, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  const isa::Modifiers& m = op.modifiers;
  const int each = op.opcode == Opcode::dp4a ? 8 : 16;
  const auto part = [](std::uint64_t v, int k, int bits, ScalarType t) {
    const std::uint64_t piece = v >> (bits * k) & low_mask(bits);
    return isa::is_signed(t) ? as_signed(piece, bits) : std::int64_t(piece);
  };
  auto out = std::int64_t(c);
  for (int k = 0; k < word_bits / each; ++k) {
    const int byte = each == 16 && m.half == HalfSelect::hi ? k + 2 : k;
    out += part(a, k, each, m.types[0]) * part(b, byte, 8, m.types[1]);
  }
  return std::uint64_t(out);
}

Result converted(const isa::Modifiers& m, std::uint64_t a) {
  if (m.types.count != 2 || !isa::is_integer(m.types[0]) || !isa::is_integer(m.types[1])) return std::nullopt;
  const Wide v = value_of(a, m.types[1]);
  return m.sat ? saturated(v, m.types[0]) : filled(v, m.types[0]);
}

Result decided(const ir::Operation& op, const std::array<std::uint64_t, 4>& in) {
  const isa::Modifiers& m = op.modifiers;
  const auto combined = [&](std::optional<bool> holds) -> std::optional<bool> {
    if (!holds || op.arguments.size() < 4) return holds;
    const bool other = in[2] & 1;
    switch (m.combine) {
      case isa::Combine::and_: return *holds && other;
      case isa::Combine::or_: return *holds || other;
      case isa::Combine::xor_: return *holds != other;
      default: return std::nullopt;
    }
  };
  if (op.opcode == Opcode::setp) {
    const auto holds = combined(compare(m, m.type(), in[0], in[1]));
    return holds ? Result(*holds) : std::nullopt;
  }
  if (m.types.count != 2 || isa::is_floating(m.types[0])) return std::nullopt;
  const auto holds = combined(compare(m, m.types[1], in[0], in[1]));
  return holds ? Result(*holds ? low_mask(type_width(m.types[0])) : 0) : std::nullopt;
}

// The halves of a packed type one by one.
Result of_halves(const ir::Operation& op, ScalarType half, const std::array<std::uint64_t, 4>& in) {
  const auto value = [&](std::uint64_t v, int k) { return value_of(v >> (16 * k), half); };
  std::uint64_t out = 0;
  for (int k = 0; k < 2; ++k) {
    const Wide a = value(in[0], k), b = value(in[1], k);
    Wide r = 0;
    switch (op.opcode) {
      case Opcode::add: r = a + b; break;
      case Opcode::sub: r = a - b; break;
      case Opcode::neg: r = -a; break;
      case Opcode::min: r = std::min(a, b); break;
      case Opcode::max: r = std::max(a, b); break;
      default: return std::nullopt;
    }
    if (op.modifiers.relu) r = std::max<Wide>(r, 0);
    out |= (std::uint64_t(r) & 0xFFFF) << (16 * k);
  }
  return out;
}

Result arithmetic(const ir::Operation& op, const std::array<std::uint64_t, 4>& in) {
  const isa::Modifiers& m = op.modifiers;
  const ScalarType t = m.type();
  if (t == ScalarType::u16x2) return of_halves(op, ScalarType::u16, in);
  if (t == ScalarType::s16x2) return of_halves(op, ScalarType::s16, in);
  if (!isa::is_integer(t)) return std::nullopt;
  const Wide a = value_of(in[0], t), b = value_of(in[1], t), c = value_of(in[2], t);
  const auto least = [&](Wide v) { return std::uint64_t(m.relu ? std::max<Wide>(v, 0) : v); };
  switch (op.opcode) {
    case Opcode::add: return sum(m, m.sat, a, b);
    case Opcode::sub: return sum(m, m.sat, a, -b);
    case Opcode::mul: return product(m, in[0], in[1]);
    case Opcode::mad:
      if (m.sat) return sum(m, true, value_of(product(m, in[0], in[1]), t), c);
      return product(m, in[0], in[1]) + in[2];
    case Opcode::mul24: return product24(m, in[0], in[1]);
    case Opcode::mad24:
      if (m.sat) return sum(m, true, value_of(product24(m, in[0], in[1]), t), c);
      return product24(m, in[0], in[1]) + in[2];
    case Opcode::div:
    case Opcode::rem: return quotient(op.opcode, t, in[0], in[1]);
    case Opcode::abs: return std::uint64_t(a < 0 ? -a : a);
    case Opcode::neg: return std::uint64_t(-a);
    case Opcode::min: return least(std::min(a, b));
    case Opcode::max: return least(std::max(a, b));
    case Opcode::sad: return std::uint64_t((a < b ? b - a : a - b) + c);
    default: return std::nullopt;
  }
}

Result bitwise(const ir::Operation& op, const std::array<std::uint64_t, 4>& in) {
  const isa::Modifiers& m = op.modifiers;
  const int width = type_width(m.type());
  const std::uint64_t a = in[0] & low_mask(width);
  switch (op.opcode) {
    case Opcode::and_: return in[0] & in[1];
    case Opcode::or_: return in[0] | in[1];
    case Opcode::xor_: return in[0] ^ in[1];
    case Opcode::not_: return ~in[0];
    case Opcode::cnot: return a == 0;
    case Opcode::lop3:
      return lookup(Bits::constant(in[0]), Bits::constant(in[1]), Bits::constant(in[2]), unsigned(in[3])).one;
    case Opcode::shl:
    case Opcode::shr: return shifted(op.opcode, m.type(), in[0], in[1]);
    case Opcode::shf: return funnel(m, in[0], in[1], in[2]);
    case Opcode::bfe: return extract(m.type(), in[0], in[1], in[2]);
    case Opcode::bfi: return insert(m.type(), in[0], in[1], in[2], in[3]);
    case Opcode::bfind: return find_leading(m, in[0]);
    case Opcode::brev: return reversed(a, width);
    case Opcode::popc: return std::uint64_t(std::popcount(a));
    case Opcode::clz: return std::uint64_t(std::countl_zero(a) - (64 - width));
    case Opcode::fns: return nth_set(in[0], in[1], in[2]);
    case Opcode::bmsk: return ones(m, in[0], in[1]);
    case Opcode::szext: return extended(m, in[0], in[1]);
    case Opcode::prmt: return permuted(m, in[0], in[1], in[2]);
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<bool> compare(const isa::Modifiers& m, ScalarType t, std::uint64_t x, std::uint64_t y) {
  if (isa::is_floating(t)) return std::nullopt;
  const Wide a = value_of(x, t), b = value_of(y, t);
  if (m.half == HalfSelect::lo) return a < b;
  if (m.half == HalfSelect::hi) return a > b;
  switch (m.compare) {
    case isa::Compare::eq: return a == b;
    case isa::Compare::ne: return a != b;
    case isa::Compare::lt: return a < b;
    case isa::Compare::le:
    case isa::Compare::ls: return a <= b;
    case isa::Compare::gt: return a > b;
    case isa::Compare::ge:
    case isa::Compare::hs: return a >= b;
    default: return std::nullopt;
  }
}

std::array<int, 4> source_widths(const ir::Operation& op) {
  const isa::Modifiers& m = op.modifiers;
  const int width = type_width(m.type());
  switch (op.opcode) {
    case Opcode::shl:
    case Opcode::shr:
    case Opcode::szext: return {width, word_bits, 1, 1};
    case Opcode::bfe: return {width, word_bits, word_bits, 1};
    case Opcode::bfi: return {width, width, word_bits, word_bits};
    case Opcode::lop3: return {width, width, width, 8};
    case Opcode::mad: return {width, width, m.half == HalfSelect::wide ? 2 * width : width, 1};
    case Opcode::cvt: return {m.types.count == 2 ? type_width(m.types[1]) : width, 1, 1, 1};
    case Opcode::selp:
    case Opcode::setp: return {width, width, 1, 1};
    case Opcode::set: return {type_width(m.types[1]), type_width(m.types[1]), 1, 1};
    case Opcode::slct: return {width, width, word_bits, 1};
    case Opcode::dp2a:
    case Opcode::dp4a: return {word_bits, word_bits, word_bits, 1};
    default: return {width, width, width, width};
  }
}

std::optional<std::uint64_t> result_of(const ir::Operation& op, const std::array<std::uint64_t, 4>& sources) {
  const isa::Modifiers& m = op.modifiers;
  if (m.carry || isa::bits(m.type()) > 64 || op.arguments.empty() || op.arguments[0].kind != ir::Argument::Kind::reg)
    return std::nullopt;
  const std::array<int, 4> widths = source_widths(op);
  std::array<std::uint64_t, 4> in{};
  for (std::size_t k = 0; k < in.size(); ++k) in[k] = sources[k] & low_mask(widths[k]);
  switch (op.opcode) {
    case Opcode::mov: return in[0];
    case Opcode::selp: return in[2] ? in[0] : in[1];
    case Opcode::setp:
    case Opcode::set: return decided(op, in);
    case Opcode::slct:
      if (m.types[1] != ScalarType::s32) return std::nullopt;
      return as_signed(in[2], word_bits) >= 0 ? in[0] : in[1];
    case Opcode::cvt: return converted(m, in[0]);
    case Opcode::dp2a:
    case Opcode::dp4a: return dot(op, in[0], in[1], in[2]);
    default: break;
  }
  Result out = arithmetic(op, in);
  if (!out && !isa::is_floating(m.type())) out = bitwise(op, in);
  if (!out) return std::nullopt;
  const bool counts = op.opcode == Opcode::popc || op.opcode == Opcode::clz || op.opcode == Opcode::bfind;
  const int width = type_width(m.type());
  return *out & low_mask(counts ? word_bits : m.half == HalfSelect::wide ? 2 * width : width);
}

}  // namespace kiln::flow

// A 64-bit value of which some bits are known, and arithmetic on such values. Every operation is exact for known
// operands and never claims a bit that some value of the operands would contradict.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>

namespace kiln::flow {

constexpr std::uint64_t low_mask(int width) {
  return width >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
}

/// Bits known to be zero and bits known to be one. A bit in both: no value has been seen yet.
struct Bits {
  std::uint64_t zero = 0;
  std::uint64_t one = 0;

  static constexpr Bits unknown(int width = 64) { return {~low_mask(width), 0}; }
  static constexpr Bits constant(std::uint64_t v) { return {~v, v}; }
  /// The start of an optimistic analysis: joins with anything to that thing.
  static constexpr Bits nothing() { return {~std::uint64_t{0}, ~std::uint64_t{0}}; }

  constexpr bool operator==(const Bits&) const = default;
  constexpr bool is_nothing() const { return (zero & one) != 0; }
  constexpr std::uint64_t known() const { return zero | one; }
  constexpr bool is_constant() const { return known() == ~std::uint64_t{0} && !is_nothing(); }
  /// All bits of `mask` are known.
  constexpr bool knows(std::uint64_t mask) const { return (known() & mask) == mask && !is_nothing(); }
  constexpr std::optional<std::uint64_t> value() const { return is_constant() ? std::optional(one) : std::nullopt; }
  /// How many low bits are known to be zero.
  constexpr int trailing_zeros() const { return std::countr_one(zero); }
  constexpr std::uint64_t smallest() const { return one; }
  constexpr std::uint64_t largest() const { return ~zero; }
};

/// What holds of both.
constexpr Bits join(Bits a, Bits b) { return {a.zero & b.zero, a.one & b.one}; }

/// The low `width` bits; the others become zero.
constexpr Bits truncate(Bits a, int width) { return {a.zero | ~low_mask(width), a.one & low_mask(width)}; }

constexpr Bits sign_extend(Bits a, int width) {
  if (width >= 64) return a;
  const std::uint64_t high = ~low_mask(width), sign = std::uint64_t{1} << (width - 1);
  a = {a.zero & ~high, a.one & ~high};
  if (a.zero & sign) a.zero |= high;
  if (a.one & sign) a.one |= high;
  return a;
}

constexpr Bits operator&(Bits a, Bits b) { return {a.zero | b.zero, a.one & b.one}; }
constexpr Bits operator|(Bits a, Bits b) { return {a.zero & b.zero, a.one | b.one}; }
constexpr Bits operator^(Bits a, Bits b) {
  return {(a.zero & b.zero) | (a.one & b.one), (a.zero & b.one) | (a.one & b.zero)};
}
constexpr Bits operator~(Bits a) { return {a.one, a.zero}; }

/// a + b + carry. A sum bit is known where both operand bits and the carry into it are.
constexpr Bits add(Bits a, Bits b, bool carry = false) {
  const std::uint64_t most = ~a.zero + ~b.zero + carry, least = a.one + b.one + carry;
  const std::uint64_t carry_zero = ~(most ^ ~a.zero ^ ~b.zero), carry_one = least ^ a.one ^ b.one;
  const std::uint64_t known = a.known() & b.known() & (carry_zero | carry_one);
  return {~most & known, least & known};
}
constexpr Bits subtract(Bits a, Bits b) { return add(a, ~b, true); }

constexpr Bits shift_left(Bits a, int n) {
  return n >= 64 ? Bits::constant(0) : Bits{a.zero << n | low_mask(n), a.one << n};
}
constexpr Bits shift_right(Bits a, int n) {
  return n >= 64 ? Bits::constant(0) : Bits{a.zero >> n | ~(~std::uint64_t{0} >> n), a.one >> n};
}

/// A value of which no more is known than that it is at most `most`.
constexpr Bits at_most(std::uint64_t most) { return Bits::unknown(64 - std::countl_zero(most)); }

/// The low 64 bits of a product.
constexpr Bits multiply(Bits a, Bits b) {
  if (a.is_constant() && b.is_constant()) return Bits::constant(a.one * b.one);
  if (b.is_constant() && std::has_single_bit(b.one)) return shift_left(a, std::countr_zero(b.one));
  if (a.is_constant() && std::has_single_bit(a.one)) return shift_left(b, std::countr_zero(a.one));
  Bits out;
  const int zeros = a.trailing_zeros() + b.trailing_zeros();
  out.zero = low_mask(zeros);
  const int width = (64 - std::countl_one(a.zero)) + (64 - std::countl_one(b.zero));
  out.zero |= ~low_mask(width);
  return out;
}

/// Bitwise function of three values by its truth table, as lop3 has it: bit 4a + 2b + c of `table` is the result.
constexpr Bits lookup(Bits a, Bits b, Bits c, unsigned table) {
  std::uint64_t may_one = 0, may_zero = 0;
  for (unsigned row = 0; row < 8; ++row) {
    const std::uint64_t possible =
        ~(row & 4 ? a.zero : a.one) & ~(row & 2 ? b.zero : b.one) & ~(row & 1 ? c.zero : c.one);
    (table >> row & 1 ? may_one : may_zero) |= possible;
  }
  return {~may_one, ~may_zero};
}

}  // namespace kiln::flow

// Numbers as PTX spells them. PTX ISA "Constants".
#pragma once

#include <cstdint>
#include <string_view>

namespace kiln::parse {

/// A constant of one of the three types that PTX computes with before the program runs: .s64, .u64, .f64.
struct Constant {
  enum class Type : std::uint8_t { s64, u64, f64 };
  Type type = Type::s64;
  std::uint64_t bits = 0;  // of the double, for f64

  std::int64_t as_signed() const { return std::int64_t(bits); }
  double as_double() const;
  static Constant of(std::int64_t value) { return {Type::s64, std::uint64_t(value)}; }
  static Constant of(std::uint64_t value) { return {Type::u64, value}; }
  static Constant of(double value);
};

enum class LiteralError : std::uint8_t { none, not_a_number, too_large, float_digits, double_digits, octal_digit };

/// Why a literal cannot be read, as a message; `text` is quoted in it.
std::string_view reason(LiteralError);

/// Reads a decimal, hexadecimal, octal, binary or floating-point literal, 0d... included.
LiteralError read_literal(std::string_view text, Constant& out);

/// True for 0f and eight digits, or for what was meant to be that. Such a literal stands alone, never in an expression.
bool is_single_literal(std::string_view text);
/// The bits that 0fXXXXXXXX spells.
LiteralError read_single(std::string_view text, std::uint32_t& bits);

}  // namespace kiln::parse

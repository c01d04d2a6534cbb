#include "ptx/parse/literal.hpp"

#include <bit>
#include <charconv>

namespace kiln::parse {
namespace {

template <class T, class... Base>
LiteralError whole(std::string_view digits, T& out, Base... base) {
  const char* const end = digits.data() + digits.size();
  const auto [rest, failed] = std::from_chars(digits.data(), end, out, base...);
  if (failed == std::errc::result_out_of_range) return LiteralError::too_large;
  return failed != std::errc{} || rest != end ? LiteralError::not_a_number : LiteralError::none;
}

LiteralError read_double(std::string_view text, Constant& out) {
  double value = 0;
  const LiteralError e = whole(text, value);
  if (e == LiteralError::none) out = Constant::of(value);
  return e;
}

LiteralError read_integer(std::string_view text, int base, Constant& out) {
  const bool is_unsigned = !text.empty() && text.back() == 'U';
  if (is_unsigned) text.remove_suffix(1);
  std::uint64_t value = 0;
  if (const LiteralError e = whole(text, value, base); e != LiteralError::none) return e;
  // A literal that .s64 cannot hold is .u64 without being asked to.
  out = is_unsigned || std::int64_t(value) < 0 ? Constant::of(value) : Constant::of(std::int64_t(value));
  return LiteralError::none;
}

}  // namespace

double Constant::as_double() const { return std::bit_cast<double>(bits); }
Constant Constant::of(double value) { return {Type::f64, std::bit_cast<std::uint64_t>(value)}; }

std::string_view reason(LiteralError e) {
  switch (e) {
    case LiteralError::none: return "";
    case LiteralError::not_a_number: return "a number was expected here";
    case LiteralError::too_large: return "the number does not fit 64 bits";
    case LiteralError::float_digits: return "a number after 0f is eight hexadecimal digits";
    case LiteralError::double_digits: return "a number after 0d is sixteen hexadecimal digits";
    case LiteralError::octal_digit: return "a number that starts with 0 is octal and has the digits 0 to 7";
  }
  return "";
}

LiteralError read_literal(std::string_view text, Constant& out) {
  const char second = text.size() > 1 && text[0] == '0' ? text[1] : '\0';
  if (second == 'x' || second == 'X') return read_integer(text.substr(2), 16, out);
  if (second == 'b' || second == 'B') return read_integer(text.substr(2), 2, out);
  if (second == 'd' || second == 'D') {
    out.type = Constant::Type::f64;
    const bool read = text.size() == 18 && whole(text.substr(2), out.bits, 16) == LiteralError::none;
    return read ? LiteralError::none : LiteralError::double_digits;
  }
  if (text.find_first_of(".eE") != std::string_view::npos) return read_double(text, out);
  if (second == '\0' || second == 'U') return read_integer(text, 10, out);
  const LiteralError e = read_integer(text.substr(1), 8, out);
  return e == LiteralError::not_a_number ? LiteralError::octal_digit : e;
}

bool is_single_literal(std::string_view text) {
  return text.size() > 1 && text[0] == '0' && (text[1] == 'f' || text[1] == 'F');
}

LiteralError read_single(std::string_view text, std::uint32_t& bits) {
  const bool read = text.size() == 10 && whole(text.substr(2), bits, 16) == LiteralError::none;
  return read ? LiteralError::none : LiteralError::float_digits;
}

}  // namespace kiln::parse

#include <doctest/doctest.h>

#include <limits>

#include "tests/unit/parse/text.hpp"

using namespace kiln;
using namespace kiln::test;

namespace {

ir::Operand constant(const std::string& text) {
  const auto p = parse_body("mov.b64 %rd1, " + text + ";");
  INFO(text);
  REQUIRE(p.findings() == std::vector<std::string>{});
  CHECK(p.text(operand(p, 1).at) == text);
  return operand(p, 1);
}

ir::Operand integer(std::int64_t value, bool is_unsigned = false) {
  ir::Operand o = ir::Operand::number(value);
  o.is_unsigned = is_unsigned;
  return o;
}

std::string complaint(const std::string& text) { return parse_body("mov.b64 %rd1, " + text + ";").finding(); }

}  // namespace

TEST_CASE("every spelling of an integer is read") {
  CHECK(constant("0x1F") == integer(31));
  CHECK(constant("0XaB") == integer(0xab));
  CHECK(constant("017") == integer(15));
  CHECK(constant("0b101") == integer(5));
  CHECK(constant("0B11U") == integer(3, true));
  CHECK(constant("5U") == integer(5, true));
  CHECK(constant("-5") == integer(-5));
  CHECK(constant("WARP_SZ") == integer(32));
  CHECK(constant("18446744073709551615") == integer(-1, true));
  CHECK(constant("-9223372036854775808") == integer(std::numeric_limits<std::int64_t>::min()));
}

TEST_CASE("operators bind as in C and types convert as in ptxas") {
  CHECK(constant("1 + 2 * 3 - 4 / 2") == integer(5));
  CHECK(constant("1 << 4 | 3 ^ 2 & 1") == integer(19));
  CHECK(constant("-7 / 2") == integer(-3));
  CHECK(constant("-7U / 2") == integer(std::int64_t(0xFFFFFFFFFFFFFFF9u / 2), true));
  CHECK(constant("-7 % 3") == integer(0, true));
  CHECK(constant("-1 >> 1") == integer(-1));
  CHECK(constant("~0 >> 60") == integer(15, true));
  CHECK(constant("-1 < 1U") == integer(0));
  CHECK(constant("(.s64) ~0 < 0") == integer(1));
  CHECK(constant("0 ? 1 : 0 ? 2 : 3") == integer(3));
  CHECK(constant("!0 + !5") == integer(1));
  CHECK(constant("1 << 65") == integer(2));
  CHECK(constant("(-9223372036854775807 - 1) / -1") == integer(std::numeric_limits<std::int64_t>::min()));
}

TEST_CASE("reals keep their spelling and folded ones become their bits") {
  CHECK(constant("1.5").text == "1.5");
  CHECK(constant("- 1.5").text == "-1.5");
  CHECK(constant(".5").text == ".5");
  CHECK(constant("1e3").value == constant("1000.0").value);
  CHECK(constant("0f3F800000").value == 0x3F800000);
  CHECK(constant("0D3FF0000000000000").value == 0x3FF0000000000000);
  CHECK(constant("1.0 / 2.0").text == "0d3FE0000000000000");
  CHECK(constant("1.5 > 1.0") == integer(1));
}

TEST_CASE("a constant that cannot be computed is explained") {
  CHECK(complaint("1 / 0") == "5:15: this constant expression divides by zero");
  CHECK(complaint("99999999999999999999") == "5:15: the number does not fit 64 bits; got '99999999999999999999'");
  CHECK(complaint("089") == "5:15: a number that starts with 0 is octal and has the digits 0 to 7; got '089'");
  CHECK(complaint("0f3F8") == "5:15: a number after 0f is eight hexadecimal digits; got '0f3F8'");
  CHECK(complaint("0d0") == "5:15: a number after 0d is sixteen hexadecimal digits; got '0d0'");
  CHECK(complaint("0x1G") == "5:15: a number was expected here; got '0x1G'");
  CHECK(complaint("1.0 + 2").starts_with("5:15: integers and reals do not mix"));
  CHECK(complaint("1 + 0f3F800000") == "5:19: a number written as 0f cannot take part in a constant expression");
  CHECK(complaint(std::string(5000, '(')).ends_with("nested deeper than 256 levels"));
  CHECK(complaint(std::string(5000, '-') + "1").ends_with("nested deeper than 256 levels"));
}

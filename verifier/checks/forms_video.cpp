// The parts of registers that video instructions name: ".b0" and ".h1" where there is one value, ".h10" and ".b3210" where
// there are two or four. PTX ISA "Video Instructions"; measured with ptxas 13.0 and 13.5.
#include <algorithm>

#include "ptx/rules/forms.hpp"
#include "verifier/checks/forms.hpp"
#include "verifier/finding.hpp"

namespace kiln::verifier {
namespace {

using isa::Opcode;

// After the register's name: "h10" of "%r1.h10".
std::string_view part_of(const ir::Argument& a) {
  const std::string_view text = a.operand ? std::string_view(a.operand->text) : std::string_view();
  const std::size_t dot = text.rfind('.');
  const bool is_part = dot != text.npos && dot + 1 < text.size() && (text[dot + 1] == 'b' || text[dot + 1] == 'h');
  return is_part ? text.substr(dot + 1) : std::string_view();
}

bool is_below(std::string_view digits, char end) {
  return std::all_of(digits.begin(), digits.end(), [=](char c) { return c >= '0' && c < end; });
}

// How many values the instruction takes from a register.
int values(Opcode op) {
  const char last = spelling(op).back();
  return last == '2' || last == '4' ? last - '0' : 1;
}

// A value of one, two or four: where each of the new ones comes from, out of two registers.
bool may_be_read(std::string_view part, int values) {
  const std::string_view digits = part.substr(1);
  if (values == 1) return digits.size() == 1 && is_below(digits, part[0] == 'b' ? '4' : '2');
  return part[0] == (values == 2 ? 'h' : 'b') && int(digits.size()) == values && is_below(digits, char('0' + 2 * values));
}

// Of two or four, which ones are written, the highest first.
bool may_be_written(std::string_view part, int values) {
  const std::string_view digits = part.substr(1);
  if (values == 1) return may_be_read(part, 1);
  return part[0] == (values == 2 ? 'h' : 'b') && is_below(digits, char('0' + values)) &&
         std::adjacent_find(digits.begin(), digits.end(), [](char a, char b) { return a <= b; }) == digits.end();
}

// With one value, a part of the result is written where the rest comes from c, unless c is added or compared.
bool may_write_part(const ir::Operation& op, int values) {
  if (values != 1) return true;
  return op.opcode != Opcode::vmad && op.arguments.size() == 4 && op.modifiers.combine == isa::Combine::none;
}

}  // namespace

bool check_video(const ir::Code& code, const ir::Operation& op, diag::Sink& sink) {
  if (isa::unit(op.opcode) != isa::Unit::video) return true;
  const int n = values(op.opcode);
  for (std::size_t i = 0; i < op.arguments.size(); ++i) {
    const ir::Argument& a = op.arguments[i];
    const std::string_view part = part_of(a);
    if (part.empty()) continue;
    const bool fits = i == 0 ? may_write_part(op, n) && may_be_written(part, n) : i < 3 && may_be_read(part, n);
    if (judge(sink, rules::form_operands(fits), {code, op, a.operand},
              "the part ." + std::string(part) + ", which the instruction does not have there"))
      return false;
  }
  return true;
}

}  // namespace kiln::verifier

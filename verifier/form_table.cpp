// forms.def as data, and what its operand letters mean.
#include <algorithm>
#include <unordered_map>

#include "verifier/forms.hpp"

namespace kiln::verifier {
namespace {

using isa::ScalarType;
using Kind = ir::Argument::Kind;

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(at), text.size());
    if (end > 0) out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

Form make_form(std::string_view modifiers, std::vector<std::string_view> operands) {
  Form form{{}, std::move(operands)};
  for (std::string_view word : split(modifiers, ' ')) {
    Form::Slot slot;
    slot.optional = word.ends_with('?');
    if (slot.optional) word.remove_suffix(1);
    slot.alternatives = split(word, '|');
    form.slots.push_back(std::move(slot));
  }
  return form;
}

const std::unordered_map<isa::Opcode, Form>& table() {
  static const std::unordered_map<isa::Opcode, Form> forms{
#define FORM(opcode, modifiers, ...) {isa::Opcode::opcode, make_form(modifiers, {__VA_ARGS__})},
#include "verifier/forms.def"
#undef FORM
  };
  return forms;
}

bool is_number(const ir::Argument& a) {
  return a.kind == Kind::immediate || (a.kind == Kind::special && ir::Special(a.id) == ir::Special::warp_size);
}

ScalarType type_of(const ir::Code& code, const ir::Argument& a) {
  return a.kind == Kind::reg ? code.registers[a.id].type : ScalarType::none;
}

bool is_int32(ScalarType t) { return t == ScalarType::b32 || t == ScalarType::u32 || t == ScalarType::s32; }
bool is_int64(ScalarType t) { return t == ScalarType::b64 || t == ScalarType::u64 || t == ScalarType::s64; }
bool is_int16(ScalarType t) { return t == ScalarType::b16 || t == ScalarType::u16 || t == ScalarType::s16; }

bool is_special(const ir::Argument& a, bool wide) {
  if (a.kind != Kind::special) return false;
  const auto s = ir::Special(a.id);
  const bool is_wide =
      s == ir::Special::clock64 || s == ir::Special::globaltimer || s == ir::Special::current_graph_exec;
  return is_wide == wide;
}

// The one register of [register + offset].
const ir::Argument* address_base(const ir::Code& code, const ir::Argument& a) {
  return a.kind == Kind::address && a.count == 1 ? &code.components(a)[0] : nullptr;
}

// Registers of 32 bits, as ptxas packs them: integers and floats do not stand side by side, .b32 goes with both.
bool is_vector(const ir::Code& code, const ir::Argument& a, bool numbers) {
  if (a.kind != Kind::vector || a.count == 0) return false;
  ScalarType before = ScalarType::b32;
  bool any_register = false;
  for (const ir::Argument& c : code.components(a)) {
    if (numbers && (is_number(c) || c.kind == Kind::real)) continue;
    const ScalarType type = type_of(code, c);
    if (c.kind != Kind::reg || isa::bits(type) != 32 || isa::type_class(type) == isa::TypeClass::packed) return false;
    if (type != ScalarType::b32 && before != ScalarType::b32 && isa::is_floating(type) != isa::is_floating(before))
      return false;
    before = type;
    any_register = true;
  }
  return any_register;
}

bool is_tensor_address(const ir::Code& code, const ir::Argument& a) {
  if (a.kind != Kind::address || a.count != 2) return false;
  return code.components(a)[1].kind == Kind::vector;
}

bool has_raw(const ir::Code& code, const ir::Argument& a) {
  const auto parts = code.components(a);
  return a.kind == Kind::raw ||
         std::any_of(parts.begin(), parts.end(), [&](const auto& c) { return has_raw(code, c); });
}

}  // namespace

const Form* find_form(isa::Opcode op) {
  const auto found = table().find(op);
  return found == table().end() ? nullptr : &found->second;
}

std::string_view describe(char letter) {
  switch (letter) {
    case 'r': return "a 32-bit integer register or number";
    case 'x': return "a 64-bit integer register or number";
    case 'f': return "a 32-bit register";
    case 't': return "a tensor-memory address in a 32-bit register";
    case 'd': return "a tensor-memory address in a .b32 register";
    case 'm':
    case 'b': return "an address";
    case 'c': return "a tensor map with coordinates";
    case 'v': return "a vector of 32-bit registers";
    case 'w': return "a vector of 32-bit registers and numbers";
    case 'a': return "a matrix descriptor or a tensor-memory address in a .b32 register";
    case 'l': return "a vector of lane masks";
    case 'k': return "a 16-bit register";
    case 'h': return "a 16-bit register or number";
    case 'i': return "a 32-bit integer register";
    case 'n': return "a number";
    case 'p': return "a predicate or number";
    case 'q': return "a predicate register";
    case 's': return "a 64-bit register or _";
    case 'o': return "a vector of 16-bit offsets";
    default: return "another operand";
  }
}

bool fits(const ir::Code& code, char letter, const ir::Argument& a) {
  if (has_raw(code, a)) return true;
  const ScalarType type = type_of(code, a);
  const ir::Argument* base = address_base(code, a);
  switch (letter) {
    case 'r': return is_int32(type) || is_number(a) || is_special(a, false);
    case 'x': return is_int64(type) || is_number(a) || is_special(a, true);
    case 'f':
      if (a.kind == Kind::vector && a.count == 1) return fits(code, 'f', code.components(a)[0]);
      return is_int32(type) || type == ScalarType::f32;
    case 't': return base && is_int32(type_of(code, *base));
    case 'd': return base && type_of(code, *base) == ScalarType::b32;
    case 'm':
      return base && (is_int32(type_of(code, *base)) || is_int64(type_of(code, *base)) || base->kind == Kind::symbol ||
                      base->kind == Kind::immediate || base->kind == Kind::special);
    case 'c': return is_tensor_address(code, a);
    case 'v': return is_vector(code, a, false);
    case 'w':
    case 'l': return is_vector(code, a, true);
    case 'a': return fits(code, 'x', a) || fits(code, 'd', a);
    case 'b': return is_int32(type) || is_int64(type) || fits(code, 'm', a);
    case 'k': return is_int16(type);
    case 'h': return is_int16(type) || is_number(a);
    case 'i': return is_int32(type);
    case 'n': return is_number(a);
    case 'p': return type == ScalarType::pred || is_number(a);
    case 'q': return type == ScalarType::pred && !a.negated;
    case 's': return is_int64(type) || a.kind == Kind::sink;
    case 'o': return a.kind == Kind::vector;
    default: return false;
  }
}

}  // namespace kiln::verifier

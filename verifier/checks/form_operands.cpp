// What the operand letters of forms.def mean.
#include <algorithm>
#include <charconv>

#include "ptx/isa/targets.hpp"
#include "verifier/checks/forms.hpp"

namespace kiln::verifier {
namespace {

using isa::ScalarType;
using Kind = ir::Argument::Kind;

bool is_number(const ir::Argument& a) {
  return a.kind == Kind::immediate || (a.kind == Kind::special && ir::Special(a.id) == ir::Special::warp_size);
}

std::int64_t number(const ir::Argument& a) { return a.kind == Kind::immediate ? a.value : isa::threads_per_warp; }

ScalarType type_of(const ir::Code& code, const ir::Argument& a) {
  return a.kind == Kind::reg ? code.registers[a.id].type : ScalarType::none;
}

bool is_int32(ScalarType t) { return t == ScalarType::b32 || t == ScalarType::u32 || t == ScalarType::s32; }
bool is_int64(ScalarType t) { return t == ScalarType::b64 || t == ScalarType::u64 || t == ScalarType::s64; }
bool is_int16(ScalarType t) { return t == ScalarType::b16 || t == ScalarType::u16 || t == ScalarType::s16; }

// A special register of 64 bits.
bool is_wide(const ir::Argument& a) {
  const auto s = ir::Special(a.id);
  return s == ir::Special::clock64 || s == ir::Special::globaltimer || s == ir::Special::current_graph_exec;
}

// The one register or symbol of [base + offset].
const ir::Argument* address_base(const ir::Code& code, const ir::Argument& a) {
  return a.kind == Kind::address && a.count == 1 ? &code.components(a)[0] : nullptr;
}

bool is_in(const ir::Code& code, const ir::Argument& a, std::initializer_list<isa::Space> spaces) {
  if (a.kind != Kind::symbol) return false;
  const isa::Space space = code.symbols[a.id].variable->space;
  return std::find(spaces.begin(), spaces.end(), space) != spaces.end();
}

// [base] in a space that is named: registers of either width, and symbols of the space.
bool is_address_in(const ir::Code& code, isa::Space space, const ir::Argument& a) {
  const ir::Argument* base = address_base(code, a);
  if (!base) return false;
  const ScalarType type = type_of(code, *base);
  return is_int32(type) || is_int64(type) ||
         (is_shared(space) ? is_in(code, *base, {isa::Space::shared, isa::Space::shared_cta})
                           : is_in(code, *base, {space}));
}

// The parts of a vector, as ptxas packs them: integers and floats do not stand side by side, untyped registers go with
// both.
bool is_packed(const ir::Code& code, const ir::Argument& a) {
  enum Class { any, integer, real } before = any;
  for (const ir::Argument& c : code.components(a)) {
    const ScalarType type = type_of(code, c);
    const bool untyped = c.kind == Kind::reg && isa::type_class(type) == isa::TypeClass::untyped;
    const Class here = untyped ? any : c.kind == Kind::real || isa::is_floating(type) ? real : integer;
    if (here != any && before != any && here != before) return false;
    before = here;
  }
  return true;
}

bool has_register(const ir::Code& code, const ir::Argument& a) {
  const auto parts = code.components(a);
  return std::any_of(parts.begin(), parts.end(), [](const ir::Argument& c) { return c.kind == Kind::reg; });
}

bool has_integers_alone(const ir::Code& code, const ir::Argument& a) {
  const auto parts = code.components(a);
  return std::all_of(parts.begin(), parts.end(), is_number);
}

// {registers of 32 bits}, and numbers, but not numbers alone.
bool is_vector(const ir::Code& code, const ir::Argument& a, bool numbers) {
  if (a.kind != Kind::vector || !has_register(code, a) || !is_packed(code, a)) return false;
  const auto parts = code.components(a);
  return std::all_of(parts.begin(), parts.end(), [&](const ir::Argument& c) {
    if (c.kind != Kind::reg) return numbers && (is_number(c) || c.kind == Kind::real);
    const ScalarType type = type_of(code, c);
    return isa::bits(type) == 32 && isa::type_class(type) != isa::TypeClass::packed;
  });
}

// Fragments of matrices: registers of the types given, numbers where they are only read.
bool is_fragment(const ir::Code& code, const ir::Argument& a, std::initializer_list<ScalarType> types, bool numbers) {
  if (a.kind != Kind::vector || !is_packed(code, a)) return false;
  const auto parts = code.components(a);
  return std::all_of(parts.begin(), parts.end(), [&](const ir::Argument& c) {
    if (c.kind != Kind::reg) return numbers && (is_number(c) || c.kind == Kind::real);
    return std::find(types.begin(), types.end(), type_of(code, c)) != types.end();
  });
}

// {byte id, thread id} of a block-scaled mma.sync: which bytes of which threads hold the scales. The slot says which
// bytes the kind has; A's scales are in two threads of four, B's in any.
bool is_scale_selector(const ir::Code& code, const OperandSlot& byte, const ir::Argument& a, std::int64_t last_thread) {
  if (a.kind != Kind::vector || a.count != 2) return false;
  const auto parts = code.components(a);
  const auto fits_part = [&](const ir::Argument& c, const OperandSlot& range) {
    const ScalarType type = type_of(code, c);
    return is_number(c) ? range.takes(number(c)) : type == ScalarType::b16 || type == ScalarType::u16;
  };
  return fits_part(parts[0], byte) && fits_part(parts[1], {0, 0, 0, last_thread});
}

// [map, {coordinates}]: the map's address and 32-bit integers.
bool is_tensor_address(const ir::Code& code, const ir::Argument& a) {
  if (a.kind != Kind::address || a.count != 2) return false;
  const auto parts = code.components(a);
  const ScalarType map = type_of(code, parts[0]);
  if (!is_int32(map) && !is_int64(map) && !is_in(code, parts[0], {isa::Space::global, isa::Space::param})) return false;
  if (parts[0].value != 0) return false;
  if (parts[1].kind != Kind::vector) return false;
  const auto at = code.components(parts[1]);
  return std::all_of(at.begin(), at.end(),
                     [&](const ir::Argument& c) { return is_number(c) || is_int32(type_of(code, c)); });
}

bool is_offsets(const ir::Code& code, const ir::Argument& a) {
  if (a.kind != Kind::vector) return false;
  const auto parts = code.components(a);
  return std::all_of(parts.begin(), parts.end(),
                     [&](const ir::Argument& c) { return is_number(c) || is_int16(type_of(code, c)); });
}

// A vector of results: 32-bit integers, or _ where one is not wanted.
bool is_written(const ir::Code& code, const ir::Argument& a) {
  const auto parts = code.components(a);
  return std::all_of(parts.begin(), parts.end(),
                     [&](const ir::Argument& c) { return c.kind == Kind::sink || is_int32(type_of(code, c)); });
}

// What elect.sync writes: the leader's lane, or _, and whether this is the leader.
bool is_elected(const ir::Code& code, const ir::Argument& a) {
  if (a.kind != Kind::pair) return false;
  const auto parts = code.components(a);
  return (is_int32(type_of(code, parts[0])) || parts[0].kind == Kind::sink) &&
         type_of(code, parts[1]) == ScalarType::pred && !parts[1].negated;
}

bool has_raw(const ir::Code& code, const ir::Argument& a) {
  const auto parts = code.components(a);
  return a.kind == Kind::raw ||
         std::any_of(parts.begin(), parts.end(), [&](const auto& c) { return has_raw(code, c); });
}

// Addresses, by letter.
bool fits_address(const ir::Code& code, const ir::Operation& op, char letter, const ir::Argument& a) {
  const ir::Argument* base = address_base(code, a);
  if (!base) return false;
  const ScalarType type = type_of(code, *base);
  const isa::Space space = op.modifiers.space();
  switch (letter) {
    case 't': return is_int32(type);
    case 'd': return type == ScalarType::b32;
    case 'S': return is_address_in(code, isa::Space::shared, a);
    case 'G': return is_address_in(code, isa::Space::global, a);
    case 'A':
      if (op.opcode == isa::Opcode::tensormap_replace && op.modifiers.spaces.count)
        return is_address_in(code, space, a);
      return is_int32(type) || is_int64(type) || base->kind == Kind::symbol;
    case 'm':
      // ptxas takes them everywhere but here, where it wants one as wide as the address.
      if (base->kind == Kind::special && op.opcode == isa::Opcode::tcgen05_alloc && op.modifiers.spaces.count)
        return is_wide(*base);
      if (base->kind == Kind::special) return true;
      if (op.modifiers.spaces.count) return is_address_in(code, space, a);
      return is_int32(type) || is_int64(type) || base->kind == Kind::symbol;
    case 'M':
      if (op.modifiers.spaces.count) return is_address_in(code, space, a);
      return is_int64(type) || is_in(code, *base, {isa::Space::shared});
    default: return false;
  }
}

// Vectors, by letter. The first operand is written, so that no number may stand there.
bool fits_vector(const ir::Code& code, const ir::Operation& op, const OperandSlot& slot, const ir::Argument& a) {
  if (slot.count && a.kind == Kind::vector && a.count != slot.count) return false;
  if (slot.count > 1 && a.kind != Kind::vector) return false;
  const bool read = &a != &op.arg(0), is_c = &a == &op.arg(3);
  switch (slot.letter) {
    case 'v': return is_vector(code, a, false);
    case 'w':
    case 'l': return is_vector(code, a, true);
    case 'o': return is_offsets(code, a);
    case 'B': return has_register(code, a) && is_fragment(code, a, {ScalarType::b32}, read);
    case 'F':
      if (is_c && has_integers_alone(code, a)) return false;
      return is_fragment(code, a, {ScalarType::f32, ScalarType::b32}, read);
    case 'I':
      return (is_c || has_register(code, a)) &&
             is_fragment(code, a, {ScalarType::b32, ScalarType::s32, ScalarType::u32}, read);
    case 'D': return is_fragment(code, a, {ScalarType::f64, ScalarType::b64}, read);
    case 'N': return is_scale_selector(code, slot, a, 1);
    case 'O': return is_scale_selector(code, slot, a, 3);
    default: return false;
  }
}

// Operands of several parts, in words.
std::string describe_vector(const OperandSlot& slot) {
  const std::string count = slot.count ? std::to_string(slot.count) + " " : "";
  switch (slot.letter) {
    case 'c': return "a tensor map with coordinates";
    case 'v': return "a vector of " + count + "32-bit registers";
    case 'w': return "a vector of " + count + "32-bit registers and numbers";
    case 'l': return "a vector of lane masks";
    case 'g': return slot.count ? "a vector of " + count + "32-bit integer registers" : "a 32-bit integer register";
    case 'o': return "a vector of " + count + "16-bit offsets";
    case 'B': return count + "registers of type .b32";
    case 'F': return count + "registers of type .f32";
    case 'I': return count + "registers of 32-bit integers";
    case 'D': return count + "registers of type .f64";
    case 'N':
    case 'O': return "{byte id, thread id} as the kind has them, in 16-bit registers or numbers,";
    default: return "another operand";
  }
}

}  // namespace

OperandSlot sized(const OperandSlot& slot, const ir::Operation& op) {
  OperandSlot out = slot;
  for (std::string_view m : op.modifiers.others)
    if (const std::size_t n = m.find('n'); slot.columns && m.starts_with('m') && n != m.npos) {
      std::uint32_t columns = 0;
      std::from_chars(m.data() + n + 1, m.data() + m.size(), columns);
      out.count = columns / slot.columns;
    }
  return out;
}

std::string describe(const OperandSlot& slot) {
  switch (slot.letter) {
    case 'r': return "a 32-bit integer register or number";
    case 'x': return "a 64-bit integer register or number";
    case 'e':
    case 'f': return "a 32-bit register";
    case 't': return "a tensor-memory address in a 32-bit register";
    case 'd': return "a tensor-memory address in a .b32 register";
    case 'm':
    case 'M': return "an address in the space of the instruction";
    case 'S': return "an address in shared memory";
    case 'G': return "an address in global memory";
    case 'a': return "a matrix descriptor or a tensor-memory address in a .b32 register";
    case 'k': return "a 16-bit register";
    case 'h': return "a 16-bit register or number";
    case 'i': return "a 32-bit integer register";
    case '_': return "_";
    case 'j': return "a 64-bit integer register";
    case 'y': return "a 32-bit integer register, number or shared variable";
    case 'z': return "a 64-bit integer register, number or shared variable";
    case 'Q': return "a .b128 register";
    case 'E': return "a register and a predicate, joined by |";
    case 'A': return "an address";
    case 'n': return "a number";
    case 'p': return "a predicate or number";
    case 'q': return "a predicate register";
    case 'P': return "a predicate";
    case 's': return "a 64-bit register or _";
    default: return describe_vector(slot);
  }
}

bool fits(const ir::Code& code, const ir::Operation& op, const OperandSlot& slot, const ir::Argument& a) {
  if (has_raw(code, a)) return true;
  if (is_number(a) && !slot.takes(number(a))) return false;
  const ScalarType type = type_of(code, a);
  switch (slot.letter) {
    case 'r': return is_int32(type) || is_number(a);
    case 'x': return is_int64(type) || is_number(a);
    case 'f':
      if (a.kind == Kind::vector && a.count == 1) return fits(code, op, slot, code.components(a)[0]);
      return is_int32(type) || type == ScalarType::f32;
    case 'e': return is_int32(type) || type == ScalarType::f32;
    case 'a': return is_int64(type) || is_number(a) || fits_address(code, op, 'd', a);
    case 'c': return is_tensor_address(code, a);
    case 'k': return is_int16(type);
    case 'h': return is_int16(type) || is_number(a);
    case 'i': return is_int32(type);
    case '_': return a.kind == Kind::sink;
    case 'j': return is_int64(type);
    case 'y': return is_int32(type) || is_number(a) || is_in(code, a, {isa::Space::shared});
    case 'z': return is_int64(type) || is_number(a) || is_in(code, a, {isa::Space::shared});
    case 'Q': return type == ScalarType::b128;
    case 'g':
      if (!slot.count) return is_int32(type);
      return a.kind == Kind::vector && a.count == slot.count && is_written(code, a);
    case 'E': return is_elected(code, a);
    case 'n': return is_number(a);
    case 'p': return type == ScalarType::pred || is_number(a);
    case 'q': return type == ScalarType::pred && !a.negated;
    case 'P': return type == ScalarType::pred;
    case 's': return is_int64(type) || a.kind == Kind::sink;
    default: return a.kind == Kind::address ? fits_address(code, op, slot.letter, a) : fits_vector(code, op, slot, a);
  }
}

}  // namespace kiln::verifier

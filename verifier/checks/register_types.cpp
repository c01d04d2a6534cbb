#include "verifier/checks/register_types.hpp"

namespace kiln::verifier::operands {

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
bool is_int8(ScalarType t) { return t == ScalarType::b8 || t == ScalarType::u8 || t == ScalarType::s8; }
bool is_int16(ScalarType t) { return t == ScalarType::b16 || t == ScalarType::u16 || t == ScalarType::s16; }

bool is_wide(const ir::Argument& a) {
  const auto s = ir::Special(a.id);
  return s == ir::Special::clock64 || s == ir::Special::globaltimer || s == ir::Special::current_graph_exec;
}

bool is_untyped(ScalarType t) { return isa::type_class(t) == isa::TypeClass::untyped; }

// ptxas has .f16x2 registers as those of untyped 32 bits, but not beside floats, and those of bf16 and narrower floats
// untyped alone.
bool goes_with(ScalarType reg, ScalarType type) {
  if (reg == type) return true;
  if (reg == ScalarType::pred || type == ScalarType::pred || isa::bits(reg) != isa::bits(type)) return false;
  const bool is_packed_integer =
      type == ScalarType::u16x2 || type == ScalarType::s16x2 || type == ScalarType::u8x4 || type == ScalarType::s8x4;
  if (reg == ScalarType::f16x2) return is_untyped(type) || isa::is_integer(type) || is_packed_integer;
  return is_untyped(reg) || is_untyped(type) || (isa::is_integer(reg) && isa::is_integer(type));
}

bool holds(ScalarType reg, ScalarType type) {
  if (goes_with(reg, type)) return true;
  const bool is_exact = type == ScalarType::bf16 ||
                        (isa::type_class(type) == isa::TypeClass::packed && type != ScalarType::f16x2) ||
                        type == ScalarType::tf32;
  if (is_exact || reg == ScalarType::pred || isa::bits(reg) < isa::bits(type)) return false;
  if (is_untyped(reg) || is_untyped(type)) return true;
  return isa::is_integer(type) && (isa::is_integer(reg) || reg == ScalarType::f16x2);
}

bool is_literal_of(const ir::Argument& a, ScalarType type) {
  if (a.kind == Kind::real)
    return type == ScalarType::f32 || type == ScalarType::f64 || (type == ScalarType::b32 && a.is_single) ||
           (type == ScalarType::b64 && !a.is_single);
  const bool takes_integers = is_untyped(type) || isa::is_integer(type) || type == ScalarType::pred;
  return takes_integers && (is_number(a) || (a.kind == Kind::symbol && a.value != 0));
}

ScalarType twice(ScalarType type) {
  switch (type) {
    case ScalarType::u16: return ScalarType::u32;
    case ScalarType::s16: return ScalarType::s32;
    case ScalarType::u32: return ScalarType::u64;
    case ScalarType::s32: return ScalarType::s64;
    default: return type;
  }
}

}  // namespace kiln::verifier::operands

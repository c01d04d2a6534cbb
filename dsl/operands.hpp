// Operands and mnemonics as the scopes write them. For dsl/*.cpp alone.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "dsl/types.hpp"
#include "dsl/value.hpp"
#include "ptx/isa/tcgen05.hpp"

namespace kiln::dsl {

using ir::Operand;

/// "a.b.c"; what is empty is left out, but a leading "" makes a leading dot: {"", "b"} is ".b".
inline std::string dotted(std::initializer_list<std::string_view> words) {
  std::string out;
  bool first = true;
  for (std::string_view word : words) {
    if (!first && !word.empty()) out += '.';
    out += word;
    first = false;
  }
  return out;
}

/// The member mask of a whole warp.
inline Operand whole_warp() { return Operand::bits(0xffffffffu); }

/// [v]
inline Operand address_of(Recorder& r, const Value& v, Here at) { return Operand::address(use(r, v, at)); }

/// A value's register, or the number.
template <class V>
Operand operand_of(const OperandOf<V>& v) {
  return v.value ? use(v.value->recorder(), v.input()) : Operand::number(v.constant);
}

/// The low half of 32 bits in a register of its own, or the number.
inline Operand sixteen_bits(const OperandOf<U32>& v) {
  if (!v.value) return Operand::number(v.constant);
  return v.value->recorder().pure(ScalarType::b16, "cvt.u16.u32", {operand_of(v)}, v.at);
}

/// The instruction that combines two values: "add.rn.f32", "max.s32", "and.b32".
inline std::string combining(RedOp op, ScalarType type) {
  const bool rounds = type == ScalarType::f32 && op == RedOp::add;
  return dotted({spelling(op), rounds ? "rn" : "", is_bitwise(op) ? "b32" : spelling(type)});
}

/// A register with the operand: PTX refuses a vector of constants alone, and a shuffle of one.
inline Operand in_register(Recorder& r, const Operand& o, Here at) {
  return o.is_integer() || o.kind == Operand::Kind::real ? r.pure(ScalarType::b32, "mov.b32", {o}, at) : o;
}

/// _
inline Operand sink() {
  Operand o;
  o.kind = Operand::Kind::sink;
  return o;
}

/// The operand of a branch: labels share the plain name.
inline Operand target(const std::string& label) { return Operand::named(label); }

/// The matrix descriptor of what begins `offset` bytes after a shared address; `word` has its constant bits.
U64 matrix_descriptor(const U32& address, std::uint64_t word, int offset, Here at);

/// "tcgen05.alloc.cta_group::2"
inline std::string cta_mnemonic(std::string_view opcode, isa::CtaGroup group) {
  return std::string(opcode) + "." + std::string(isa::spelling(group));
}

}  // namespace kiln::dsl

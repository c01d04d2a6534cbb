// Operands as the scopes write them. For dsl/*.cpp alone.
#pragma once

#include <string>

#include "dsl/value.hpp"

namespace kiln::dsl {

/// The member mask of a whole warp.
inline ir::Operand whole_warp() { return ir::Operand::bits(0xffffffffu); }

/// [v]
inline ir::Operand address_of(Recorder& r, const U32& v, Here at) { return ir::Operand::address(use(r, v, at)); }

/// _
inline ir::Operand sink() {
  ir::Operand o;
  o.kind = ir::Operand::Kind::sink;
  return o;
}

/// The operand of a branch: labels share the plain name.
inline ir::Operand target(const std::string& label) { return ir::Operand::named(label); }

/// "tcgen05.alloc.cta_group::2"
inline std::string cta_mnemonic(std::string_view opcode, isa::CtaGroup group) {
  return std::string(opcode) + "." + std::string(isa::spelling(group));
}

}  // namespace kiln::dsl

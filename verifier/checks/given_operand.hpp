// An operand of an instruction, and the slot of a form in which it stands: what the letters of forms.def are asked
// about.
#pragma once

#include <algorithm>
#include <string_view>

#include "verifier/checks/forms.hpp"
#include "verifier/checks/operand_shapes.hpp"
#include "verifier/checks/register_types.hpp"

namespace kiln::verifier::operands {

/// An operand that stands in a slot of an instruction.
struct Given {
  const ir::Code& code;
  const ir::Operation& op;
  const OperandSlot& slot;
  const ir::Argument& a;
  isa::ScalarType type = type_of(code, a);

  bool is_a_number() const { return is_number(a); }
  bool is_shared_variable() const { return is_in(code, a, {isa::Space::shared}); }
  /// The first operand is written, so that no number may stand there.
  bool is_read() const { return &a != &op.arg(0); }
  /// The addend of an MMA.
  bool is_c() const { return &a == &op.arg(3); }
  /// mma, ldmatrix and wmma.load leave out results that are not wanted; ptxas takes no _ for those of wgmma and
  /// tcgen05.ld.
  Others others() const {
    using isa::Opcode;
    if (is_read()) return Others::numbers;
    const bool discards = op.opcode == Opcode::mma || op.opcode == Opcode::mma_sp || op.opcode == Opcode::ldmatrix ||
                          op.opcode == Opcode::wmma_load;
    return discards ? Others::sinks : Others::none;
  }
  /// It is an address whose base is of such a type.
  bool has_base(bool (*is)(isa::ScalarType)) const {
    const ir::Argument* base = address_base(code, a);
    return base && is(type_of(code, *base));
  }
  bool is_address(isa::Space space) const { return is_address_in(code, space, a); }
  /// Of these ptxas leaves an address as wide as it is, and gives up a program that has one of global memory, or a
  /// generic one, in 32 bits. Those of others it widens.
  bool is_left_as_wide() const {
    using isa::Opcode;
    switch (op.opcode) {
      case Opcode::ld:
      case Opcode::ldu:
      case Opcode::st:
      case Opcode::atom:
      case Opcode::red:
      case Opcode::prefetchu:
      case Opcode::applypriority:
      case Opcode::discard:
      case Opcode::multimem_ld_reduce:
      case Opcode::multimem_st:
      case Opcode::multimem_red: return true;
      case Opcode::prefetch: return !has_word("tensormap");
      default: return false;
    }
  }
  /// A modifier of the instruction.
  bool has_word(std::string_view word) const {
    const auto& words = op.modifiers.others;
    return std::find(words.begin(), words.end(), word) != words.end();
  }
  /// An address that ptxas neither widens nor takes.
  bool is_too_narrow() const {
    const ir::Argument* base = address_base(code, a);
    return base && base->kind == ir::Argument::Kind::reg && is_left_as_wide() && has_base(is_int32) &&
           (!names_space() || op.modifiers.space() == isa::Space::global);
  }
  /// Of any space.
  bool is_any_address() const {
    const ir::Argument* base = address_base(code, a);
    return base && (has_base(is_int32) || has_base(is_int64) || base->kind == ir::Argument::Kind::symbol);
  }
  bool names_space() const { return op.modifiers.spaces.count != 0; }
};

}  /// namespace kiln::verifier::operands

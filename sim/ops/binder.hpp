// From decoded operations to a Program: resolves operands and looks up the function that binds each family.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "ptx/flow/definitions.hpp"
#include "ptx/ir/code.hpp"
#include "ptx/ops/operations.hpp"
#include "sim/core/link.hpp"
#include "sim/core/program.hpp"

namespace kiln::sim {

// What the modifiers of most instructions say.
using isa::Combine, isa::Opcode, isa::ScalarType, isa::Space;

/// Thrown while an instruction is bound: it has a form without a model. It faults only if it is executed.
struct Gap {
  std::string what;
};

/// Builds one Program. The families of instructions use its members to resolve operands.
class Binder {
 public:
  Binder(const Linked& linked, Layout layout);

  Program run();

  /// The device function that the instruction being bound is part of; null in the kernel.
  const Callable* function() const { return function_; }
  /// The device function that an argument names; its number among Program::callables, or nothing without a body.
  std::optional<u32> callable(const ir::Argument& a) const;
  /// What a call passes: a .param variable, a register or a constant.
  Passed passed(const ir::Argument& a);
  /// The number of a new call site.
  u32 add(CallSite site);

  const ir::Code& code() const { return code_; }
  const flow::Definitions& definitions() {
    return definitions_ ? *definitions_ : definitions_.emplace(code_);
  }

  /// A source operand of an instruction type: register, immediate, symbol address or special register. Gap when a
  /// register's width is not that of the type.
  Slot source(const ir::Argument& a, ScalarType type);
  /// A source whose register may be wider than the type (ld, st, cvt, addresses).
  Slot any_width(const ir::Argument& a, ScalarType type);
  /// The operand, or the first of a vector: metadata and scales of an MMA, which ptxas takes in braces too.
  const ir::Argument& first_of(const ir::Argument& a) const {
    return a.kind == ir::Argument::Kind::vector ? code_.components(a).front() : a;
  }
  /// A result register; the sink `_` gets a register that is not read.
  Slot result(const ir::Argument& a, ScalarType type);
  Slot any_result(const ir::Argument& a, ScalarType type);
  Slot predicate(const ir::Argument& a);

  /// Splits [base + offset] into Inst::a, wide and value.
  void address(Inst& inst, const ir::Argument& a);
  /// The same of an access to the space that the instruction names.
  void access(Inst& inst, const ir::Operation& op, const ir::Argument& a);
  /// The address operand as a slot and an offset.
  std::pair<Slot, std::int64_t> address(const ir::Argument& a);
  /// The same of an operand that may be missing: zero.
  std::pair<Slot, std::int64_t> address_or_none(const ops::Operand& o);
  /// Appends both parts of such an address.
  void append_address(Inst& inst, const ops::Operand& o);

  /// Appends slots to the instruction's list, which must be the last one growing.
  void append(Inst& inst, Slot s);
  /// Appends every component of a vector argument (or the argument itself).
  void append_all(Inst& inst, const ir::Argument& a, ScalarType type);

  /// A constant with `bytes` bytes per lane; 0: a predicate.
  Slot constant(u64 value, u8 bytes);
  /// Keeps what a matrix instruction multiplies; the index in Program::mmas.
  u32 add(const WarpMma& mma);
  /// Keeps the form of a tcgen05.mma; the index in Program::forms.
  u32 add(const isa::MmaForm& form);
  /// The number of the module's target: 90 for sm_90a. Gap when it names none.
  int sm() const;

  /// A fresh register.
  Slot scratch(u8 bytes);

 private:
  Inst bind(const ir::Operation& op);
  Slot reg(u32 id) const;
  Slot special(ir::Special s);
  Slot symbol(const ir::Argument& a, u8 bytes);
  Slot make_constant(u64 value, u8 bytes, Constant::Kind kind);
  u32 grow(u8 bytes);

  void add_callables();
  Passed passed(const Formal& f) const;

  const Linked& linked_;
  const ir::Code& code_;
  std::optional<flow::Definitions> definitions_{};  // made when asked for
  Program program_;
  const Callable* function_ = nullptr;
  std::map<std::tuple<u64, u8, Constant::Kind>, u32> constants_;
  std::map<ir::Special, u32> specials_;
};

/// Bytes per lane of a register that holds a value of this type; 0 for predicates.
u8 register_bytes(ScalarType type);

/// Whether a register counts time: mov and cvt read such registers anew at each execution.
bool is_clock(ir::Special s);

// Sets run and the operand fields of an instruction of one family. Where run stays null, the form has no model.
#define FAMILY(id, Type) void bind_##id(Binder& binder, const ir::Operation& op, const ops::Type& operands, Inst& inst);
#define ROLE(member)
#define ROLE_IF(member, condition)
#define ROLES()
#define END()
#include "ptx/ops/families.def"
#undef FAMILY
#undef ROLE
#undef ROLE_IF
#undef ROLES
#undef END

}  // namespace kiln::sim

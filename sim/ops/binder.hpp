// From decoded operations to a Program: resolves operands and asks each family of instructions for its handler.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "ptx/ir/code.hpp"
#include "sim/core/link.hpp"
#include "sim/core/program.hpp"

namespace kiln::sim {

/// Thrown while an instruction is lowered: it has a form without a model. It faults only if it is executed.
struct Gap {
  std::string what;
};

/// Builds one Program. The families of instructions use its members to resolve operands.
class Binder {
 public:
  Binder(const Linked& linked, Layout layout);

  Program run();

  /// The device function that the instruction being lowered is part of; null in the kernel.
  const Callable* function() const { return function_; }
  /// The device function that an argument names; its number among Program::callables, or nothing without a body.
  std::optional<std::uint32_t> callable(const ir::Argument& a) const;
  /// What a call hands over: a .param variable, a register or a constant.
  Passed passed(const ir::Argument& a);
  /// The number of a new call site.
  std::uint32_t add(CallSite site);

  const ir::Code& code() const { return code_; }

  /// A source operand of an instruction type: register, immediate, symbol address or special register. Gap when a
  /// register's width is not that of the type.
  Slot source(const ir::Argument& a, isa::ScalarType type);
  /// A source whose register may be wider than the type (ld, st, cvt, addresses).
  Slot any_width(const ir::Argument& a, isa::ScalarType type);
  /// A result register; the sink `_` gets a register that nobody reads.
  Slot result(const ir::Argument& a, isa::ScalarType type);
  Slot any_result(const ir::Argument& a, isa::ScalarType type);
  Slot predicate(const ir::Argument& a);

  /// Splits [base + offset] into Inst::a, wide and value.
  void address(Inst& inst, const ir::Argument& a);
  /// The address operand as a slot and an offset.
  std::pair<Slot, std::int64_t> address(const ir::Argument& a);

  /// Appends slots to the instruction's list, which must be the last one growing.
  void append(Inst& inst, Slot s);
  /// Appends every component of a vector argument (or the argument itself).
  void append_all(Inst& inst, const ir::Argument& a, isa::ScalarType type);

  /// A constant with `bytes` bytes per lane; 0: a predicate.
  Slot constant(std::uint64_t value, std::uint8_t bytes);
  /// Keeps what a matrix instruction multiplies; the index in Program::mmas.
  std::uint32_t add(const WarpMma& mma);
  /// The number of the module's target: 90 for sm_90a. Gap when it names none.
  int sm() const;

  /// A fresh register nobody else uses.
  Slot scratch(std::uint8_t bytes);

 private:
  Inst lower(const ir::Operation& op);
  Slot reg(std::uint32_t id) const;
  Slot special(ir::Special s);
  Slot symbol(const ir::Argument& a, std::uint8_t bytes);
  Slot make_constant(std::uint64_t value, std::uint8_t bytes, Constant::Kind kind);
  std::uint32_t grow(std::uint8_t bytes);

  void add_callables();
  Passed passed(const Formal& f) const;

  const Linked& linked_;
  const ir::Code& code_;
  Program program_;
  const Callable* function_ = nullptr;
  std::map<std::tuple<std::uint64_t, std::uint8_t, Constant::Kind>, std::uint32_t> constants_;
  std::map<ir::Special, std::uint32_t> specials_;
};

/// Bytes per lane of a register that holds a value of this type; 0 for predicates.
std::uint8_t register_bytes(isa::ScalarType type);

// One family each: sets run and the operand fields of `inst`, or returns false when the opcode is not of this family.
bool bind_integer(Binder&, const ir::Operation&, Inst&);
bool bind_bits(Binder&, const ir::Operation&, Inst&);
bool bind_float(Binder&, const ir::Operation&, Inst&);
bool bind_compare(Binder&, const ir::Operation&, Inst&);
bool bind_video(Binder&, const ir::Operation&, Inst&);
bool bind_move(Binder&, const ir::Operation&, Inst&);
bool bind_convert(Binder&, const ir::Operation&, Inst&);
bool bind_memory(Binder&, const ir::Operation&, Inst&);
bool bind_atomic(Binder&, const ir::Operation&, Inst&);
bool bind_multimem(Binder&, const ir::Operation&, Inst&);
bool bind_async_store(Binder&, const ir::Operation&, Inst&);
bool bind_stack(Binder&, const ir::Operation&, Inst&);
bool bind_control(Binder&, const ir::Operation&, Inst&);
bool bind_call(Binder&, const ir::Operation&, Inst&);
bool bind_warp(Binder&, const ir::Operation&, Inst&);
bool bind_barrier(Binder&, const ir::Operation&, Inst&);
bool bind_mbarrier(Binder&, const ir::Operation&, Inst&);
bool bind_matrix(Binder&, const ir::Operation&, Inst&);
bool bind_mma_sync(Binder&, const ir::Operation&, Inst&);
bool bind_wgmma(Binder&, const ir::Operation&, Inst&);
bool bind_wmma(Binder&, const ir::Operation&, Inst&);
bool bind_launch_control(Binder&, const ir::Operation&, Inst&);
bool bind_cp_async(Binder&, const ir::Operation&, Inst&);
bool bind_tma(Binder&, const ir::Operation&, Inst&);
bool bind_tensor_map(Binder&, const ir::Operation&, Inst&);
bool bind_bulk(Binder&, const ir::Operation&, Inst&);
bool bind_tensor_memory(Binder&, const ir::Operation&, Inst&);
bool bind_tensor_core(Binder&, const ir::Operation&, Inst&);

}  // namespace kiln::sim

// From decoded operations to a Program: resolves operands and asks each family of instructions for its handler.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "ptx/ir/code.hpp"
#include "sim/link.hpp"
#include "sim/program.hpp"

namespace kiln::sim {

/// Thrown while an instruction is lowered: it has a form without a model. It faults only if it is executed.
struct Gap {
  std::string what;
};

/// Builds one Program. The families of instructions use its members to resolve operands.
class Lowering {
 public:
  Lowering(const Linked& linked, Layout layout);

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
bool lower_integer(Lowering&, const ir::Operation&, Inst&);
bool lower_bits(Lowering&, const ir::Operation&, Inst&);
bool lower_float(Lowering&, const ir::Operation&, Inst&);
bool lower_compare(Lowering&, const ir::Operation&, Inst&);
bool lower_video(Lowering&, const ir::Operation&, Inst&);
bool lower_move(Lowering&, const ir::Operation&, Inst&);
bool lower_convert(Lowering&, const ir::Operation&, Inst&);
bool lower_memory(Lowering&, const ir::Operation&, Inst&);
bool lower_atomic(Lowering&, const ir::Operation&, Inst&);
bool lower_multimem(Lowering&, const ir::Operation&, Inst&);
bool lower_async_store(Lowering&, const ir::Operation&, Inst&);
bool lower_stack(Lowering&, const ir::Operation&, Inst&);
bool lower_control(Lowering&, const ir::Operation&, Inst&);
bool lower_call(Lowering&, const ir::Operation&, Inst&);
bool lower_warp(Lowering&, const ir::Operation&, Inst&);
bool lower_barrier(Lowering&, const ir::Operation&, Inst&);
bool lower_mbarrier(Lowering&, const ir::Operation&, Inst&);
bool lower_matrix(Lowering&, const ir::Operation&, Inst&);
bool lower_mma_sync(Lowering&, const ir::Operation&, Inst&);
bool lower_wgmma(Lowering&, const ir::Operation&, Inst&);
bool lower_wmma(Lowering&, const ir::Operation&, Inst&);
bool lower_launch_control(Lowering&, const ir::Operation&, Inst&);
bool lower_cp_async(Lowering&, const ir::Operation&, Inst&);
bool lower_tma(Lowering&, const ir::Operation&, Inst&);
bool lower_tensor_map(Lowering&, const ir::Operation&, Inst&);
bool lower_bulk(Lowering&, const ir::Operation&, Inst&);
bool lower_tensor_memory(Lowering&, const ir::Operation&, Inst&);
bool lower_tensor_core(Lowering&, const ir::Operation&, Inst&);

}  // namespace kiln::sim

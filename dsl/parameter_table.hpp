// Rows of numbers, pointers and tensor maps that a launch gives a kernel by value: problems of one launch, of which a
// CTA chooses. A kernel's parameters take 32,764 bytes at most. PTX ISA "Kernel Function Parameters".
#pragma once

#include <string>
#include <utility>

#include "dsl/memory.hpp"
#include "ptx/isa/launch_limits.hpp"

namespace kiln::dsl {

/// A row of a ParameterTable. Its fields lie where the launch's struct has them, so many bytes after the row begins,
/// each at a multiple of its size; launch::StructParam says nothing of their types, so the kernel must.
class ParameterRow {
 public:
  ParameterRow(Recorder& r, ir::Operand address, U64 generic)
      : rec_(&r), address_(std::move(address)), generic_(std::move(generic)) {}

  /// A number.
  U32 u32(int at, Here here = {}) const { return {*rec_, load(ScalarType::u32, at, here)}; }
  U64 u64(int at, Here here = {}) const { return {*rec_, load(ScalarType::u64, at, here)}; }
  /// A pointer to global memory.
  template <class T>
  Pointer<T> pointer(int at, Here here = {}) const {
    return {*rec_, rec_->pure(ScalarType::b64, "cvta.to.global.u64", {u64(at, here).operand()}, here)};
  }
  /// The generic address of a tensor map, at a multiple of 64: TensorMap<Tile>(row.map(0)) or
  /// TensorMapHandle<bf16, 2>(row.map(0)).
  U64 map(int at, Here here = {}) const { return apply("add", generic_, at, here); }

 private:
  ir::Operand load(ScalarType type, int at, Here here) const {
    const std::string mnemonic = "ld.param." + std::string(isa::spelling(type));
    return rec_->pure(type, mnemonic, {ir::Operand::address(address_, at)}, here);
  }

  Recorder* rec_;
  ir::Operand address_;  // of the parameter space: a register, or a symbol and an offset
  U64 generic_;
};

/// What KernelBuilder::table returns.
class ParameterTable {
 public:
  /// Bytes that a kernel's parameters have at most, a table among them.
  static constexpr int most_bytes = isa::max_parameter_bytes;

  ParameterTable(Recorder& r, std::string symbol, int row_bytes)
      : rec_(&r),
        symbol_(std::move(symbol)),
        row_bytes_(row_bytes),
        generic_(r, r.pure(ScalarType::b64, "cvta.param.u64", {start(Here::nowhere())}, Here::nowhere())) {}

  /// The row with that number, which must be there.
  ParameterRow row(const U32& index, Here at = {}) const {
    const U64 offset = multiply_wide(index, {row_bytes_, at});
    const ir::Operand address = rec_->pure(ScalarType::b64, "add.u64", {start(at), use(*rec_, offset, at)}, at);
    return {*rec_, address, apply("add", generic_, offset, at)};
  }
  ParameterRow row(int index, Here at = {}) const {
    const int offset = index * row_bytes_;
    return {*rec_, ir::Operand::named(symbol_, offset), apply("add", generic_, offset, at)};
  }

 private:
  ir::Operand start(Here at) const { return rec_->pure(ScalarType::b64, "mov.b64", {ir::Operand::named(symbol_)}, at); }

  Recorder* rec_;
  std::string symbol_;
  int row_bytes_;
  U64 generic_;
};

}  // namespace kiln::dsl

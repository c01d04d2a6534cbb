// Asynchronous bulk copies: what each mode of a tensor copy moves and needs, and what a bulk reduction combines. PTX ISA
// "cp.async.bulk.tensor", "cp.reduce.async.bulk". Measured with ptxas 13.0.
#pragma once

#include <cstdint>

#include "ptx/isa/modifiers.hpp"
#include "ptx/isa/opcodes.hpp"

namespace kiln::isa {

/// Whether an operation moves bytes by the bulk copy engine: copies and reductions, tensor ones too, no prefetch.
constexpr bool is_bulk_copy(Opcode op) {
  return op == Opcode::cp_async_bulk || op == Opcode::cp_async_bulk_tensor || op == Opcode::cp_reduce_async_bulk ||
         op == Opcode::cp_reduce_async_bulk_tensor;
}

/// What is done to a tensor.
enum class TensorAccess : std::uint8_t { load, store, reduce, prefetch };

/// A mode of a tensor copy: what it may do, its ranks, and how many coordinates and im2col offsets it takes.
struct TensorModeForm {
  bool reads = false, writes = false;
  int lowest_rank = 0, highest_rank = 0;
  int coordinates = 0, offsets = 0;
};

constexpr TensorModeForm tensor_mode_form(TensorMode mode, int rank) {
  switch (mode) {
    case TensorMode::none:
    case TensorMode::tile: return {true, true, 1, 5, rank, 0};
    case TensorMode::gather4: return {true, false, 2, 2, 5, 0};   // a column and four rows
    case TensorMode::scatter4: return {false, true, 2, 2, 5, 0};
    case TensorMode::im2col: return {true, false, 3, 5, rank, rank - 2};
    case TensorMode::im2col_w:
    case TensorMode::im2col_w_128: return {true, false, 3, 5, rank, 2};
    case TensorMode::im2col_no_offs:
    case TensorMode::im2col_no_offs_w: return {false, true, 3, 5, rank, 0};
  }
  return {};
}

/// Operations of a reduction on a tensor; the element type is the tensor map's.
constexpr bool is_reduction(Combine op) {
  switch (op) {
    case Combine::add: case Combine::min: case Combine::max: case Combine::inc: case Combine::dec:
    case Combine::and_: case Combine::or_: case Combine::xor_: return true;
    default: return false;
  }
}

/// Whether cp.reduce.async.bulk combines values of a type so, in the destination space.
constexpr bool bulk_reduces(Combine op, ScalarType t, Space to) {
  const bool word = t == ScalarType::u32 || t == ScalarType::s32;
  const bool global = to == Space::global;
  const bool half = t == ScalarType::f16 || t == ScalarType::bf16;
  switch (op) {
    case Combine::add:
      return word || t == ScalarType::u64 || (global && (half || t == ScalarType::f32 || t == ScalarType::f64));
    case Combine::min:
    case Combine::max: return word || (global && (half || t == ScalarType::u64 || t == ScalarType::s64));
    case Combine::inc:
    case Combine::dec: return t == ScalarType::u32;
    case Combine::and_:
    case Combine::or_:
    case Combine::xor_: return t == ScalarType::b32 || (global && t == ScalarType::b64);
    default: return false;
  }
}

}  // namespace kiln::isa

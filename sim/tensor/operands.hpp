// Operands of the tensor core, gathered out of shared and tensor memory into rows with K contiguous, in the form that
// ptx/num takes: one element to a byte where elements are narrower than their storage says.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ptx/tile/shared_operand.hpp"
#include "sim/tensor/part.hpp"

namespace kiln::sim {

inline constexpr u32 swizzle_piece = tile::piece_bytes;

/// Shared memory as the tensor core reads it: pieces of 16 bytes.
struct SharedReader {
  Grid& grid;
  const ir::Operation* operation;
  Cta& cta;

  View at(u32 address) const { return cta.shared.view(address); }
  /// Where the poison in the first `bytes` bytes of a piece was read; 0 when there is none.
  PoisonSource poison(u32 address, u32 bytes = swizzle_piece) const;
};

using tile::for_pieces;
using tile::SharedOperand;

/// A and B of a task as they lie in one CTA.
SharedOperand operand_a(const MmaTask& task);
SharedOperand operand_b(const MmaTask& task, const std::vector<u8>* zeroed = nullptr);

/// By column of the product: whether it sees zeros instead of its column of B. Empty without a mask.
std::vector<u8> zeroed_columns(const MmaTask& task);

/// Rows of elements, each of one, two or four bytes: those of one instruction or, side by side, of `steps` of them.
struct Elements {
  int k = 0;      // of one instruction
  int bytes = 1;  // of one element
  int steps = 1;
  std::size_t first = 0;  // byte of each row at which the instruction's elements begin
  std::vector<u8> data{};
  std::vector<u8> poison{};  // by row: whether some element of it is; empty when none is
  PoisonSource source = 0;

  Elements(int rows, int row_elements, isa::ScalarType type, int instructions = 1)
      : k(row_elements),
        bytes(std::max(8, isa::bits(type)) / 8),
        steps(instructions),
        data(std::size_t(rows) * stride() * std::size_t(bytes)) {}
  /// Elements from one row to the next.
  std::size_t stride() const { return std::size_t(k) * std::size_t(steps); }
  /// Of one instruction, which `select` chooses.
  u8* row(int r) { return data.data() + std::size_t(r) * stride() * std::size_t(bytes) + first; }
  void select(int step) { first = std::size_t(step * k * bytes); }
  /// A row has poison from `s`; none has.
  void add_poison(int r, PoisonSource s) {
    if (poison.empty()) poison.resize(data.size() / (stride() * std::size_t(bytes)));
    poison[std::size_t(r)] = 1;
    source = s;
  }
  void forget_poison() { poison.clear(), source = 0; }
};

/// Fills the rows from `first` on.
void gather_shared(const SharedReader& reader, const SharedOperand& operand, Elements& out, int first = 0);
/// Fills the rows with a part's A out of tensor memory.
void gather_tensor(const MmaTask& task, const Part& part, Cta& cta, Elements& out);

/// Fills B, of both CTAs of a pair, one half each.
void gather_b(Grid& grid, const MmaTask& task, Cta& issuer, Elements& out);

/// Faults unless every piece that the operand covers lies in the CTA's shared memory; `what` names it. Ends the run as
/// incomplete for layouts that the documents leave open.
void check_operand(const SharedOperand& operand, Cta& cta, const char* what);

/// Ends the run as incomplete for an accumulator that holds 6-bit elements, and notes that a cell of it was never
/// written: the sum will be poison as well. Reports one of which whole columns were never written and others were.
void check_accumulator(const MmaTask& task, const Part& part, Cta& cta);
/// What the product leaves in the cells of its accumulator. A row or column with poison among its elements is poison,
/// so is a sum that a poison cell began with.
void mark_accumulator(const MmaTask& task, const Part& part, Cta& cta, const Elements& a, const Elements& b);

}  // namespace kiln::sim

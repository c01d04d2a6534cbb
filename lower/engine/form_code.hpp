// What the code of one form of MMA is written with.
#pragma once

#include <functional>

#include "lower/engine/registers.hpp"

namespace kiln::lower {

struct FormCode {
  Builder& b;
  const Plan& plan;
  const EngineRegisters& engine;
  const Form& form;
  JumpTarget odd_column;            // traps; for an accumulator of a pair at an odd column, which there is not
  std::function<void()> when_read;  // writes what is to be done when all operands are read and MMAs are yet to come
};

/// "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32".
std::string mma_sync(const Form&);
/// The sums of a tile of 16 rows and 8 columns.
Term sums_of_tile(const FormCode&, int row_tile, int column_tile);
/// scale-input-d: multiplies the sums by 2 to the minus so many.
void scale_sums(const FormCode&);

}  // namespace kiln::lower

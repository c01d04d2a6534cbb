// Products of consecutive tcgen05.mma on one accumulator, summed together. Each instruction reads its operands when it
// executes; the sums are computed before the next access to a cell of tensor memory, or when the chain is full. The
// result is the same as that of separate sums, and the accumulator passes through the processor's caches once.
#pragma once

#include <vector>

#include "sim/tensor/operands.hpp"

namespace kiln::sim {

/// Whether the sums of a product may be computed later than its instruction: A and B are in shared memory, D is in
/// consecutive lanes, and the instruction reads nothing but A, B and D.
bool may_chain(const MmaTask& task);

class TensorChain final : public TensorMemory::Debt {
 public:
  TensorChain(Grid& grid, const MmaTask& task, Cta& issuer);

  /// Whether it is a product of the same shape.
  bool fits(const MmaTask& task) const { return task.form == first_.form && task.shape == first_.shape; }
  /// Whether the task continues the chain: it adds to the chain's accumulator, which has not been read since.
  bool continues_with(const MmaTask& task) const;
  bool is_full() const;
  /// Reads the operands of one more instruction.
  void add(const MmaTask& task);
  void settle() override;

 private:
  Grid& grid_;
  Cta& issuer_;
  MmaTask first_;
  int steps_ = 0;
  Elements b_;
  std::vector<Elements> a_;  // of each CTA
};

/// Executes a task that may chain: together with the earlier tasks if it continues their chain.
void execute_chained(Grid& grid, const MmaTask& task, Cta& issuer);

}  // namespace kiln::sim

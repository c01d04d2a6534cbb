// Products of consecutive tcgen05.mma on one accumulator, added up at once. Each instruction reads its operands when
// its time comes; the sums are made before anybody looks at a cell of tensor memory, or when the chain is full. Nobody
// can tell that from sums made one by one, and the accumulator goes through the processor's caches once for all of
// them.
#pragma once

#include <vector>

#include "sim/tensor/operands.hpp"

namespace kiln::sim {

/// Whether a product may be added to later than its instruction: A and B in shared memory, D in consecutive lanes,
/// nothing but A, B and D read.
bool may_chain(const MmaTask& task);

class TensorChain final : public TensorMemory::Debt {
 public:
  TensorChain(Grid& grid, const MmaTask& task, Cta& issuer);

  /// Whether it is a product of the same shape.
  bool fits(const MmaTask& task) const { return task.form == first_.form && task.shape == first_.shape; }
  /// Whether the task goes on where the chain is: added to what the chain leaves, which nobody has looked at.
  bool continues_with(const MmaTask& task) const;
  bool is_full() const;
  /// Reads the operands of one more instruction.
  void add(const MmaTask& task);
  void settle() override;

 private:
  void begin(Cta& cta) const;

  Grid& grid_;
  Cta& issuer_;
  MmaTask first_;
  int steps_ = 0;
  Elements b_;
  std::vector<Elements> a_;  // of each CTA
};

/// Executes a task that may chain: with what went before if it goes on there.
void execute_chained(Grid& grid, const MmaTask& task, Cta& issuer);

}  // namespace kiln::sim

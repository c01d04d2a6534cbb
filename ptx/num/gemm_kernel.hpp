// One MMA instruction, or a chain of them over K, on gathered operands: D = A * B^T (+ D), bit for bit what `dot`
// gives.
//
// Operands are decoded once per call into a common form (an exact f32 value and a small exponent code each), so that
// one vector loop serves every kind whose products meet in the 25-bit window; the fp4 kinds have one in integers. The
// few elements that the loop cannot do exactly (NaN, infinity, results near the ends of the f32 range, exponents spread
// too wide) are redone by `dot`.
#pragma once

#include <cstdint>
#include <memory>

#include "ptx/num/gemm_task.hpp"

namespace kiln::num {

/// Which vector code to use; `automatic` takes the widest that the processor has.
enum class VectorUnit : std::uint8_t { automatic, portable, avx2, avx512 };

/// The multiplier and its buffers. Not for use by two threads at once; keep one per worker.
class GemmKernel {
 public:
  explicit GemmKernel(VectorUnit unit = VectorUnit::automatic);
  ~GemmKernel();
  GemmKernel(GemmKernel&&) noexcept;
  GemmKernel& operator=(GemmKernel&&) noexcept;

  /// Computes the task; a unit that the processor lacks was replaced by `portable` at construction.
  void run(const GemmTask& task);

  VectorUnit unit() const { return unit_; }
  const GemmCounters& counters() const;

 private:
  struct State;
  VectorUnit unit_;
  std::unique_ptr<State> state_;
};

/// True if tasks of this spec run in a vector loop; others go through `dot` element by element.
bool has_vector_path(const DotSpec& spec);

}  // namespace kiln::num

// One MMA instruction, or a chain of them over K, on gathered operands: D = A * B^T (+ D), bit for bit what `dot`
// gives.
//
// Operands are decoded once per call into a common form (an exact f32 value and a small exponent code each), so that
// one vector loop serves every kind whose products meet in the 25-bit window; the fp4 kinds have one in integers. The
// few elements that the loop cannot do exactly (NaN, infinity, results near the ends of the f32 range, exponents spread
// too wide) are redone by `dot`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "ptx/num/window.hpp"

namespace kiln::num {

/// `exact` is the hardware's result; `fast` is f32 multiply-add in k order, rounded to nearest at every step.
enum class Arithmetic : std::uint8_t { exact, fast };

/// Operand rows with K contiguous. Elements lie in 8-bit containers (fp8, fp6, fp4, i8), 16-bit (f16, bf16) or 32-bit
/// (tf32).
struct GemmOperand {
  const void* elements = nullptr;
  std::size_t stride = 0;                // elements from one row to the next
  const std::uint8_t* scales = nullptr;  // block-scaled kinds: `scale_vector` bytes per row and instruction
  std::size_t scale_stride = 0;          // bytes from one row's scales to the next
};

/// What to multiply: `k` is a multiple of the instruction's K; each instruction in the chain rounds to D. `spec.read_c`
/// is the first one's: those behind it read what it left.
struct GemmTask {
  DotSpec spec;
  int m = 0, n = 0, k = 0;  // k counts logical columns, so a sparse A stores k / 2
  GemmOperand a = {}, b = {};
  const std::uint32_t* metadata = nullptr;  // sparse: selectors of each row of A, for all instructions in order
  std::size_t metadata_stride = 0;          // words from one row's metadata to the next
  std::uint32_t* d = nullptr;               // C on entry, D on return, one 32-bit word each, row-major
  std::size_t d_stride = 0;                 // words from one row to the next
  Arithmetic arithmetic = Arithmetic::exact;
};

/// Counts of what the last runs did, for benchmarks and for reporting how a result came about.
struct GemmCounters {
  std::uint64_t elements = 0;  // D elements computed, one per instruction in a chain
  std::uint64_t proven = 0;    // of those, by f32 multiply-add after a proof that nothing rounds
  std::uint64_t redone = 0;    // of those, by `dot`
};

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

// What GemmKernel multiplies, and its operands element by element.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

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
/// is the first one's: the later ones read what it left.
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

/// Whether an instruction of the chain reads C: all but the first do.
inline bool reads_c(const GemmTask& task, int step) { return step > 0 || task.spec.read_c; }

/// The selectors of a row of a sparse A for one instruction; empty for a dense one.
std::span<const std::uint32_t> metadata_of(const GemmTask& task, int row, int step);
/// The scales of a row for one instruction, `count` of them.
std::span<const std::uint8_t> scales_of(const GemmOperand& operand, int row, int step, int count);
/// Elements first, first + 1, ... of a row, widened to a word each.
void load_words(const GemmOperand& operand, ScalarType type, int row, int first, int k, std::uint32_t* words);

}  // namespace kiln::num

// Operands of one GEMM in the common form that the vector loops read. Internal to ptx/num.
//
// A strip is one row over one instruction's K. Each live element has a code, its encoded exponent below the strip's
// highest (`top`), so that the largest exponent of a dot product is found by 8-bit adds and maxima.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/num/fp4_panel.hpp"
#include "ptx/num/gemm_task.hpp"

namespace kiln::num {

inline constexpr int row_group = 4;  // rows of A that share each load of B

// A zero element; two codes add without leaving 8 bits.
inline constexpr int dead_code = -64;
// Lower exponents are clamped to this one, and results that may depend on it are redone.
inline constexpr int lowest_live_code = -31;

enum class StripSpecial : std::uint8_t { none, infinite, nan };

/// What the strips of one block and step have in common, for the proof that plain f32 arithmetic is exact.
struct BlockSummary {
  float max_abs = 0;
  int unit = 0;        // every value is a multiple of 2^unit
  int top = 0;         // no encoded exponent is above
  bool plain = false;  // no special, no scale
};

struct alignas(64) CacheLine {
  float values[16];
};

/// All strips of an operand in blocks of 64 rows: [block][step][k][row in block]. Rows beyond the operand are zeros. A
/// sparse A lies here with the zeros that it does not store: products with a zero are none of the window's terms.
struct Panel {
  int blocks = 0, steps = 0, k = 0;
  std::vector<CacheLine> lines;
  std::vector<std::int8_t> codes;        // of B
  std::vector<std::int32_t> wide_codes;  // of A: each code in all four bytes of a word
  std::vector<std::int32_t> tops;        // highest encoded exponent, scale included
  std::vector<std::int32_t> scales;      // exponent of the ue8m0 scale, which `values` do not include; 0 without one
  std::vector<StripSpecial> specials;
  std::vector<BlockSummary> summaries;

  /// Index of a block and step in `summaries`.
  std::size_t index(int row, int step) const {
    return std::size_t(row / panel_block) * std::size_t(steps) + std::size_t(step);
  }
  /// Index of a strip in `tops`, `scales` and `specials`.
  std::size_t strip(int row, int step) const { return index(row, step) * panel_block + std::size_t(row % panel_block); }
  /// Index of a strip's element 0 in `values` and the codes; its k-th is k * panel_block further.
  std::size_t element(int row, int step) const {
    return index(row, step) * std::size_t(panel_block * k) + std::size_t(row % panel_block);
  }
  float* values() { return lines.data()->values; }
  const float* values() const { return lines.data()->values; }

  void resize(int rows, int step_count, int strip_k, bool wide);
};

/// Every code of an 8-bit or smaller format: its value, its encoded exponent (-1000 for zero) and whether it is
/// special.
struct SmallFormat {
  float value[256];
  std::int32_t exponent[256];
  bool special[256];
};

/// The table of e4m3, e5m2, e3m2, e2m3 or e2m1; of s8 and u8 the values alone.
const SmallFormat& small_format(ScalarType type);

/// Everything the vector loops need for one task.
struct GemmJob {
  const GemmTask* task = nullptr;
  Panel a, b;
  bool is_fp4 = false;
  Fp4Panel fp4_a, fp4_b;  // instead of `a` and `b`
  GemmCounters counters;
};

/// True if the products of tasks of this spec meet in the 25-bit window.
bool has_window_path(const DotSpec& spec);

/// Redoes D[row][column] of one step with `dot`; `c` is the word that stood there before.
std::uint32_t redo_element(const GemmJob& job, int row, int column, int step, std::uint32_t c);

/// Fills both panels unless they are of fp4, then multiplies; one per vector unit.
namespace portable {
void multiply(GemmJob& job);
}
namespace avx2 {
void multiply(GemmJob& job);
}
namespace avx512 {
void multiply(GemmJob& job);
}

}  // namespace kiln::num

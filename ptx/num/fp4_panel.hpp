// Operands of the fp4 kinds (mxf4, mxf4nvf4) in the form that their vector loop reads. Internal to ptx/num.
//
// A group is 16 stored elements, the datapath's unit: `dot` sums its products exactly before it cuts. A sparse A is
// spread over all columns of B with zeros between, so that a group covers 32 of them.
#pragma once

#include <cstdint>
#include <vector>

#include "ptx/num/gemm_task.hpp"

namespace kiln::num {

/// Stored elements whose products the datapath adds without cutting.
inline constexpr int fp4_group = 16;
inline constexpr int panel_block = 64;  // strips side by side: 64 byte codes fill a 512-bit register

/// All strips of an operand in blocks of 64 rows; rows beyond the operand are zeros.
struct Fp4Panel {
  int blocks = 0, steps = 0;
  int k = 0;                            // columns of a strip
  int groups = 0;                       // of a strip
  int fraction_bits = 0;                // of a scale: its significand counts units of 2^(exponent - these)
  std::vector<std::int16_t> halves;     // [block][step][k][row in block]: twice the value
  std::vector<std::uint32_t> live;      // [block][step][group][row in block]: a bit for each column that is not zero
  std::vector<std::int32_t> scales;     // the same: the scale's significand, an integer
  std::vector<std::int32_t> exponents;  // the same: the scale's encoded exponent
  std::vector<std::int32_t> specials;   // [block][step][row in block]: -1 where a scale is NaN

  /// Index of a strip's first half; its k-th is k * panel_block further.
  std::size_t half(int row, int step) const { return place(row, step, k); }
  /// Index of a strip's first group; the next are panel_block further.
  std::size_t group(int row, int step) const { return place(row, step, groups); }
  /// Index in `specials`.
  std::size_t strip(int row, int step) const { return place(row, step, 1); }

 private:
  std::size_t place(int row, int step, int each) const;
};

/// True if tasks of this spec run in the fp4 loop, which is exact whatever arithmetic is asked for.
bool has_fp4_path(const DotSpec& spec);

enum class Fp4Side : std::uint8_t { a, b };
/// Decodes one operand of a task.
void decode_fp4(const GemmTask& task, Fp4Side side, Fp4Panel& panel);

}  // namespace kiln::num

// ldmatrix, stmatrix and movmatrix: which element of a matrix in shared memory each lane holds. PTX ISA "ldmatrix",
// "stmatrix", "movmatrix".
//
// Rows are what the addresses name: 16 bytes each. `row` and `byte` are places in memory, so .trans shows in the
// functions and not in the rows.
#pragma once

#include "ptx/isa/modifiers.hpp"

namespace kiln::isa {

/// Bytes that each address of ldmatrix and stmatrix names.
inline constexpr int matrix_row_bytes = 16;

/// A byte of a matrix in memory.
struct MatrixByte {
  int row = 0;
  int byte = 0;
  constexpr bool operator==(const MatrixByte&) const = default;
};

/// Rows of one matrix in memory, which is lanes that give its addresses.
constexpr int matrix_rows(DataShape shape) { return shape == DataShape::m16n16 ? 16 : 8; }
/// 32-bit registers of each lane that one matrix takes.
constexpr int matrix_registers(DataShape shape) { return shape == DataShape::m16n16 ? 2 : 1; }

/// Where byte `b` (0 to 3) of register `r` of lane `t` lies. m8n8: two 16-bit elements of a row, or with .trans of a
/// column. m8n16: four bytes of a row. m16n16 (always .trans): four rows of one byte column. m16n8 (stmatrix, always
/// .trans): the lane's accumulator cells of a 16 x 8 tile, its eight columns the rows of memory.
constexpr MatrixByte matrix_byte(DataShape shape, bool trans, int t, int r, int b) {
  const int group = t / 4, lane = t % 4;
  switch (shape) {
    case DataShape::m16n16: return {4 * lane + b, group + 8 * r};
    case DataShape::m16n8: return {2 * lane + b % 2, group + 8 * (b / 2)};
    case DataShape::m8n16: return {group, 4 * lane + b};
    default: return trans ? MatrixByte{2 * lane + b / 2, 2 * group + b % 2} : MatrixByte{group, 4 * lane + b};
  }
}

/// Element `i` of a row of 16 in the formats that ldmatrix widens to bytes: b6x16_p32 packs 6 bits each, b4x16_p64 4;
/// the rest of the 16 bytes is padding. The byte has the element in its low bits.
constexpr int packed_element_bits(CpSourceFormat f) {
  return f == CpSourceFormat::b6x16_p32 ? 6 : f == CpSourceFormat::b4x16_p64 ? 4 : 8;
}

}  // namespace kiln::isa

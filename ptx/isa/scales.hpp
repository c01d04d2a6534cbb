// Block scaling: how many scales a row has in one MMA, how many elements share one, of which types they are. PTX ISA
// "Block Scaling for tcgen05.mma", "Valid combinations of .scale_vectorsize".
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "ptx/isa/instruction_descriptor.hpp"
#include "ptx/isa/modifiers.hpp"
#include "ptx/isa/tcgen05.hpp"

namespace kiln::isa {

/// A legal way to scale: dense K of one MMA, elements that share a scale, and what a scale may be. In a sparse MMA both
/// numbers double.
struct BlockScaling {
  MmaKind kind = MmaKind::none;
  int k = 0;
  int block = 0;
  bool ue4m3 = false;  // beside ue8m0, which all have; and on sm_107 ue5m3
  constexpr int scales() const { return k / block; }
  constexpr bool operator==(const BlockScaling&) const = default;
};

inline constexpr std::array<BlockScaling, 10> block_scalings{{
    {MmaKind::mxf8f6f4, 32, 32, false},
    {MmaKind::mxf4, 64, 32, false},
    {MmaKind::mxf4nvf4, 64, 32, false},
    {MmaKind::mxf4nvf4, 64, 16, true},
    {MmaKind::mxf4, 96, 32, false},  // K = 96 is sm_103a's
    {MmaKind::mxf4nvf4, 96, 32, false},
    {MmaKind::mxf4nvf4, 96, 16, true},
    {MmaKind::mxf8f6f4, 64, 32, false},  // twice the K is sm_107's; where eight scales of a row lie is not known
    {MmaKind::mxf4, 128, 32, false},
    {MmaKind::mxf4nvf4, 128, 32, false},
}};

/// Elements that share a scale under a written scale vector, for K = 32 and 64; 0: the kind does not take this one. No
/// vector written means block32, which mxf4nvf4 wants to see in writing.
constexpr int scale_block(MmaKind kind, ScaleVector v) {
  switch (v) {
    case ScaleVector::none: return kind == MmaKind::mxf8f6f4 || kind == MmaKind::mxf4 ? 32 : 0;
    case ScaleVector::x1: return kind == MmaKind::mxf8f6f4 ? 32 : 0;
    case ScaleVector::x2: return kind == MmaKind::mxf4 || kind == MmaKind::mxf4nvf4 ? 32 : 0;
    case ScaleVector::x4: return kind == MmaKind::mxf4nvf4 ? 16 : 0;
    case ScaleVector::block32: return is_block_scaled(kind) ? 32 : 0;
    case ScaleVector::block16: return kind == MmaKind::mxf4nvf4 ? 16 : 0;
  }
  return 0;
}

/// The legal scaling of a kind with blocks of so many elements.
constexpr std::optional<BlockScaling> block_scaling(MmaKind kind, int block, bool k96 = false, bool wide = false) {
  const int k = mma_k(kind, false, k96, wide);
  for (const BlockScaling& s : block_scalings)
    if (s.kind == kind && s.k == k && s.block == block) return s;
  return std::nullopt;
}

/// The descriptor's code of a scale type; nothing for other types.
constexpr std::optional<std::uint8_t> scale_format_code(ScalarType t) {
  if (t == ScalarType::ue4m3) return std::uint8_t{0};
  if (t == ScalarType::ue8m0) return std::uint8_t{1};
  if (t == ScalarType::ue5m3) return std::uint8_t{2};
  return std::nullopt;
}

/// The inverse of scale_format_code; `none` for a code without a type.
constexpr ScalarType scale_format(std::uint8_t code) {
  constexpr ScalarType types[] = {ScalarType::ue4m3, ScalarType::ue8m0, ScalarType::ue5m3};
  return code < 3 ? types[code] : ScalarType::none;
}

/// Scales of a row that one dense instruction reads; 0 where the kind has none.
constexpr int scales_per_row(MmaKind kind, ScaleVector v, bool k96 = false) {
  const int block = scale_block(kind, v);
  return block ? mma_k(kind, false, k96) / block : 0;
}

/// Where byte `k` of the scales of a row of A or of a column of B lies, relative to the scale address: 32 rows to a
/// column of cells, the scales along K in the bytes of a cell, from the fifth on in the next group of `group_columns`.
/// The hardware wants the same cells in every quarter of the lanes: `lane` is that of the first. PTX ISA "tcgen05,
/// Layout of the Scale Factor".
struct ScaleCell {
  int lane = 0;
  int column = 0;
  int byte = 0;
  constexpr bool operator==(const ScaleCell&) const = default;
};

inline constexpr int scales_per_cell = 4, scale_column_rows = 32;
constexpr ScaleCell scale_cell(int row, int k = 0, int group_columns = 0) {
  return {row % scale_column_rows, row / scale_column_rows + k / scales_per_cell * group_columns, k % scales_per_cell};
}

/// Which operand's scales: A's belong to rows, B's to columns.
enum class ScaleSide : std::uint8_t { A, B };

/// Whether B's scales lie by halves of N in halves of the lanes, as the columns of the accumulator do.
constexpr bool scales_lie_in_halves(CtaGroup group, int m) { return group == CtaGroup::two && m == 128; }

/// Rows of A and columns of B whose scale factors one CTA reads. PTX ISA "Scale Factor A/B Layout".
struct ScaledExtents {
  int a = 0;
  int b = 0;
};

constexpr ScaledExtents scaled_extents(CtaGroup group, int m, int n) {
  if (group == CtaGroup::one) return {m, n};
  return {m / 2, scales_lie_in_halves(group, m) ? n / 2 : n};
}

/// Columns from the address of the scale factors on that an MMA reads for `extent` rows: four scales to a cell, 32 rows
/// to a column. Scales that do not fit the first cell (K = 96) lie after a whole group of rows and are not counted.
constexpr int scale_columns(int extent) { return (extent + scale_column_rows - 1) / scale_column_rows; }

/// Columns from one group of four scales to the next, as the scales of a whole tile are laid out: B's are padded to 128
/// rows, except where halves of N lie in halves of the lanes.
constexpr int scale_group_columns(ScaleSide side, int m, int n, CtaGroup group) {
  const ScaledExtents e = scaled_extents(group, m, n);
  if (side == ScaleSide::A) return scale_columns(e.a);
  return scale_columns(e.b == n ? (e.b + 127) / 128 * 128 : e.b);
}

/// Where the scales of the `step`th MMA along K begin: columns from the first, and the byte of the cell (the
/// descriptor's SFA_ID or SFB_ID). `scales` is how many one MMA reads a row.
struct ScalePlace {
  int column = 0;
  int id = 0;
  constexpr bool operator==(const ScalePlace&) const = default;
};
constexpr ScalePlace scale_place(int scales, int group_columns, int step) {
  const int byte = scales * step;
  return {byte / scales_per_cell * group_columns, byte % scales_per_cell};
}

/// Columns for the scales of `steps` MMAs.
constexpr int scale_columns(int scales, int group_columns, int steps) {
  return (scales * steps + scales_per_cell - 1) / scales_per_cell * group_columns;
}

/// Scales in memory, as tcgen05.cp.32x128b takes them to all lanes: chunks of 128 rows by four scales, each the 32
/// lanes of scale_cell with four columns of four bytes. Chunks follow one another along K, then along the rows; what is
/// past the last row or scale belongs to no element. The layout is the libraries' (cuBLAS, CUTLASS), not the PTX ISA's.
inline constexpr int scale_chunk_rows = 128, scale_chunk_bytes = scale_chunk_rows * scales_per_cell;

/// Chunks that so many rows, or so many scales of a row, take.
constexpr std::uint64_t scale_row_chunks(std::uint64_t rows) {
  return (rows + scale_chunk_rows - 1) / scale_chunk_rows;
}
constexpr std::uint64_t scale_k_chunks(std::uint64_t scales) {
  return (scales + scales_per_cell - 1) / scales_per_cell;
}

/// The byte of scale number `scale` of a row, in a buffer with `k_chunks` chunks along K.
constexpr std::uint64_t scale_index(std::uint64_t row, std::uint64_t scale, std::uint64_t k_chunks) {
  constexpr std::uint64_t lane_bytes = scale_chunk_bytes / 32;
  const ScaleCell cell = scale_cell(int(row % scale_chunk_rows), int(scale % scales_per_cell));
  const std::uint64_t chunk = row / scale_chunk_rows * k_chunks + scale / scales_per_cell;
  return chunk * scale_chunk_bytes + std::uint64_t(cell.lane) * lane_bytes +
         std::uint64_t(cell.column * scales_per_cell + cell.byte);
}

static_assert(scale_index(33, 2, 5) == 16 + 4 + 2 && scale_index(128, 4, 5) == 6 * 512);

}  // namespace kiln::isa

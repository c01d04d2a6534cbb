// Tensor memory: its geometry, its addresses, and where the registers of tcgen05.ld/st and the elements of an accumulator
// lie in it. PTX ISA "Tensor Memory", "tcgen05 Data Path Layout".
#pragma once

#include <cstdint>

#include "ptx/isa/modifiers.hpp"
#include "ptx/isa/opcodes.hpp"
#include "ptx/isa/targets.hpp"

namespace kiln::isa {

inline constexpr int tmem_lanes = 128;
inline constexpr int tmem_columns = 512;  // 32-bit cells per lane
/// What tcgen05.alloc.exclusive may have.
constexpr int exclusive_tmem_columns(Target t) { return t.sm == 107 ? 576 : tmem_columns; }
inline constexpr int tmem_min_allocation = 32;
inline constexpr int tmem_lanes_per_warp = 32;  // warp w reaches lanes 32 * (w % 4) ... + 31

/// A tensor-memory address: lane in the upper half, column in the lower.
struct TmemAddress {
  int lane = 0;
  int column = 0;
  constexpr bool operator==(const TmemAddress&) const = default;
};

constexpr std::uint32_t pack(TmemAddress a) { return std::uint32_t(a.lane) << 16 | std::uint32_t(a.column); }
/// Only 7 lane bits and 9 column bits mean anything; the rest is dropped here and judged elsewhere.
constexpr TmemAddress unpack_tmem(std::uint32_t word) {
  return {int(word >> 16 & (tmem_lanes - 1)), int(word & (tmem_columns - 1))};
}

/// Columns of tensor memory, relative to some start.
struct ColumnRange {
  std::int64_t first = 0, count = 0;
  constexpr std::int64_t end() const { return first + count; }
};

/// The same columns, counted from elsewhere.
constexpr ColumnRange shifted(ColumnRange r, std::int64_t by) { return {r.first + by, r.count}; }
constexpr bool overlap(ColumnRange a, ColumnRange b) { return a.first < b.end() && b.first < a.end(); }

/// The tensor memory that a CTA holds along one path.
struct AllocState {
  std::int64_t live = 0;  // columns
  bool relinquished = false;
  constexpr bool operator==(const AllocState&) const = default;
};

/// What may change it, or asks for it.
enum class AllocEvent : std::uint8_t { alloc, dealloc, relinquish, use, exit };

/// tcgen05.ld, with or without a reduction.
constexpr bool is_tensor_load(Opcode op) { return op == Opcode::tcgen05_ld || op == Opcode::tcgen05_ld_red; }

/// How tcgen05.ld/st of a shape spreads over a warp: 32-bit registers per thread and columns per repeat (.xN).
struct LoadShape {
  int registers = 0;  // per repeat
  int columns = 0;    // per repeat, without pack/unpack
  int lanes = 0;
  int max_repeat = 0;
};

constexpr LoadShape load_shape(DataShape s) {
  switch (s) {
    case DataShape::s32x32b: return {1, 1, 32, 128};
    case DataShape::s16x64b: return {1, 2, 16, 128};
    case DataShape::s16x128b: return {2, 4, 16, 64};
    case DataShape::s16x256b: return {4, 8, 16, 32};
    case DataShape::s16x32bx2: return {1, 1, 16, 128};
    default: return {};
  }
}

/// The cell, relative to the address given, that register `i` of thread `t` holds. `split` is the immediate of 16x32bx2.
constexpr TmemAddress fragment_cell(DataShape s, int t, int i, int split = 0) {
  switch (s) {
    case DataShape::s32x32b: return {t, i};
    case DataShape::s16x64b: return {(t >> 2) + 8 * (t & 1), 2 * i + ((t >> 1) & 1)};
    case DataShape::s16x128b: return {(t >> 2) + 8 * (i & 1), 4 * (i >> 1) + (t & 3)};
    case DataShape::s16x256b: return {(t >> 2) + 8 * ((i >> 1) & 1), 8 * (i >> 2) + 2 * (t & 3) + (i & 1)};
    case DataShape::s16x32bx2: return {t % 16, i + (t >= 16 ? split : 0)};
    default: return {};
  }
}

/// The data-path layouts of an accumulator. PTX ISA "Data Path Layout Organization"; E is 2x2, whatever its table prints.
enum class DataPath : std::uint8_t { A, B, C, D, E, F, G };

/// Which layout an MMA of this shape uses; M is the whole MMA's.
constexpr DataPath data_path(int m, CtaGroup group, bool sparse, bool ws) {
  if (ws) return m == 32 ? DataPath::G : m == 64 ? DataPath::E : DataPath::D;
  if (group == CtaGroup::two) return m == 256 ? DataPath::A : sparse ? DataPath::C : DataPath::B;
  return m == 64 ? DataPath::F : DataPath::D;
}

/// Where accumulator element (m, n) lies: CTA of the pair, lane, column relative to the D address. `lane_base` is 0 or 16
/// and matters for C and F alone.
struct AccumulatorCell {
  int cta = 0;
  int lane = 0;
  int column = 0;
  constexpr bool operator==(const AccumulatorCell&) const = default;
};

constexpr AccumulatorCell accumulator_cell(DataPath path, int m, int n, int n_total, int lane_base = 0) {
  switch (path) {
    case DataPath::A: return {m / 128, m % 128, n};
    case DataPath::B: return {m / 64, m % 64 + 64 * (n / (n_total / 2)), n % (n_total / 2)};
    case DataPath::C: return {m / 64, 32 * (m % 64 / 16) + m % 16 + lane_base, n};
    case DataPath::D: return {0, m, n};
    case DataPath::E: return {0, m + 64 * (n / (n_total / 2)), n % (n_total / 2)};
    case DataPath::F: return {0, 32 * (m / 16) + m % 16 + lane_base, n};
    case DataPath::G: return {0, m + 32 * (n / (n_total / 4)), n % (n_total / 4)};
  }
  return {};
}

/// Columns that the accumulator of an MMA with N columns covers.
constexpr int accumulator_columns(DataPath path, int n) {
  switch (path) {
    case DataPath::B: case DataPath::E: return n / 2;
    case DataPath::G: return n / 4;
    default: return n;
  }
}

/// Whether an accumulator of this layout, and A beside it, fills 16 of each 32 lanes, so that another one fits in.
constexpr bool fills_half_the_lanes(DataPath path) { return path == DataPath::C || path == DataPath::F; }

/// Columns that an MMA reads of A in tensor memory: 32 bytes of each row, 48 for K = 96.
constexpr int a_columns(bool k96) { return k96 ? 12 : 8; }

}  // namespace kiln::isa

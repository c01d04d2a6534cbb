// tcgen05.cp and tcgen05.shift as the unit executes them.
#include <cstring>

#include "ptx/isa/tcgen05.hpp"
#include "ptx/rules/memory.hpp"
#include "sim/tensor_operands.hpp"

namespace kiln::sim {
namespace {

using u32 = std::uint32_t;

constexpr u32 piece = swizzle_piece;

// Lanes that a source row of a copy goes to.
std::vector<int> copy_lanes(const CopyTask& t, int row) {
  const int base = int(t.to >> 16 & 127);
  switch (t.shape) {
    case isa::DataShape::s4x256b: return {(base + 32 * row) % isa::tmem_lanes};
    case isa::DataShape::s32x128b: return {row, row + 32, row + 64, row + 96};
    case isa::DataShape::s64x128b:
      if (t.multicast == isa::CpMulticast::warpx2_02_13) return {row, row + 64};
      return {row % 32 + 64 * (row / 32), row % 32 + 64 * (row / 32) + 32};
    default: return {(base + row) % isa::tmem_lanes};
  }
}

struct CopyShape {
  int rows = 0, bytes = 0;
};
CopyShape copy_shape(isa::DataShape s) {
  switch (s) {
    case isa::DataShape::s128x256b: return {128, 32};
    case isa::DataShape::s4x256b: return {4, 32};
    case isa::DataShape::s128x128b: return {128, 16};
    case isa::DataShape::s64x128b: return {64, 16};
    default: return {32, 16};
  }
}

}  // namespace

void check_copy(const CopyTask& t, Cta& cta) {
  const CopyShape s = copy_shape(t.shape);
  cta.tmem.check_columns(int(t.to & 0xFFFF), s.bytes / 4, "tcgen05.cp");
  for (int row = 0; row < s.rows; ++row)
    for (int at = 0; at < s.bytes; at += int(piece)) {
      const u32 from = isa::k_major_address(t.from, t.swizzle, row, at);
      require(rules::memory_bounds(from, piece, reserved_shared_bytes, cta.shared.size()),
              "row {} of tcgen05.cp at shared address {:#x}; the CTA's shared memory is {:#x} to {:#x}", row, from,
              reserved_shared_bytes, cta.shared.size());
    }
}

void execute_copy(Grid& grid, const CopyTask& t, Cta& cta) {
  const CopyShape s = copy_shape(t.shape);
  const SharedReader reader{grid, t.operation, cta};
  const int column = int(t.to & 0xFFFF);
  for (int row = 0; row < s.rows; ++row)
    for (int at = 0; at < s.bytes; at += int(piece)) {
      const std::uint8_t* from = reader.at(isa::k_major_address(t.from, t.swizzle, row, at));
      for (const int lane : copy_lanes(t, row)) {
        std::memcpy(cta.tmem.cell(lane, column + at / 4), from, piece);
        std::memset(cta.tmem.written(lane, column + at / 4), 1, piece / 4);
      }
    }
}

void execute_shift(u32 address, Cta& cta) {
  const int column = int(address & 0xFFFF);
  for (int quarter = 0; quarter < isa::tmem_lanes; quarter += isa::tmem_lanes_per_warp)
    for (int lane = quarter; lane < quarter + isa::tmem_lanes_per_warp - 1; ++lane) {
      std::memcpy(cta.tmem.cell(lane, column), cta.tmem.cell(lane + 1, column), isa::mma_k_bytes);
      std::memcpy(cta.tmem.written(lane, column), cta.tmem.written(lane + 1, column), isa::mma_k_bytes / 4);
    }
}

}  // namespace kiln::sim

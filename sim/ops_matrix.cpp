// 8x8 matrices of 16-bit elements between shared memory and the registers of a warp. PTX ISA "ldmatrix", "stmatrix".
//
// Thread 8j + r gives the address of row r of matrix j. Thread t holds elements 2 * (t % 4) and the next of row t / 4,
// or of column t / 4 when transposed.
#include <cstring>

#include "sim/alu.hpp"

namespace kiln::sim {
namespace {

using isa::Opcode;
using isa::ScalarType;
using u16 = std::uint16_t;
using u32 = std::uint32_t;

constexpr u32 row_bytes = 16;

Place row_place(Context& c, const Inst& i, unsigned matrix, int row, AccessKind kind) {
  const int lane = int(matrix) * 8 + row;
  const Place p = locate_shared(c, isa::Space(i.space), c.address(i, lane), row_bytes, row_bytes, lane);
  observe(c, i, lane, p, row_bytes, kind);
  return p;
}

// Row and column of half `e` of thread t's register.
struct Element {
  int row = 0, column = 0;
};
Element element(int t, int e, bool transposed) {
  const int along = 2 * (t % 4) + e, across = t / 4;
  return transposed ? Element{along, across} : Element{across, along};
}

// more: a register for each matrix; flags: .trans.
Status load(Context& c, const Inst& i, Mask lanes) {
  if (!converged(c, lanes, all_lanes)) return Status::blocked;
  u32 out[4][warp_lanes];
  for (unsigned matrix = 0; matrix < i.more_count; ++matrix) {
    u16 rows[8][8];
    for (int r = 0; r < 8; ++r) {
      const Place p = row_place(c, i, matrix, r, AccessKind::read);
      check_written(*c.grid, i.operation, p, row_bytes);
      std::memcpy(rows[r], p.view.data, row_bytes);
    }
    for (int t = 0; t < warp_lanes; ++t) {
      const Element low = element(t, 0, i.flags), high = element(t, 1, i.flags);
      out[matrix][t] = rows[low.row][low.column] | u32(rows[high.row][high.column]) << 16;
    }
  }
  // The address register may be a result.
  for (unsigned matrix = 0; matrix < i.more_count; ++matrix)
    std::memcpy(c.lanes<u32>(c.slot(i, matrix).offset), out[matrix], sizeof out[matrix]);
  return Status::next;
}

Status store(Context& c, const Inst& i, Mask lanes) {
  if (!converged(c, lanes, all_lanes)) return Status::blocked;
  for (unsigned matrix = 0; matrix < i.more_count; ++matrix) {
    const u32* from = c.lanes<u32>(c.slot(i, matrix).offset);
    u16 rows[8][8];
    for (int t = 0; t < warp_lanes; ++t)
      for (int e = 0; e < 2; ++e) {
        const Element at = element(t, e, i.flags);
        rows[at.row][at.column] = u16(from[t] >> 16 * e);
      }
    for (int r = 0; r < 8; ++r) {
      const Place p = row_place(c, i, matrix, r, AccessKind::write);
      std::memcpy(p.view.data, rows[r], row_bytes);
      p.view.mark(row_bytes);
    }
  }
  return Status::next;
}

}  // namespace

bool lower_matrix(Lowering& l, const ir::Operation& op, Inst& inst) {
  if (op.opcode != Opcode::ldmatrix && op.opcode != Opcode::stmatrix) return false;
  const isa::Modifiers& m = op.modifiers;
  if (m.shape != isa::DataShape::m8n8 || m.type() != ScalarType::b16) throw Gap{"this matrix shape"};
  const bool loads = op.opcode == Opcode::ldmatrix;
  l.address(inst, op.arg(loads ? 1 : 0));
  l.append_all(inst, op.arg(loads ? 0 : 1), ScalarType::b32);
  if (int(inst.more_count) != isa::repeat_count(m.repeat) || inst.more_count > 4) throw Gap{"this matrix count"};
  inst.space = std::uint8_t(m.space());
  inst.flags = m.trans;
  inst.run = loads ? load : store;
  return true;
}

}  // namespace kiln::sim

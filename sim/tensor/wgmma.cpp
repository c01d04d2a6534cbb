#include "sim/tensor/wgmma.hpp"

#include <algorithm>
#include <cstring>

#include "ptx/rules/order.hpp"
#include "sim/tensor/operands.hpp"

namespace kiln::sim {
namespace {

using isa::Major;
using isa::ScalarType;

// Elements of a 16-byte piece, which lie along K or along the rows.
u32 element(const u8* piece, int bits, int at) {
  u32 word = 0;
  std::memcpy(&word, piece + at * bits / 8, std::size_t(bits / 8));
  return word;
}

u32 piece_address(const WgmmaOperand& o, int row, int k) {
  return o.major == Major::K ? isa::k_major_address(o.descriptor, o.swizzle, row, k * o.bits / 8)
                             : isa::mn_major_address(o.descriptor, o.swizzle, o.bits / 8, row, k);
}

// Calls f(row, k, address) for the first element of every piece.
template <class F>
void for_pieces(const WgmmaOperand& o, F f) {
  const int per_piece = int(swizzle_piece) * 8 / o.bits;
  const int row_step = o.major == Major::K ? 1 : per_piece, k_step = o.major == Major::K ? per_piece : 1;
  for (int row = o.first; row < o.first + o.rows; row += row_step)
    for (int k = 0; k < o.k; k += k_step) f(row, k, piece_address(o, row, k));
}

// Rows with K contiguous, one element to a word.
void gather(Cta& cta, const WgmmaTask& t, const WgmmaOperand& o, std::vector<u32>& out) {
  const SharedReader reader{cta.cluster->grid, t.operation, cta};
  const int per_piece = int(swizzle_piece) * 8 / o.bits;
  for_pieces(o, [&](int row, int k, u32 address) {
    const u8* piece = reader.at(address);
    for (int e = 0; e < per_piece; ++e) {
      const int r = row - o.first + (o.major == Major::K ? 0 : e), at = k + (o.major == Major::K ? e : 0);
      if (r < o.rows) out[std::size_t(r * o.k + at)] = element(piece, o.bits, e);
    }
  });
}

template <class W = u32>
W* lanes_of(const Warp& warp, const WgmmaTask& t, int slot) {
  return reinterpret_cast<W*>(warp.registers + t.slots[slot].offset);
}

void gather_a_registers(const Warp& warp, const WgmmaTask& t, WarpProduct& p) {
  const int per = t.mma.per_register(), stored = t.mma.stored_k();
  for (int r = 0; r < t.mma.operands[WarpMma::b] - t.mma.operands[WarpMma::a]; ++r) {
    const u32* from = lanes_of(warp, t, t.mma.operands[WarpMma::a] + r);
    for (int lane = 0; lane < warp_lanes; ++lane)
      for (int e = 0; e < per; ++e) {
        const isa::MmaSyncCell at = isa::mma_sync_a_cell(lane, r, e, per);
        p.a[std::size_t(at.row * stored + at.column)] =
            contained(t.mma, t.mma.spec.a, from[lane] >> e * t.mma.container);
      }
  }
}

// Calls f(register lane, cell, shift) for every element of D.
template <class F>
void for_accumulators(const Warp& warp, const WgmmaTask& t, F f) {
  const bool half = t.mma.spec.d == ScalarType::f16;
  for (int r = 0; r < t.mma.operands[WarpMma::a] - t.mma.operands[WarpMma::d]; ++r) {
    u32* lanes = lanes_of(warp, t, t.mma.operands[WarpMma::d] + r);
    for (int lane = 0; lane < warp_lanes; ++lane)
      for (int e = 0; e < (half ? 2 : 1); ++e) f(lanes[lane], isa::wgmma_d_cell(lane, half ? 2 * r + e : r), 16 * e);
  }
}

bool is_wgmma(isa::Opcode o) {
  return o == isa::Opcode::wgmma_mma_async || o == isa::Opcode::wgmma_mma_async_sp || o == isa::Opcode::wgmma_fence ||
         o == isa::Opcode::wgmma_commit_group || o == isa::Opcode::wgmma_wait_group;
}

// Offsets of the registers that an operation names.
const std::vector<u32>& touched(Context& c, const ir::Operation& op) {
  const auto [found, fresh] = c.grid->touched.try_emplace(&op);
  if (fresh) {
    const Program& program = c.grid->program;
    for (const auto& ids : {program.code->read(op), program.code->written(op)})
      for (const ir::RegisterId id : ids) found->second.push_back(program.registers[id]);
  }
  return found->second;
}

}  // namespace

std::vector<u32> WgmmaOperand::pieces() const {
  std::vector<u32> out;
  for_pieces(*this, [&](int, int, u32 address) { out.push_back(address); });
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

void execute_wgmma(Cta& cta, const WgmmaTask& t) {
  const Warp& warp = cta.warps[t.warp];
  const bool half = t.mma.spec.d == ScalarType::f16;
  WarpProduct p(t.mma, isa::wgmma_warp_rows);
  if (t.a_in_registers)
    gather_a_registers(warp, t, p);
  else
    gather(cta, t, t.a, p.a);
  gather(cta, t, t.b, p.b);
  if (t.mma.sparse) select_columns(t.mma, lanes_of(warp, t, t.mma.operands[WarpMma::metadata]), p);
  if (t.mma.spec.read_c)
    for_accumulators(warp, t, [&](u32& lane, isa::MmaSyncCell at, int shift) {
      p.d_at(at.row, at.column) = half ? lane >> shift & 0xFFFF : lane;
    });
  multiply(cta.cluster->grid, t.mma, p);
  for_accumulators(warp, t, [&](u32& lane, isa::MmaSyncCell at, int shift) {
    const u32 word = p.d_at(at.row, at.column);
    lane = half ? (lane & ~(0xFFFFu << shift)) | word << shift : word;
  });
}

WgmmaQueue& queue_of(Cta& cta, u32 warp) {
  if (cta.wgmma.empty()) cta.wgmma.resize(cta.warps.size());
  return cta.wgmma[warp];
}

void check_held_registers(Context& c, const Inst& i) {
  if (!i.operation || is_wgmma(i.operation->opcode)) return;
  const WgmmaQueue& q = queue_of(*c.cta, c.warp->index);
  for (const u32 offset : touched(c, *i.operation))
    for (const WgmmaQueue::Held& h : q.held)
      if (std::find(h.registers.begin(), h.registers.end(), offset) != h.registers.end())
        return c.grid->report(i.operation, rules::wgmma_registers(false).rule, "an access while it is in flight");
}

}  // namespace kiln::sim

#include "sim/tensor/wgmma.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

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

// Rows with K contiguous, one element to a word. Calls add_poison(row, source) for poison.
template <class F>
void gather(Cta& cta, const WgmmaTask& t, const WgmmaOperand& o, std::vector<u32>& out, F add_poison) {
  const SharedReader reader{cta.cluster->grid, t.operation, cta};
  const int per_piece = int(swizzle_piece) * 8 / o.bits;
  const auto bytes = std::size_t(o.bits / 8);
  for_pieces(o, [&](int row, int k, u32 address) {
    const View piece = reader.at(address);
    const PoisonSource poison = reader.poison(address);
    for (int e = 0; e < per_piece; ++e) {
      const int r = row - o.first + (o.major == Major::K ? 0 : e), at = k + (o.major == Major::K ? e : 0);
      if (r >= o.rows) continue;
      out[std::size_t(r * o.k + at)] = element(piece.data, o.bits, e);
      if (poison && !piece.from(std::size_t(e) * bytes).all_written(bytes)) add_poison(r, poison);
    }
  });
}

template <class W = u32>
W* lanes_of(const Warp& warp, const WgmmaTask& t, int slot) {
  return reinterpret_cast<W*>(warp.registers + t.slots[slot].offset);
}

u32 slot_of(const WgmmaTask& t, int slot) { return t.slots[slot].offset; }

void gather_a_registers(const Warp& warp, const WgmmaTask& t, WarpProduct& p) {
  const int per = t.mma.per_register(), stored = t.mma.stored_k();
  for (int r = 0; r < t.mma.operands[WarpMma::b] - t.mma.operands[WarpMma::a]; ++r) {
    const u32* from = lanes_of(warp, t, t.mma.operands[WarpMma::a] + r);
    for (int lane = 0; lane < warp_lanes; ++lane)
      for (int e = 0; e < per; ++e) {
        const isa::MmaSyncCell at = isa::mma_sync_a_cell(lane, r, e, per);
        p.a[std::size_t(at.row * stored + at.column)] =
            contained(t.mma, t.mma.spec.a, from[lane] >> e * t.mma.container);
        if (warp.poison &&
            warp.poison->has_element(slot_of(t, t.mma.operands[WarpMma::a] + r), lane, e, t.mma.container))
          p.add_poison_a(at.row, warp.poison->source(slot_of(t, t.mma.operands[WarpMma::a] + r)));
      }
  }
}

// The cells that D's registers held, and what the product leaves of them. half: two elements to a register.
void gather_poison_d(const Warp& warp, const WgmmaTask& t, WarpProduct& p, bool half) {
  for (int r = 0; r < t.mma.operands[WarpMma::a] - t.mma.operands[WarpMma::d]; ++r) {
    const u32 offset = slot_of(t, t.mma.operands[WarpMma::d] + r);
    if (!warp.poison->any({offset, 4, false})) continue;
    for (int lane = 0; lane < warp_lanes; ++lane)
      for (int e = 0; e < (half ? 2 : 1); ++e)
        if (warp.poison->has_element(offset, lane, e, half ? 16 : 32)) {
          const isa::MmaSyncCell at = isa::wgmma_d_cell(lane, half ? 2 * r + e : r);
          p.add_poison_d(at.row, at.column, warp.poison->source(offset));
        }
  }
}
void leave_poison_d(Warp& warp, const WgmmaTask& t, const WarpProduct& p, bool half) {
  for (int r = 0; r < t.mma.operands[WarpMma::a] - t.mma.operands[WarpMma::d]; ++r) {
    const u32 offset = slot_of(t, t.mma.operands[WarpMma::d] + r);
    Mask* const bytes = warp.poison->bytes(offset);
    for (int b = 0; b < 4; ++b)
      bytes[b] = lanes_where(all_lanes, [&](int lane) {
        const isa::MmaSyncCell at = isa::wgmma_d_cell(lane, half ? 2 * r + b / 2 : r);
        return p.is_poison(at.row, at.column);
      });
    if (p.poison) warp.poison->source(offset) = p.poison;
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
  Warp& warp = cta.warps[t.warp];
  const bool half = t.mma.spec.d == ScalarType::f16;
  WarpProduct p(t.mma, isa::wgmma_warp_rows);
  if (t.a_in_registers)
    gather_a_registers(warp, t, p);
  else
    gather(cta, t, t.a, p.a, [&](int row, PoisonSource s) { p.add_poison_a(row, s); });
  gather(cta, t, t.b, p.b, [&](int column, PoisonSource s) { p.add_poison_b(column, s); });
  const Slot* metadata = t.mma.sparse ? t.slots + t.mma.operands[WarpMma::metadata] : nullptr;
  for (int row = 0; metadata && warp.poison && warp.poison->any(*metadata) && row < p.m; ++row)
    p.add_poison_a(row, warp.poison->source(metadata->offset));
  if (warp.poison && t.mma.spec.read_c) gather_poison_d(warp, t, p, half);
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
  if (p.poison && !warp.poison) warp.poison = std::make_unique<RegisterPoison>(cta.cluster->grid.program.file_bytes);
  if (warp.poison) leave_poison_d(warp, t, p, half);
}

WgmmaQueue& queue_of(Cta& cta, u32 warp) {
  if (cta.wgmma.empty()) cta.wgmma.resize(cta.warps.size());
  return cta.wgmma[warp];
}

bool waits_for_registers(Context& c, const Inst& i) {
  if (!i.operation || is_wgmma(i.operation->opcode)) return false;
  WgmmaQueue& q = queue_of(*c.cta, c.warp->index);
  const std::vector<u32>& offsets = touched(c, *i.operation);
  bool waits = false;
  for (WgmmaQueue::Held& h : q.held) {
    if (std::find_first_of(offsets.begin(), offsets.end(), h.registers.begin(), h.registers.end()) == offsets.end())
      continue;
    waits |= h.number > q.completed;
    if (std::exchange(h.was_touched, true)) continue;
    c.grid->report(i.operation, rules::wgmma_registers(false).rule, "an access before the wait for its group");
  }
  if (waits) c.block({.kind = WaitKind::wgmma_group});
  return waits;
}

}  // namespace kiln::sim

#include "sim/tensor/copy.hpp"

#include <cstring>
#include <string>

#include "ptx/isa/access_bytes.hpp"
#include "ptx/isa/tcgen05.hpp"
#include "ptx/rules/memory.hpp"
#include "sim/tensor/footprint.hpp"
#include "sim/tensor/operands.hpp"

namespace kiln::sim {
namespace {

// Lanes that a source row of a copy goes to.
std::vector<int> copy_lanes(const CopyTask& t, int row) {
  const int base = int(t.to >> 16 & 127);
  switch (t.shape) {
    case isa::DataShape::s4x256b: return {base + 32 * row};
    case isa::DataShape::s32x128b: return {row, row + 32, row + 64, row + 96};
    case isa::DataShape::s64x128b:
      if (t.multicast == isa::CpMulticast::warpx2_02_13) return {row, row + 64};
      return {row % 32 + 64 * (row / 32), row % 32 + 64 * (row / 32) + 32};
    default: return {row};
  }
}

// Calls f(row, byte in the row, shared address) for each piece of the source.
template <class F>
void for_copy_pieces(const CopyTask& t, F f) {
  const isa::CopyShape s = isa::copy_shape(t.shape);
  for (int row = 0; row < s.rows; ++row)
    for (int at = 0; at < s.bytes; at += int(swizzle_piece))
      f(row, at, isa::k_major_address(t.from, t.swizzle, row, at));
}

// Sixteen elements packed at the front of a piece become bytes. 4 bits go to bits 2 to 5, where a byte container has
// them. Where 6 bits go is not documented, so the cells are marked and hold plain values.
void decompress(isa::CpSourceFormat format, const u8* from, u8* to) {
  const int bits = isa::source_bits(format), shift = bits == 4 ? 2 : 0;
  for (int e = 0; e < 16; ++e) {
    const int bit = e * bits;
    const int two = from[bit / 8] | from[bit / 8 + 1] << 8;
    to[e] = u8((two >> bit % 8 & ((1 << bits) - 1)) << shift);
  }
}

// Lanes that the shape gives no meaning to: the rows of a whole copy begin at lane 0, those of 4x256b in a quarter.
void check_lane(const CopyTask& t) {
  const u32 lane = t.to >> 16, lanes = t.shape == isa::DataShape::s4x256b ? isa::tmem_lanes_per_warp : 1;
  if (lane >= lanes) unmodelled("tcgen05.cp to lane " + std::to_string(lane));
}

}  // namespace

void check_copy(const CopyTask& t, Cta& cta) {
  const isa::CopyShape s = isa::copy_shape(t.shape);
  check_lane(t);
  if (t.from.leading_is_absolute) unmodelled("tcgen05.cp with an absolute leading dimension");
  cta.tmem.check_columns(int(t.to & 0xFFFF), s.bytes / 4, "tcgen05.cp");
  for_copy_pieces(t, [&](int row, int, u32 from) {
    require(rules::memory_bounds(from, swizzle_piece, reserved_shared_bytes, cta.shared.size()),
            "row {} of tcgen05.cp at shared address {:#x}; the CTA's shared memory is {:#x} to {:#x}", row, from,
            reserved_shared_bytes, cta.shared.size());
  });
}

void execute_copy(Grid& grid, const CopyTask& t, Cta& cta) {
  const SharedReader reader{grid, t.operation, cta};
  const int column = int(t.to & 0xFFFF), bits = isa::source_bits(t.source);
  const auto state = bits == 6 ? TensorMemory::six_bit_containers : TensorMemory::known;
  for_copy_pieces(t, [&](int row, int at, u32 address) {
    const u32 read = bits ? 2 * u32(bits) : swizzle_piece;
    const PoisonSource poison = reader.poison(address, read);
    const View piece = reader.at(address);
    const u8* from = piece.data;
    u8 bytes[swizzle_piece];
    if (bits)
      decompress(t.source, from, bytes);
    else
      std::memcpy(bytes, from, swizzle_piece);
    for (const int lane : copy_lanes(t, row)) {
      std::memcpy(cta.tmem.cell(lane, column + at / 4), bytes, swizzle_piece);
      cta.tmem.mark(lane, column + at / 4, swizzle_piece / 4, state);
      for (int k = 0; poison && k < int(swizzle_piece) / 4; ++k) {
        if (!bits && piece.from(std::size_t(4 * k)).all_written(4)) continue;
        cta.tmem.mark(lane, column + at / 4 + k, 1, TensorMemory::poison);
        grid.poison.store(cta.tmem.line_of(column + at / 4 + k), poison);
      }
    }
  });
}

void execute_shift(u32 address, Cta& cta) {
  const int column = int(address & 0xFFFF);
  for (int quarter = 0; quarter < isa::tmem_lanes; quarter += isa::tmem_lanes_per_warp)
    for (int lane = quarter; lane < quarter + isa::tmem_lanes_per_warp - 1; ++lane) {
      std::memcpy(cta.tmem.cell(lane, column), cta.tmem.cell(lane + 1, column), isa::mma_k_bytes);
      std::memcpy(cta.tmem.written(lane, column), cta.tmem.written(lane + 1, column), isa::mma_k_bytes / 4);
    }
}

void tell_copy(Context& c, const Inst& i, int lane, const CopyTask& t, Cta& cta, AsyncId id) {
  const auto tell = [&](Range r, AccessKind k, Proxy p) {
    c.grid->observer->access(c.agent(1u << lane), *i.operation, r, k, p, id);
  };
  const u32 bytes = t.source == isa::CpSourceFormat::none ? swizzle_piece : 2 * u32(isa::source_bits(t.source));
  const isa::CopyShape s = isa::copy_shape(t.shape);
  for_copy_pieces(t, [&](int row, int at, u32 from) {
    tell({isa::Space::shared_cta, cta.index, from, bytes, 1, Operand::copied}, AccessKind::read, Proxy::async);
    if (at != 0) return;
    for (const int to : copy_lanes(t, row))
      tell({isa::Space::reg, cta.index, isa::pack(isa::TmemAddress{to, int(t.to & 0xFFFF)}), u64(s.bytes), 1,
            Operand::copied},
           AccessKind::write, Proxy::tensor_memory);
  });
}

void tell_shift(Context& c, const Inst& i, int lane, u32 address, Cta& cta, AsyncId id) {
  for (const AccessKind kind : {AccessKind::read, AccessKind::write})
    c.grid->observer->access(
        c.agent(1u << lane), *i.operation,
        {isa::Space::reg, cta.index, address & 0xFFFF, isa::mma_k_bytes, isa::tmem_lanes, Operand::a}, kind,
        Proxy::tensor_memory, id);
}

}  // namespace kiln::sim

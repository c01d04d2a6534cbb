// wmma.load and wmma.store: fragments of a warp to and from memory. PTX ISA "wmma.load", "wmma.store".
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "ptx/isa/wmma.hpp"
#include "ptx/rules/execution.hpp"
#include "sim/core/memory_access.hpp"
#include "sim/ops/alu.hpp"
#include "sim/tensor/warp_product.hpp"

namespace kiln::sim {
namespace {

enum class WmmaPart : u8 { a, b, accumulator };
enum : u8 { flag_column_major = 1, flag_strided = 2 };

// What one element of a fragment is: where in the matrix, and which bits of the register.
struct Element {
  isa::MmaSyncCell cell{};
  int shift = 0;
};

// more: registers, the stride; mode: Part; width: bits of an element; target: the WarpMma, for its shape.
int per_register(const Context& c, const Inst& i) { return int(c.slot(i, 0).bytes) * 8 / i.width; }

Element wmma_element(const Context& c, const Inst& i, int r, int t, int e) {
  const WarpMma& mma = c.grid->program.mmas[i.target];
  const int per = per_register(c, i), k = mma.elements_k();
  switch (WmmaPart(i.mode)) {
    case WmmaPart::a: return {isa::wmma_a_cell(t, r, e, per, mma.shape.m, k), e * i.width};
    case WmmaPart::b: return {isa::wmma_b_cell(t, r, e, per, mma.shape.n, k), e * i.width};
    case WmmaPart::accumulator: break;
  }
  return {isa::wmma_cell(t, per * r + e, mma.shape.m), e * i.width};
}

// Elements from a row (or column) to the next when the instruction does not say.
int packed_stride(const Context& c, const Inst& i) {
  const WarpMma& mma = c.grid->program.mmas[i.target];
  const int rows = WmmaPart(i.mode) == WmmaPart::b ? mma.elements_k() : mma.shape.m;
  const int columns = WmmaPart(i.mode) == WmmaPart::a ? mma.elements_k() : mma.shape.n;
  return i.flags & flag_column_major ? rows : columns;
}

// Calls f(lane, register word, shift, place, bit in the place's first byte) for every element.
template <class F>
void for_elements(Context& c, const Inst& i, F f) {
  const unsigned registers = i.count;
  const Slot stride_slot = c.slot(i, registers);
  const u64 base = uniform(all_lanes, "address", [&](int t) { return c.address(i, t); });
  u64 stride = i.flags & flag_strided ? uniform(c, stride_slot, all_lanes, "stride") : u64(packed_stride(c, i));
  // Strides of b1 matrices count bits, elements here 32 of them.
  if (i.flags & flag_strided && c.grid->program.mmas[i.target].spec.bits != num::BitProduct::none) stride /= 32;
  const u32 bytes = std::max<u32>(1, i.width / 8);
  for (unsigned r = 0; r < registers; ++r)
    for (int t = 0; t < warp_lanes; ++t)
      for (int e = 0; e < per_register(c, i); ++e) {
        const Element x = wmma_element(c, i, int(r), t, e);
        const bool columns = (i.flags & flag_column_major) != 0;
        const u64 at =
            columns ? u64(x.cell.column) * stride + u64(x.cell.row) : u64(x.cell.row) * stride + u64(x.cell.column);
        const Place p = locate(c, Space(i.space), base + at * i.width / 8, bytes, bytes, t);
        f(t, r, x.shift, p, int(at * i.width % 8));
      }
}

// The bytes of a register that an element takes become poison.
void add_poison(Context& c, Slot s, int lane, int shift, int bits, PoisonSource source) {
  RegisterPoison& poison = poison_of(c);
  for (int b = shift / 8; b < std::max(shift / 8 + 1, (shift + bits) / 8); ++b) poison.bytes(s.offset)[b] |= 1u << lane;
  poison.source(s.offset) = source;
}

void wmma_load(Context& c, const Inst& i, Mask) {
  std::vector<std::array<u64, warp_lanes>> out(i.count, std::array<u64, warp_lanes>{});
  for (unsigned r = 0; c.warp->poison && r < i.count; ++r) c.warp->poison->set(c.slot(i, r), all_lanes, 0);
  const u32 bytes = std::max<u32>(1, i.width / 8);
  for_elements(c, i, [&](int t, unsigned r, int shift, const Place& p, int bit) {
    observe(c, i, t, p, bytes, AccessKind::read);
    if (!p.view.all_written(bytes))
      add_poison(c, c.slot(i, r), t, shift, i.width, poison_source(*c.grid, i.operation, p, bytes));
    u64 word = 0;
    std::memcpy(&word, p.view.data, bytes);
    if (i.width < 8) word = word >> bit & ((1u << i.width) - 1);
    out[r][std::size_t(t)] |= word << shift;
  });
  for (unsigned r = 0; r < i.count; ++r)  // the address register may be a result
    for (int t = 0; t < warp_lanes; ++t) c.write(c.slot(i, r), t, out[r][std::size_t(t)]);
}

void wmma_store(Context& c, const Inst& i, Mask) {
  const u32 bytes = i.width / 8;
  for_elements(c, i, [&](int t, unsigned r, int shift, const Place& p, int) {
    const u64 word = c.value(i, r, t) >> shift;
    observe(c, i, t, p, bytes, kind_of_write(p.view, &word, bytes));
    std::memcpy(p.view.data, &word, bytes);
    p.view.mark(bytes);
    if (c.warp->poison && c.warp->poison->bytes(c.slot(i, r).offset)[shift / 8] >> t & 1)
      leave_poison(*c.grid, i.operation, p, bytes, c.warp->poison->source(c.slot(i, r).offset),
                   "what is stored in global memory");
  });
}

WmmaPart part_of(const ir::Operation& op) {
  for (const std::string& text : op.modifiers.others) {
    if (text == "a") return WmmaPart::a;
    if (text == "b") return WmmaPart::b;
    if (text == "c" || text == "d") return WmmaPart::accumulator;
  }
  throw Gap{"no matrix"};
}

// Shape and element of the fragment; K of b1 counts words.
WarpMma described(const ir::Operation& op) {
  WarpMma mma;
  const ScalarType type = op.modifiers.type();
  for (const std::string& text : op.modifiers.others)
    if (const auto shape = isa::parse_matrix_shape(text)) mma.shape = *shape;
  if (mma.shape.m == 0) throw Gap{"no shape"};
  mma.spec.a = type;
  if (type == ScalarType::b1) mma.spec.bits = num::BitProduct::xor_popc;
  mma.container = type == ScalarType::b1 ? 32 : isa::bits(type);
  return mma;
}

void bind(Binder& binder, const ir::Operation& op, const ops::MatrixAccess& x, Inst& inst) {
  const isa::Modifiers& m = op.modifiers;
  const WarpMma mma = described(op);
  const WmmaPart part = part_of(op);
  if (m.row == m.col) throw Gap{"this layout"};
  binder.access(inst, op, x.address);
  binder.append_all(inst, x.registers, m.type() == ScalarType::f64 ? ScalarType::f64 : ScalarType::b32);
  inst.count = u8(inst.more_count);
  binder.append(inst, x.stride ? binder.any_width(x.stride, ScalarType::u32) : binder.constant(0, 4));
  const int k = mma.elements_k(), m_k = mma.shape.m * k, k_n = k * mma.shape.n, m_n = mma.shape.m * mma.shape.n;
  const int elements = part == WmmaPart::a ? m_k : part == WmmaPart::b ? k_n : m_n;
  const int bits = m.type() == ScalarType::f64 ? 64 : 32, needed = elements * mma.container / bits / warp_lanes;
  if (needed == 0 || inst.count % needed != 0) throw Gap{"fragments of this size"};
  inst.mode = u8(part);
  inst.width = u8(mma.container);
  inst.flags = u8((m.col ? flag_column_major : 0) | (x.stride ? flag_strided : 0));
  inst.target = binder.add(mma);
}

}  // namespace

void bind_wmma_load(Binder& binder, const ir::Operation& op, const ops::MatrixAccess& x, Inst& inst) {
  bind(binder, op, x, inst);
  inst.run = warp_wide<wmma_load>;
}

void bind_wmma_store(Binder& binder, const ir::Operation& op, const ops::MatrixAccess& x, Inst& inst) {
  bind(binder, op, x, inst);
  inst.run = warp_wide<wmma_store>;
}

}  // namespace kiln::sim

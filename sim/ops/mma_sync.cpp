// mma.sync, mma.sp and wmma.mma: one warp multiplies what its registers hold. PTX ISA "Warp-level Matrix Instructions".
// A fragment of wmma is tiles of mma.sync, so one handler serves both.
#include "ptx/isa/mma_metadata.hpp"
#include "ptx/isa/wmma.hpp"
#include "ptx/rules/execution.hpp"
#include "sim/ops/alu.hpp"
#include "sim/ops/matrix_form.hpp"
#include "sim/tensor/sides.hpp"
#include "sim/tensor/warp_product.hpp"

namespace kiln::sim {
namespace {

const WarpMma& mma_of(const Context& c, const Inst& i) { return c.grid->program.mmas[i.target]; }

const u32* words(const Context& c, const Inst& i, int slot) { return c.lanes<u32>(c.slot(i, unsigned(slot)).offset); }

int registers(const WarpMma& mma, WarpMma::Operand o) { return mma.operands[o + 1u] - mma.operands[o]; }

// The elements of A or B, each to its place.
void gather_factor(const Context& c, const Inst& i, const WarpMma& mma, WarpMma::Operand o, std::vector<u32>& to) {
  const ScalarType type = o == WarpMma::a ? mma.spec.a : mma.spec.b;
  const std::uint16_t* place = (o == WarpMma::a ? mma.a_places : mma.b_places).data();
  const int per = mma.per_register();
  for (int r = 0; r < registers(mma, o); ++r) {
    const u32* from = words(c, i, mma.operands[o] + r);
    for (int t = 0; t < warp_lanes; ++t)
      for (int e = 0; e < per; ++e) to[*place++] = contained(mma, type, from[t] >> e * mma.container);
  }
}

bool is_half(const WarpMma& mma) { return mma.spec.d == ScalarType::f16; }  // two elements in a register of C and D

void gather_c(const Context& c, const Inst& i, const WarpMma& mma, WarpProduct& p) {
  const std::uint16_t* place = mma.d_places.data();
  for (int r = 0; r < registers(mma, WarpMma::c); ++r) {
    const u32* from = words(c, i, mma.operands[WarpMma::c] + r);
    for (int t = 0; t < warp_lanes; ++t) {
      p.d[*place++] = is_half(mma) ? from[t] & 0xFFFF : from[t];
      if (is_half(mma)) p.d[*place++] = from[t] >> 16;
    }
  }
}

void scatter_d(const Context& c, const Inst& i, const WarpMma& mma, const WarpProduct& p) {
  const std::uint16_t* place = mma.d_places.data();
  for (int r = 0; r < registers(mma, WarpMma::d); ++r) {
    u32* to = c.lanes<u32>(c.slot(i, unsigned(mma.operands[WarpMma::d] + r)).offset);
    for (int t = 0; t < warp_lanes; ++t) {
      to[t] = p.d[*place++];
      if (is_half(mma)) to[t] |= p.d[*place++] << 16;
    }
  }
}

// Calls cell(lane, register, element) for each element of a fragment, and keeps the place that it gives.
template <class Cell>
std::vector<std::uint16_t> places(int registers, int per_register, Cell cell) {
  std::vector<std::uint16_t> out;
  out.reserve(std::size_t(registers * warp_lanes * per_register));
  for (int r = 0; r < registers; ++r)
    for (int t = 0; t < warp_lanes; ++t)
      for (int e = 0; e < per_register; ++e) out.push_back(std::uint16_t(cell(t, r, e)));
  return out;
}

void place_fragments(WarpMma& mma) {
  const int per = mma.per_register(), stored = mma.stored_k(), k = mma.elements_k(), m = mma.shape.m, n = mma.shape.n;
  mma.a_places = places(registers(mma, WarpMma::a), per, [&](int t, int r, int e) {
    const isa::MmaSyncCell at = isa::wmma_a_cell(t, r, e, per, m, stored);
    return at.row * stored + at.column;
  });
  mma.b_places = places(registers(mma, WarpMma::b), per, [&](int t, int r, int e) {
    const isa::MmaSyncCell at = isa::wmma_b_cell(t, r, e, per, n, k);
    return at.column * k + at.row;
  });
  const int halves = is_half(mma) ? 2 : 1;
  mma.d_places = places(registers(mma, WarpMma::d), halves, [&](int t, int r, int e) {
    const isa::MmaSyncCell at = isa::wmma_cell(t, halves * r + e, m);
    return at.row * n + at.column;
  });
}

// Three slots each: the scales, byte-id, thread-id.
void gather_scales(const Context& c, const Inst& i, const WarpMma& mma, WarpProduct& p) {
  const int sv = mma.spec.scale_vector;
  const auto gather = [&](WarpMma::Operand o, int rows, auto place, std::vector<u8>& out) {
    const auto slot = unsigned(mma.operands[o]);
    const u32* from = words(c, i, int(slot));
    const int byte = int(uniform(c, c.slot(i, slot + 1), all_lanes, "byte-id"));
    const int thread = int(uniform(c, c.slot(i, slot + 2), all_lanes, "thread-id"));
    if (byte < 0 || byte + sv > 4 || byte % sv || thread < 0 || thread >= (o == WarpMma::sfa ? 2 : 4))
      unmodelled("a scale selector outside its range");
    for (int row = 0; row < rows; ++row)
      for (int k = 0; k < sv; ++k) {
        const isa::MmaSyncScalePlace at = place(row, k, byte, thread);
        out.push_back(u8(from[at.lane] >> 8 * at.byte));
        if (!c.warp->poison || !c.warp->poison->has_element(c.slot(i, slot).offset, at.lane, at.byte, 8)) continue;
        const PoisonSource source = c.warp->poison->source(c.slot(i, slot).offset);
        o == WarpMma::sfa ? p.add_poison_a(row, source) : p.add_poison_b(row, source);
      }
  };
  gather(WarpMma::sfa, p.m, isa::mma_sync_scale_a, p.scale_a);
  gather(WarpMma::sfb, p.n, isa::mma_sync_scale_b, p.scale_b);
}

// Calls f(slot, register, lane, element) for each poison element of an operand.
template <class F>
void for_poison(const Context& c, const Inst& i, const WarpMma& mma, WarpMma::Operand o, int bits, F f) {
  for (int r = 0; r < registers(mma, o); ++r) {
    const Slot s = c.slot(i, unsigned(mma.operands[o] + r));
    if (!c.warp->poison->any(s)) continue;
    for (int t = 0; t < warp_lanes; ++t)
      for (int e = 0; e < s.bytes * 8 / bits; ++e)
        if (c.warp->poison->has_element(s.offset, t, e, bits)) f(s, r, t, e);
  }
}

isa::MmaSyncCell d_cell(const WarpMma& mma, int t, int r, int e) {
  return isa::wmma_cell(t, (is_half(mma) ? 2 : 1) * r + e, mma.shape.m);
}

int bits_of_d(const WarpMma& mma) { return is_half(mma) ? 16 : mma.spec.d == ScalarType::f64 ? 64 : 32; }

void gather_poison(const Context& c, const Inst& i, const WarpMma& mma, WarpProduct& p) {
  RegisterPoison& poison = *c.warp->poison;
  const int stored = mma.stored_k(), k = mma.elements_k();
  for_poison(c, i, mma, WarpMma::a, mma.container, [&](Slot s, int r, int t, int e) {
    const int per = s.bytes * 8 / mma.container;
    p.add_poison_a(isa::wmma_a_cell(t, r, e, per, p.m, stored).row, poison.source(s.offset));
  });
  for_poison(c, i, mma, WarpMma::b, mma.container, [&](Slot s, int r, int t, int e) {
    const int per = s.bytes * 8 / mma.container;
    p.add_poison_b(isa::wmma_b_cell(t, r, e, per, p.n, k).column, poison.source(s.offset));
  });
  for_poison(c, i, mma, WarpMma::c, bits_of_d(mma), [&](Slot s, int r, int t, int e) {
    const isa::MmaSyncCell at = d_cell(mma, t, r, e);
    p.add_poison_d(at.row, at.column, poison.source(s.offset));
  });
  if (!mma.sparse) return;
  const Slot metadata = c.slot(i, mma.operands[WarpMma::metadata]);  // of some lanes, for rows that it tells apart
  for (int row = 0; poison.any(metadata) && row < p.m; ++row) p.add_poison_a(row, poison.source(metadata.offset));
}

void scatter_poison(const Context& c, const Inst& i, const WarpMma& mma, const WarpProduct& p) {
  RegisterPoison& poison = *c.warp->poison;
  for (int r = 0; r < registers(mma, WarpMma::d); ++r) {
    const Slot s = c.slot(i, unsigned(mma.operands[WarpMma::d] + r));
    for (int b = 0; b < s.bytes; ++b)
      poison.bytes(s.offset)[b] = lanes_where(all_lanes, [&](int t) {
        const isa::MmaSyncCell at = d_cell(mma, t, r, b * 8 / bits_of_d(mma));
        return p.is_poison(at.row, at.column);
      });
    if (p.poison) poison.source(s.offset) = p.poison;
  }
}

// target: the WarpMma; more: its operands.
void multiply_warp(Context& c, const Inst& i, Mask) {
  const WarpMma& mma = mma_of(c, i);
  WarpProduct p(mma, mma.shape.m);
  gather_factor(c, i, mma, WarpMma::a, p.a);
  gather_factor(c, i, mma, WarpMma::b, p.b);
  gather_c(c, i, mma, p);
  if (mma.sparse) select_columns(mma, words(c, i, mma.operands[WarpMma::metadata]), p);
  if (mma.spec.scale_vector) gather_scales(c, i, mma, p);
  if (c.warp->poison) gather_poison(c, i, mma, p);
  multiply(*c.grid, mma, p);
  scatter_d(c, i, mma, p);
  if (c.warp->poison) scatter_poison(c, i, mma, p);
  ++c.grid->statistics.mma_instructions;
}

void multiply_f64(Context& c, const Inst& i, Mask) {
  const WarpMma& mma = mma_of(c, i);
  const int m = mma.shape.m, n = mma.shape.n, k = mma.shape.k;
  std::vector<double> a(std::size_t(m * k)), b(std::size_t(n * k)), d(std::size_t(m * n));
  const auto each = [&](WarpMma::Operand o, auto f) {
    for (int r = 0; r < registers(mma, o); ++r) {
      auto* reg = c.lanes<double>(c.slot(i, unsigned(mma.operands[o] + r)).offset);
      for (int t = 0; t < warp_lanes; ++t) f(reg[t], t, r);
    }
  };
  each(WarpMma::a, [&](double v, int t, int r) {
    const isa::MmaSyncCell at = isa::wmma_a_cell(t, r, 0, 1, m, k);
    a[std::size_t(at.row * k + at.column)] = v;
  });
  each(WarpMma::b, [&](double v, int t, int r) {
    const isa::MmaSyncCell at = isa::wmma_b_cell(t, r, 0, 1, n, k);
    b[std::size_t(at.column * k + at.row)] = v;
  });
  const auto cell = [&](int t, int r) -> double& {
    const isa::MmaSyncCell at = isa::wmma_cell(t, r, m);
    return d[std::size_t(at.row * n + at.column)];
  };
  each(WarpMma::c, [&](double v, int t, int r) { cell(t, r) = v; });
  const auto length = std::size_t(k);
  for (int row = 0; row < m; ++row)
    for (int column = 0; column < n; ++column) {
      double& x = d[std::size_t(row * n + column)];
      x = num::warp_dot_f64({a.data() + row * k, length}, {b.data() + column * k, length}, x);
    }
  WarpProduct poison(mma, m);
  if (c.warp->poison) gather_poison(c, i, mma, poison);
  each(WarpMma::d, [&](double& v, int t, int r) { v = cell(t, r); });
  if (c.warp->poison) scatter_poison(c, i, mma, poison);
  ++c.grid->statistics.mma_instructions;
  c.grid->statistics.mma_flops += u64(2) * u64(m * n * k);
}

// Registers that a fragment of `elements` of `bits` each takes in every lane.
int fragment_registers(int elements, int bits, int register_bits = 32) {
  return elements * bits / register_bits / warp_lanes;
}

void append_scale(Binder& binder, Inst& inst, const ir::Argument& scales, const ir::Argument& ids) {
  const auto parts = binder.code().components(ids);
  if (parts.size() != 2) throw Gap{"a scale selector of this form"};
  binder.append(inst, binder.any_width(binder.first_of(scales), ScalarType::b32));
  for (const ir::Argument& part : parts) binder.append(inst, binder.any_width(part, ScalarType::u16));
}

void check_warp_form(const ir::Operation& op, const WarpMma& mma) {
  const isa::Modifiers& m = op.modifiers;
  const ScalarType c = m.types[m.types.count == 2 ? 1 : 3];  // wmma of f16 names D and C alone
  if (c != mma.spec.d) throw Gap{"a C of another type than D"};
  if (mma.spec.a == ScalarType::f64 && m.rounding != isa::Rounding::none && m.rounding != isa::Rounding::rn)
    throw Gap{"this rounding"};
  if (op.opcode == Opcode::wmma_mma) return;  // the layouts were the loads' business
  const bool bits = mma.spec.bits != num::BitProduct::none;
  if (mma.shape == isa::MatrixShape{8, 8, 4} && mma.spec.a == ScalarType::f16)
    // ptxas 13.0 calls a routine that adds each lane's own dot product to all eight of its results, for sm_80 and up.
    throw Gap{"m8n8k4 of f16, of which ptxas makes something else than the ISA describes from sm_80 on"};
  if (!m.row || !m.col || (!bits && !m.repeated.empty())) throw Gap{"this layout of A and B"};
}

}  // namespace

void bind_mma_sync(Binder& binder, const ir::Operation& op, const ops::MmaSync& x, Inst& inst) {
  WarpMma mma = describe_mma(op, binder.sm());
  check_warp_form(op, mma);
  const bool wide = mma.spec.a == ScalarType::f64;
  const ScalarType type = wide ? ScalarType::f64 : ScalarType::b32;
  const auto begin = [&](WarpMma::Operand o) { mma.operands[o] = inst.more_count; };
  const std::pair<WarpMma::Operand, ops::Operand> fragments[] = {
      {WarpMma::d, x.d}, {WarpMma::a, x.a}, {WarpMma::b, x.b}, {WarpMma::c, x.c}};
  for (const auto& [o, registers] : fragments) {
    begin(o);
    binder.append_all(inst, registers, type);
  }
  begin(WarpMma::metadata);
  if (x.metadata) {
    binder.append(inst, binder.any_width(binder.first_of(*x.metadata), ScalarType::b32));
    if (x.selector->kind != ir::Argument::Kind::immediate) throw Gap{"a sparsity selector that is not a number"};
    mma.selector = int(x.selector->value);
    if (!isa::has_selector(mma.container, mma.stored_k(), mma.selector))
      throw Gap{"a sparsity selector that this shape does not have"};
  }
  begin(WarpMma::sfa);
  if (x.sfa) append_scale(binder, inst, x.sfa, x.sfa_ids);
  begin(WarpMma::sfb);
  if (x.sfb) append_scale(binder, inst, x.sfb, x.sfb_ids);
  const int bits = wide ? 64 : 32, m = mma.shape.m, n = mma.shape.n;
  const int d = fragment_registers(m * n, isa::bits(mma.spec.d), bits);
  const auto fits = [&](WarpMma::Operand o, int count) {
    const bool repeats = op.opcode == Opcode::wmma_mma;  // A and B of f16 have eight registers, whatever they need
    return count > 0 && (repeats ? registers(mma, o) % count == 0 : registers(mma, o) == count);
  };
  if (registers(mma, WarpMma::d) != d || registers(mma, WarpMma::c) != d ||
      !fits(WarpMma::a, fragment_registers(m * mma.stored_k(), mma.container, bits)) ||
      !fits(WarpMma::b, fragment_registers(n * mma.elements_k(), mma.container, bits)))
    throw Gap{"fragments of this size"};
  if (!wide) place_fragments(mma);
  inst.target = binder.add(mma);
  inst.run = wide ? warp_wide<multiply_f64> : warp_wide<multiply_warp>;
}

}  // namespace kiln::sim

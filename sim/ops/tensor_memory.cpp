// Tensor memory seen by warps: alloc, dealloc, ld, ld.red, st and their waits. PTX ISA "tcgen05 Memory Allocation and
// Management", "tcgen05.ld", "tcgen05.st".
//
// cta_group::2: each CTA of a pair allocates for itself; as both do the same, both get the same columns.
// Loads and stores take effect when they are issued; what their waits order is the race detector's business.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "ptx/flow/tensor_loads.hpp"
#include "ptx/rules/execution.hpp"
#include "ptx/rules/tcgen05_alloc.hpp"
#include "ptx/rules/tcgen05_form.hpp"
#include "ptx/rules/tcgen05_ld.hpp"
#include "sim/core/memory_access.hpp"
#include "sim/ops/alu.hpp"
#include "sim/ops/float_value.hpp"

namespace kiln::sim {
namespace {

using isa::DataShape;

enum : u8 { tmem_packed = 1, tmem_max = 2, tmem_abs = 4, tmem_nan = 8 };

// a, value: where the address goes; more[0]: columns.
Status allocate_columns(Context& c, const Inst& i, Mask lanes) {
  if (!whole_warp(c, i, lanes)) return Status::blocked;
  const u32 columns = u32(uniform(c, c.slot(i, 0), lanes, "column count"));
  const int l = first_lane(lanes);
  const Place to = locate_shared(c, Space(i.space), c.address(i, l), 4, 4, l);
  const bool must_wait = c.grid->residents && c.grid->residents->holds_back(*c.cta);
  const auto at = must_wait ? std::nullopt : c.cta->tmem.allocate(columns, i.operation->modifiers.exclusive);
  if (!at) return c.block({.kind = WaitKind::tmem_columns, .address = columns});
  c.cta->tmem_touched = true;
  const u32 word = isa::pack(isa::TmemAddress{0, int(*at)});
  to.owner->shared.write(u32(to.address), &word, sizeof word);
  observe(c, i, lanes, SyncKind::tmem_alloc, *at, columns);
  observe(c, i, l, to, 4, AccessKind::write);
  return Status::next;
}

// more: address, columns.
void release_columns(Context& c, const Inst& i, Mask lanes) {
  const u32 address = u32(uniform(c, c.slot(i, 0), lanes, "address"));
  const u32 columns = u32(uniform(c, c.slot(i, 1), lanes, "column count"));
  c.cta->tmem.release(address & 0xFFFF, columns);
  observe(c, i, lanes, SyncKind::tmem_dealloc, address & 0xFFFF, columns);
  c.cluster->changed(WaitKind::tmem_columns);
  if (c.grid->residents) c.grid->residents->wake(WaitKind::tmem_columns);
}

void relinquish(Context& c, const Inst& i, Mask lanes) {
  c.cta->tmem.relinquish();
  observe(c, i, lanes, SyncKind::tmem_relinquish, 0, 0);
}

// Where a warp's load or store starts. The hardware keeps a warp in its own quarter whatever the address says.
struct Window {
  int quarter = 0;  // first lane of the warp's quarter
  int lane = 0;     // start inside it
  int column = 0;
};

Window window(Context& c, const Inst& i, Mask lanes, DataShape shape) {
  const Slot base{i.a, u8(i.wide ? 8 : 4), false};
  const u32 address = u32(uniform(c, base, lanes, "tensor-memory address")) + u32(i.value);
  const int lane = int(address >> 16), warp = int(c.warp->index);
  const rules::Verdict v = rules::ld_quarter(shape, lane, warp);
  if (v.broken()) c.grid->report(i.operation, v.rule, fmt::format("lane {}", lane));
  return {isa::tmem_lanes_per_warp * (warp % 4), lane % isa::tmem_lanes_per_warp, int(address & 0xFFFF)};
}

// Calls f(register index, lane of the warp, TMEM lane, first TMEM column) for every register.
template <class F>
void for_cells(const Inst& i, const Window& w, F f) {
  const auto shape = DataShape(i.mode);
  const bool packed = (i.flags & tmem_packed) != 0;
  const int split = int(i.target);
  for (int k = 0; k < int(i.more_count); ++k)
    for (int t = 0; t < warp_lanes; ++t) {
      isa::TmemAddress cell = isa::fragment_cell(shape, t, k, 0);
      if (packed) cell.column *= 2;
      if (shape == DataShape::s16x32bx2 && t >= 16) cell.column += split;
      f(k, t, w.quarter + (w.lane + cell.lane) % isa::tmem_lanes_per_warp, w.column + cell.column);
    }
}

int columns_of(const Inst& i) {
  const isa::LoadShape s = isa::load_shape(DataShape(i.mode));
  return int(i.more_count) / s.registers * s.columns * (i.flags & tmem_packed ? 2 : 1);
}

// The first columns of the parts that an instruction touches: 16x32bx2 has two.
auto parts_of(const Inst& i, const Window& w) {
  const bool two = DataShape(i.mode) == DataShape::s16x32bx2;
  return std::array{w.column, two ? w.column + int(i.target) : w.column};
}

void check_footprint(Context& c, const Inst& i, const Window& w) {
  for (const int first : parts_of(i, w)) c.cta->tmem.check_columns(first, columns_of(i), "tcgen05.st");
}

// b, c: the columns that matter.
void check_load(Context& c, const Inst& i, const Window& w) {
  const TensorMemory& tmem = c.cta->tmem;
  for (const int first : parts_of(i, w)) {
    const int columns = columns_of(i);
    const int held = tmem.allocated_from(first, columns);
    const auto v = rules::tmem_range({0, columns}, {int(i.b), int(i.c)}, held);
    if (v.rule == rules::Rule::tmem_range_unused && first + columns <= isa::tmem_columns)
      c.grid->report(i.operation, v.rule,
                     fmt::format("columns {} to {}, of which {} is not allocated", first, first + columns - 1,
                                 first + held));
    else tmem.check_columns(first, columns, "tcgen05.ld");
  }
}

void watch_window(Context& c, const Inst& i, Mask lanes, const Window& w, AccessKind kind) {
  if (!c.grid->observer) return;
  const isa::LoadShape s = isa::load_shape(DataShape(i.mode));
  const auto bytes = u64(4 * columns_of(i));
  const auto tell = [&](int column) {
    const auto address = u64(isa::pack(isa::TmemAddress{w.quarter + w.lane, column}));
    c.grid->observer->access(c.agent(lanes), *i.operation, {Space::reg, c.cta->index, address, bytes, u32(s.lanes)},
                             kind, Proxy::tensor_memory, 0);
  };
  tell(w.column);
  if (DataShape(i.mode) == DataShape::s16x32bx2) tell(w.column + int(i.target));
  if (kind == AccessKind::read) c.warp->loads_pending = true;
}

// Whether thread t of the warp has register k in lane t and column k, from the first lane of the warp's quarter on.
bool is_row_each(const Inst& i, const Window& w) {
  return DataShape(i.mode) == DataShape::s32x32b && !(i.flags & tmem_packed) && w.lane == 0;
}

// Reads a row of cells into each thread; true if some are poison. What epilogues do, hence without a look at the shape
// for every register.
bool load_rows(Context& c, const Inst& i, const Window& w) {
  TensorMemory& tmem = c.cta->tmem;
  const int columns = int(i.more_count);
  bool poison = false;
  for (int t = 0; t < warp_lanes; ++t) {
    const int lane = w.quarter + t;
    tmem.require_known(lane, w.column, columns, "tcgen05.ld");
    poison |= tmem.poison_at(lane, w.column, columns).has_value();
    const u32* cells = tmem.cell(lane, w.column);
    for (int k = 0; k < columns; ++k) c.lanes<u32>(c.slot(i, unsigned(k)).offset)[t] = cells[k];
  }
  return poison;
}

// The same for any shape.
bool load_cells(Context& c, const Inst& i, const Window& w) {
  TensorMemory& tmem = c.cta->tmem;
  const bool packed = (i.flags & tmem_packed) != 0;
  bool poison = false;
  for_cells(i, w, [&](int k, int t, int lane, int column) {
    const u32* cell = tmem.cell(lane, column);
    const u8* written = tmem.written(lane, column);
    tmem.require_known(lane, column, packed ? 2 : 1, "tcgen05.ld");
    poison |= TensorMemory::is_poison(written[0]) || (packed && TensorMemory::is_poison(written[1]));
    c.lanes<u32>(c.slot(i, unsigned(k)).offset)[t] = packed ? (cell[0] & 0xFFFF) | cell[1] << 16 : cell[0];
  });
  return poison;
}

PoisonSource cell_source(Context& c, const Inst& i, const Window& w, int column) {
  if (const PoisonSource s = c.grid->poison.stored(c.cta->tmem.line_of(column))) return s;
  return c.grid->poison.read(i.operation, [&] { return fmt::format("tensor-memory cells from column {}", w.column); });
}

// Cells that are poison make their registers so, or a half of them where two cells are packed.
void spread_load(Context& c, const Inst& i, const Window& w) {
  RegisterPoison& poison = poison_of(c);
  const bool packed = (i.flags & tmem_packed) != 0;
  for (unsigned k = 0; k < i.more_count; ++k) poison.set(c.slot(i, k), all_lanes, 0);
  int last = -1;  // the column that `source` is for
  PoisonSource source = 0;
  for_cells(i, w, [&](int k, int t, int lane, int column) {
    const u8* written = c.cta->tmem.written(lane, column);
    const u32 to = c.slot(i, unsigned(k)).offset;
    for (int b = 0; b < 4; ++b) {
      const int cell = packed && b >= 2;
      if (!TensorMemory::is_poison(written[cell])) continue;
      poison.bytes(to)[b] |= 1u << t;
      if (std::exchange(last, column + cell) != column + cell) source = cell_source(c, i, w, column + cell);
      poison.source(to) = source;
    }
  });
}

// more: the registers; a, value: the address; b, c: the first and the number of the columns that matter; mode: shape;
// target: the split of 16x32bx2.
void load_tensor(Context& c, const Inst& i, Mask lanes) {
  const Window w = window(c, i, lanes, DataShape(i.mode));
  check_load(c, i, w);
  watch_window(c, i, lanes, w, AccessKind::read);
  const bool poison = is_row_each(i, w) ? load_rows(c, i, w) : load_cells(c, i, w);
  if (poison || c.warp->poison) spread_load(c, i, w);
}

// One step of a reduction. That .abs and .NaN mean what they mean for min and max is taken over from there.
u32 reduced(const Inst& i, u32 a, u32 b) {
  const bool is_max = (i.flags & tmem_max) != 0;
  switch (ScalarType(i.width)) {
    case ScalarType::u32: return is_max ? std::max(a, b) : std::min(a, b);
    case ScalarType::s32: {
      const auto x = std::int32_t(a), y = std::int32_t(b);
      return u32(is_max ? std::max(x, y) : std::min(x, y));
    }
    default: {
      const auto r =
          float(extremum(is_max, std::bit_cast<float>(a), std::bit_cast<float>(b), (i.flags & tmem_nan) != 0));
      return r == r ? std::bit_cast<u32>(r) : u32(num::canonical_nan(ScalarType::f32));
    }
  }
}

// A load, and in d the least or greatest of what each thread has loaded.
void load_and_reduce(Context& c, const Inst& i, Mask lanes) {
  load_tensor(c, i, lanes);
  const u32 bits = i.flags & tmem_abs ? 0x7FFFFFFF : 0xFFFFFFFF;
  for (int t = 0; t < warp_lanes; ++t) {
    const auto value = [&](unsigned k) { return c.lanes<u32>(c.slot(i, k).offset)[t] & bits; };
    u32 r = value(0);
    for (unsigned k = 1; k < i.more_count; ++k) r = reduced(i, r, value(k));
    c.lanes<u32>(i.d)[t] = r;
  }
  if (!c.warp->poison) return;
  RegisterPoison& poison = *c.warp->poison;
  Mask some = 0;
  for (unsigned k = 0; k < i.more_count; ++k)
    if (const Mask m = poison.any(c.slot(i, k))) some |= m, poison.source(i.d) = poison.source(c.slot(i, k).offset);
  poison.set({i.d, 4, false}, all_lanes, some);
}

void spread_store(Context& c, const Inst& i, const Window& w) {
  RegisterPoison& poison = *c.warp->poison;
  const bool packed = (i.flags & tmem_packed) != 0;
  for_cells(i, w, [&](int k, int t, int lane, int column) {
    const u32 from = c.slot(i, unsigned(k)).offset;
    for (int cell = 0; cell < (packed ? 2 : 1); ++cell) {
      if (!poison.has_element(from, t, cell, packed ? 16 : 32)) continue;
      c.cta->tmem.mark(lane, column + cell, 1, TensorMemory::poison);
      c.grid->poison.store(c.cta->tmem.line_of(column + cell), poison.source(from));
    }
  });
}

void store_tensor(Context& c, const Inst& i, Mask lanes) {
  const Window w = window(c, i, lanes, DataShape(i.mode));
  check_footprint(c, i, w);
  watch_window(c, i, lanes, w, AccessKind::write);
  TensorMemory& tmem = c.cta->tmem;
  const bool packed = (i.flags & tmem_packed) != 0;
  for_cells(i, w, [&](int k, int t, int lane, int column) {
    const u32 v = c.lanes<u32>(c.slot(i, unsigned(k)).offset)[t];
    u32* cell = tmem.cell(lane, column);
    u8* written = tmem.written(lane, column);
    cell[0] = packed ? v & 0xFFFF : v;
    written[0] = TensorMemory::known;
    if (packed) cell[1] = v >> 16, written[1] = TensorMemory::known;
  });
  if (c.warp->poison) spread_store(c, i, w);
}

Status order(Context& c, const Inst& i, Mask lanes) {
  const auto kind = SyncKind(i.mode);
  const bool waits = kind == SyncKind::tcgen05_wait_ld || kind == SyncKind::tcgen05_wait_st;
  if (waits && !whole_warp(c, i, lanes)) return Status::blocked;
  if (kind == SyncKind::tcgen05_wait_ld) c.warp->loads_pending = false;
  observe(c, i, lanes, kind, 0, 0);
  return Status::next;
}

void bind(Binder& binder, const ir::Operation& op, const ops::TmemAccess& x, Inst& inst) {
  const isa::Modifiers& m = op.modifiers;
  const isa::LoadShape shape = isa::load_shape(m.shape);
  if (shape.registers == 0) throw Gap{"this shape"};
  binder.address(inst, x.address);
  binder.append_all(inst, x.registers, ScalarType::b32);
  const rules::Verdict v = rules::ld_registers(m.shape, isa::repeat_count(m.repeat), inst.more_count);
  if (v.broken()) throw Gap{"a register vector that does not match shape and repeat"};
  inst.mode = u8(m.shape);
  inst.flags = m.pack_16b || m.unpack_16b ? tmem_packed : 0;
  if (m.shape == DataShape::s16x32bx2) inst.target = u32(x.split->value);
  if (!isa::is_tensor_load(op.opcode)) return;
  const isa::ColumnRange used = flow::columns_used(binder.code(), binder.definitions(), op);
  inst.b = u32(used.first), inst.c = u32(used.count);
}

void bind_load_and_reduce(Binder& binder, const ir::Operation& op, const ops::TmemAccess& x, Inst& inst) {
  const isa::Modifiers& m = op.modifiers;
  const auto v = rules::ld_reduction(m.shape, isa::repeat_count(m.repeat), m.type(), m.absolute, m.propagate_nan);
  if (v.broken()) throw Gap{"this reduction"};
  bind(binder, op, x, inst);
  const ir::Argument& to = x.reduced;  // ptxas takes {r} for r
  const bool braced = to.kind == ir::Argument::Kind::vector;
  inst.d = binder.result(braced ? binder.code().components(to).front() : to, m.type()).offset;
  inst.width = u8(m.type());
  inst.flags =
      u8((m.combine == Combine::max ? tmem_max : 0) | (m.absolute ? tmem_abs : 0) | (m.propagate_nan ? tmem_nan : 0));
  inst.run = warp_wide<load_and_reduce>;
}

}  // namespace

void bind_tmem_load(Binder& binder, const ir::Operation& op, const ops::TmemAccess& x, Inst& inst) {
  if (x.reduced) return bind_load_and_reduce(binder, op, x, inst);
  bind(binder, op, x, inst);
  inst.run = warp_wide<load_tensor>;
}

void bind_tmem_store(Binder& binder, const ir::Operation& op, const ops::TmemAccess& x, Inst& inst) {
  bind(binder, op, x, inst);
  inst.run = warp_wide<store_tensor>;
}

void bind_tcgen05_order(Binder&, const ir::Operation& op, const ops::Unread&, Inst& inst) {
  inst.mode = u8(op.opcode == Opcode::tcgen05_wait_ld        ? SyncKind::tcgen05_wait_ld
                 : op.opcode == Opcode::tcgen05_wait_st      ? SyncKind::tcgen05_wait_st
                 : op.opcode == Opcode::tcgen05_fence_before ? SyncKind::tcgen05_fence_before
                                                             : SyncKind::tcgen05_fence_after);
  inst.run = order;
}

void bind_tmem_allocation(Binder& binder, const ir::Operation& op, const ops::TmemAllocation& x, Inst& inst) {
  if (x.slot) binder.address(inst, x.slot);
  if (x.address) binder.append(inst, binder.any_width(x.address, ScalarType::b32));
  if (x.columns) binder.append(inst, binder.any_width(x.columns, ScalarType::b32));
  inst.space = u8(op.modifiers.space());
  inst.run = x.slot ? allocate_columns : x.address ? warp_wide<release_columns> : warp_wide<relinquish>;
}

}  // namespace kiln::sim

// Asynchronous bulk copies and their groups. PTX ISA "cp.async.bulk", "cp.async.bulk.tensor".
//
// What is wrong with a copy is found when it is issued. Its reads and writes happen at a seeded later time, so a source
// that is overwritten too early or a destination that is read too early shows in the data.
#include <fmt/format.h>

#include <cstring>

#include "ptx/isa/mbarrier.hpp"
#include "ptx/rules/tma.hpp"
#include "sim/alu.hpp"
#include "sim/atomics.hpp"
#include "sim/tma.hpp"

namespace kiln::sim {
namespace {

using isa::Completion;
using isa::Opcode;
using isa::ScalarType;
using isa::Space;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr u32 copy_least = 20, copy_spread = 600;  // ticks

u64 value(const Context& c, const Inst& i, unsigned k, int lane) { return c.read(c.slot(i, k), lane); }

std::shared_ptr<BulkGroup> open_group(Context& c, int lane) {
  BulkGroups& g = c.cta->bulk[c.thread(lane)];
  if (!g.open) g.open = std::make_shared<BulkGroup>();
  ++g.open->reads_left;
  ++g.open->writes_left;
  return g.open;
}

struct Barrier {
  Cta* cta = nullptr;
  u32 address = 0;
};
Barrier barrier_at(Context& c, Space space, u64 address, int lane) {
  const Place p = locate_shared(c, space, address, isa::mbarrier_bytes, isa::mbarrier_bytes, lane);
  p.owner->mbarriers.at(u32(p.address));
  return {p.owner, u32(p.address)};
}

AsyncId announce(Context& c, const Inst& i, int lane) {
  const AsyncId id = ++c.grid->last_async;
  if (c.grid->observer) c.grid->observer->issue(id, c.agent(1u << lane), *i.operation);
  return id;
}
void touch(Context& c, const Inst& i, int lane, AsyncId id, Range range, AccessKind kind) {
  if (c.grid->observer) c.grid->observer->access(c.agent(1u << lane), *i.operation, range, kind, Proxy::async, id);
}
void touch_tensor(Context& c, const Inst& i, int lane, AsyncId id, const Box& box, AccessKind kind) {
  if (!c.grid->observer) return;
  for (const auto& [address, bytes] : global_rows(box))
    touch(c, i, lane, id, {Space::global, 0, address, bytes, 1}, kind);
}
void describe(Context& c, AsyncId id, const Box& box, const Barrier* b) {
  if (!c.grid->observer) return;
  Transfer t{box.bytes(), box.map.address, int(box.map.rank), box.at, b != nullptr, 0, 0};
  if (b) t.mbarrier_cta = b->cta->index, t.mbarrier = b->address;
  c.grid->observer->transfer(id, t);
}
void describe(Context& c, AsyncId id, const Place& to, const Place& from, u32 bytes, const Barrier& b) {
  if (!c.grid->observer) return;
  const u64 global = to.space == Space::global ? to.address : from.space == Space::global ? from.address : 0;
  c.grid->observer->transfer(
      id, {bytes, global, 0, {}, b.cta != nullptr, b.cta ? b.cta->index : 0, b.address});
}
void finish(Grid& grid, AsyncId id) {
  if (grid.observer) grid.observer->complete(id);
}

// Delivers to an mbarrier.
void deliver(const Barrier& b, u32 bytes, AsyncId id) {
  signal_mbarrier(*b.cta, b.address, 0, bytes, id);
}

void close_read(Cluster& cluster, BulkGroup& g) {
  --g.reads_left;
  cluster.changed(WaitKind::bulk_group);
}
void close_write(Cluster& cluster, BulkGroup& g) {
  --g.writes_left;
  cluster.changed(WaitKind::bulk_group);
}

// Tensor copies. a/value: the map; more: the shared address, the mbarrier (or a constant), the CTA mask, coordinates.
// c: offset of the shared address, mode: offset index. flags bit 0: multicast.
constexpr unsigned slot_shared = 0, slot_barrier = 1, slot_mask = 2, slot_offsets = 3, slot_coordinates = 5;

Box box_of(Context& c, const Inst& i, int lane) {
  Box box;
  const Place p = locate(c, Space::generic, c.address(i, lane), isa::tensor_map_bytes, isa::tensor_map_alignment, lane);
  box.map = decode_tensor_map(p.view.data);
  require(rules::tma_rank(box.map.rank, i.count));
  for (unsigned d = 0; d < i.count; ++d) box.at[d] = std::int32_t(u32(value(c, i, slot_coordinates + d, lane)));
  return box;
}

// Whose barrier a multicast destination signals: its own, or with cta_group::2 that of the CTA in its pair which has
// the parity of the address given.
Cta& signalled(Context& c, const Inst& i, Cta& destination, const Barrier& given) {
  if (i.operation->modifiers.cta_group != isa::CtaGroup::two) return destination;
  return c.cluster->ctas[(destination.rank & ~1u) | (given.cta->rank & 1)];
}

void load_into(Context& c, const Inst& i, int lane, const Box& box, Cta& to, u32 shared, Barrier barrier) {
  const AsyncId id = announce(c, i, lane);
  describe(c, id, box, &barrier);
  tell_mbarrier_use(c, *i.operation, lane, *barrier.cta, barrier.address);
  const u32 bytes = box.bytes();
  touch_tensor(c, i, lane, id, box, AccessKind::read);
  touch(c, i, lane, id, {Space::shared_cta, to.index, shared, box.shared_bytes(), 1}, AccessKind::write);
  c.grid->statistics.tma_bytes += bytes;
  Grid* grid = c.grid;
  Cta* cta = &to;
  const ir::Operation* operation = i.operation;
  c.cluster->later(copy_least, copy_spread, operation, [=] {
    load_box(*grid, operation, box, *cta, shared);
    deliver(barrier, bytes, id);
    finish(*grid, id);
  });
}

Status tensor_load(Context& c, const Inst& i, Mask lanes) {
  const auto space = Space(i.space);
  for (Mask m = lanes; m; m &= m - 1) {
    const int l = first_lane(m);
    const Box box = box_of(c, i, l);
    const u64 address = value(c, i, slot_shared, l) + value(c, i, slot_offsets, l);
    check_box(box, u32(address));
    const Place to = locate_shared(c, space, address, box.shared_bytes(), 1, l);
    const Barrier b =
        barrier_at(c, Space::shared_cluster, value(c, i, slot_barrier, l) + value(c, i, slot_offsets + 1, l), l);
    if (!i.flags) {
      load_into(c, i, l, box, *to.owner, u32(to.address), b);
      continue;
    }
    const auto mask = u32(value(c, i, slot_mask, l)) & 0xFFFF;
    check_cta_mask(c, mask);
    for (Cta& cta : c.cluster->ctas)
      if (mask >> cta.rank & 1) load_into(c, i, l, box, cta, u32(to.address), {&signalled(c, i, cta, b), b.address});
  }
  return Status::next;
}

Status tensor_store(Context& c, const Inst& i, Mask lanes) {
  for (Mask m = lanes; m; m &= m - 1) {
    const int l = first_lane(m);
    const Box box = box_of(c, i, l);
    const u64 address = value(c, i, slot_shared, l) + value(c, i, slot_offsets, l);
    check_box(box, u32(address));
    check_store(box);
    const isa::Combine how = i.operation->modifiers.combine;
    if (how != isa::Combine::none && !can_combine(how, ScalarType(box.map.dtype))) unmodelled("this reduction of a tensor");
    const Place from = locate_shared(c, Space::shared_cta, address, box.shared_bytes(), 1, l);
    const AsyncId id = announce(c, i, l);
    describe(c, id, box, nullptr);
    touch(c, i, l, id, {Space::shared_cta, from.owner->index, from.address, box.shared_bytes(), 1}, AccessKind::read);
    touch_tensor(c, i, l, id, box, AccessKind::write);
    c.grid->statistics.tma_bytes += box.bytes();
    const auto group = open_group(c, l);
    Cluster* cluster = c.cluster;
    Cta* cta = from.owner;
    const auto shared = u32(from.address);
    const ir::Operation* operation = i.operation;
    cluster->later(copy_least, copy_spread, operation, [=] {
      auto rows = std::make_shared<std::vector<std::uint8_t>>(gather_box(cluster->grid, operation, box, *cta, shared));
      close_read(*cluster, *group);
      cluster->later(1, copy_spread, operation, [=] {
        store_box(cluster->grid, box, *rows, how);
        finish(cluster->grid, id);
        close_write(*cluster, *group);
      });
    });
  }
  return Status::next;
}

Status tensor_prefetch(Context& c, const Inst& i, Mask lanes) {
  for (Mask m = lanes; m; m &= m - 1) box_of(c, i, first_lane(m));
  return Status::next;
}

// Plain bulk copies. more: destination, source, size, mbarrier, and the offsets of the three addresses.
constexpr unsigned slot_to = 0, slot_from = 1, slot_size = 2, slot_signal = 3, slot_plain_offsets = 4;

// What one thread copies, as it will be done later.
struct PlainCopy {
  Place to, from;
  u32 bytes = 0;
  std::shared_ptr<BulkGroup> group{};  // or
  Barrier barrier{};
  AsyncId id = 0;
};

void start_copy(Cluster& cluster, const ir::Operation* operation, const PlainCopy& x) {
  Cluster* self = &cluster;
  cluster.later(copy_least, copy_spread, operation, [=] {
    check_written(self->grid, operation, x.from, x.bytes);
    auto data = std::make_shared<std::vector<std::uint8_t>>(x.from.view.data, x.from.view.data + x.bytes);
    if (x.group) close_read(*self, *x.group);
    self->later(1, copy_spread, operation, [=] {
      const isa::Modifiers& m = operation->modifiers;
      if (m.combine == isa::Combine::none)
        std::memcpy(x.to.view.data, data->data(), x.bytes);
      else
        combine_bytes(m.combine, m.type(), x.to.view.data, data->data(), x.bytes);
      x.to.view.mark(x.bytes);
      finish(self->grid, x.id);
      if (x.group)
        close_write(*self, *x.group);
      else
        deliver(x.barrier, x.bytes, x.id);
    });
  });
}

Status bulk_copy(Context& c, const Inst& i, Mask lanes) {
  const auto to_space = Space(i.space), from_space = Space(i.mode);
  const auto address = [&](unsigned slot, unsigned k, int l) {
    return value(c, i, slot, l) + value(c, i, slot_plain_offsets + k, l);
  };
  for (Mask m = lanes; m; m &= m - 1) {
    const int l = first_lane(m);
    PlainCopy x;
    x.bytes = u32(value(c, i, slot_size, l));
    require(rules::bulk_size(x.bytes));
    x.to = locate(c, to_space, address(slot_to, 0, l), x.bytes, 16, l);
    x.from = locate(c, from_space, address(slot_from, 1, l), x.bytes, 16, l);
    if (i.flags)
      x.group = open_group(c, l);
    else
      x.barrier = barrier_at(c, Space::shared_cluster, address(slot_signal, 2, l), l);
    x.id = announce(c, i, l);
    describe(c, x.id, x.to, x.from, x.bytes, x.barrier);
    if (!x.group) tell_mbarrier_use(c, *i.operation, l, *x.barrier.cta, x.barrier.address);
    for (const auto& [place, kind] : {std::pair{&x.from, AccessKind::read}, {&x.to, AccessKind::write}})
      touch(c, i, l, x.id, {place->space, place->owner ? place->owner->index : 0, place->address, x.bytes, 1}, kind);
    c.grid->statistics.tma_bytes += x.bytes;
    start_copy(*c.cluster, i.operation, x);
  }
  return Status::next;
}

Status commit_group(Context& c, const Inst& i, Mask lanes) {
  for (Mask m = lanes; m; m &= m - 1) {
    BulkGroups& g = c.cta->bulk[c.thread(first_lane(m))];
    g.committed.push_back(g.open ? std::move(g.open) : std::make_shared<BulkGroup>());
    g.open = nullptr;
    while (!g.committed.empty() && g.committed.front()->writes_left == 0) g.committed.pop_front();
  }
  if (c.grid->observer)
    c.grid->observer->sync(c.agent(lanes), i.operation, {SyncKind::bulk_commit, c.cta->index, 0, 0, 0});
  return Status::next;
}

// value: how many of the most recent groups may still be in flight; flags: .read.
Status wait_group(Context& c, const Inst& i, Mask lanes) {
  for (Mask m = lanes; m; m &= m - 1) {
    const auto& committed = c.cta->bulk[c.thread(first_lane(m))].committed;
    const std::size_t n = committed.size(), keep = std::size_t(i.value);
    for (std::size_t k = 0; k + keep < n; ++k) {
      if ((i.flags ? committed[k]->reads_left : committed[k]->writes_left) == 0) continue;
      Wait w;
      w.kind = WaitKind::bulk_group;
      w.address = keep;
      return c.block(w);
    }
  }
  if (c.grid->observer)
    c.grid->observer->sync(
        c.agent(lanes), i.operation,
        {i.flags ? SyncKind::bulk_wait_read : SyncKind::bulk_wait, c.cta->index, u64(i.value), 0, 0});
  return Status::next;
}

Status nothing(Context&, const Inst&, Mask) { return Status::next; }

// The map, then the coordinates, out of [map, {x, y}].
void map_operand(Lowering& l, const ir::Argument& a, Inst& inst, std::vector<Slot>& coordinates) {
  l.address(inst, a);
  const auto items = l.code().components(a);
  if (items.size() < 2 || items[1].kind != ir::Argument::Kind::vector) throw Gap{"a tensor operand of this form"};
  for (const ir::Argument& x : l.code().components(items[1])) coordinates.push_back(l.any_width(x, ScalarType::s32));
  inst.count = std::uint8_t(coordinates.size());
}

bool lower_tensor(Lowering& l, const ir::Operation& op, Inst& inst) {
  const isa::Modifiers& m = op.modifiers;
  if (m.tensor_mode != isa::TensorMode::none && m.tensor_mode != isa::TensorMode::tile) throw Gap{"this tensor mode"};
  std::vector<Slot> coordinates;
  const bool prefetch = op.opcode == Opcode::cp_async_bulk_prefetch_tensor;
  const bool loads = !prefetch && isa::is_shared(m.spaces[0]);
  map_operand(l, op.arg(loads ? 1 : 0), inst, coordinates);
  if (int(coordinates.size()) != isa::dimensions(m.dims)) throw Gap{"coordinates that do not match the dimension"};
  std::pair<Slot, std::int64_t> shared{l.constant(0, 8), 0}, barrier = shared;
  if (!prefetch) shared = l.address(op.arg(loads ? 0 : 1));
  if (loads) barrier = l.address(op.arg(2));
  l.append(inst, shared.first);
  l.append(inst, barrier.first);
  l.append(inst, m.multicast ? l.any_width(op.arg(3), ScalarType::u16) : l.constant(0, 4));
  l.append(inst, l.constant(u64(shared.second), 8));
  l.append(inst, l.constant(u64(barrier.second), 8));
  for (const Slot s : coordinates) l.append(inst, s);
  inst.space = std::uint8_t(m.spaces[0]);
  inst.flags = m.multicast;
  inst.run = prefetch ? tensor_prefetch : loads ? tensor_load : tensor_store;
  return true;
}

bool lower_plain(Lowering& l, const ir::Operation& op, Inst& inst) {
  const isa::Modifiers& m = op.modifiers;
  if (m.multicast || m.multicast_all || m.cp_mask || m.ignore_oob) throw Gap{"this form of bulk copy"};
  if (m.combine != isa::Combine::none && !can_combine(m.combine, m.type())) throw Gap{"this reduction"};
  const bool grouped = m.completion == Completion::bulk_group;
  const auto to = l.address(op.arg(0)), from = l.address(op.arg(1));
  const auto barrier = grouped ? std::pair<Slot, std::int64_t>{l.constant(0, 8), 0} : l.address(op.arg(3));
  l.append(inst, to.first);
  l.append(inst, from.first);
  l.append(inst, l.any_width(op.arg(2), ScalarType::u32));
  l.append(inst, barrier.first);
  for (const std::int64_t offset : {to.second, from.second, barrier.second}) l.append(inst, l.constant(u64(offset), 8));
  inst.space = std::uint8_t(m.spaces[0]);
  inst.mode = std::uint8_t(m.spaces[1]);
  inst.flags = grouped;
  inst.run = bulk_copy;
  return true;
}

}  // namespace

bool lower_bulk(Lowering& l, const ir::Operation& op, Inst& inst) {
  switch (op.opcode) {
    case Opcode::cp_async_bulk_tensor:
    case Opcode::cp_reduce_async_bulk_tensor:
    case Opcode::cp_async_bulk_prefetch_tensor: return lower_tensor(l, op, inst);
    case Opcode::cp_async_bulk:
    case Opcode::cp_reduce_async_bulk: return lower_plain(l, op, inst);
    case Opcode::cp_async_bulk_prefetch: inst.run = nothing; return true;
    case Opcode::cp_async_bulk_commit_group: inst.run = commit_group; return true;
    case Opcode::cp_async_bulk_wait_group:
      if (op.arg(0).kind != ir::Argument::Kind::immediate) throw Gap{"a group count that is not a number"};
      inst.value = op.arg(0).value;
      inst.flags = op.modifiers.read;
      inst.run = wait_group;
      return true;
    default: return false;
  }
}

}  // namespace kiln::sim

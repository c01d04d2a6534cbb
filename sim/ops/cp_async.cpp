// cp.async: copies of 4 to 16 bytes that each thread tracks in groups. PTX ISA "cp.async".
#include <cstring>

#include "ptx/isa/mbarrier.hpp"
#include "sim/async/async.hpp"
#include "sim/async/mbarrier_signal.hpp"
#include "sim/core/memory_access.hpp"
#include "sim/ops/alu.hpp"

namespace kiln::sim {
namespace {

constexpr u32 least = 10, spread = 300;  // ticks

// One thread's copy, and the group that waits for it.
struct Copy {
  View to{};
  Place from{};
  u32 bytes = 0, source_bytes = 0;  // the rest is zeros
  std::shared_ptr<BulkGroup> group{};
  AsyncId id = 0;
};

std::shared_ptr<BulkGroup> open_group(Context& c, int lane) {
  BulkGroups& g = c.cta->copies[c.thread(lane)];
  if (!g.open) g.open = std::make_shared<BulkGroup>();
  ++g.open->writes_left;
  return g.open;
}

bool idle(const std::vector<std::shared_ptr<BulkGroup>>& groups) {
  for (const auto& g : groups)
    if (g->writes_left) return false;
  return true;
}

// Arrivals whose copies are all done.
void arrive_if_done(Cta& cta) {
  for (std::size_t k = 0; k < cta.copy_arrivals.size();) {
    if (!idle(cta.copy_arrivals[k].groups)) {
      ++k;
      continue;
    }
    const u32 address = cta.copy_arrivals[k].address;
    const AsyncId id = cta.copy_arrivals[k].id;
    cta.copy_arrivals.erase(cta.copy_arrivals.begin() + std::ptrdiff_t(k));
    signal_mbarrier(cta, address, 1, 0, id);
  }
}

// a, value: destination; more: source, its offset, source bytes, a predicate that says to ignore the source; width:
// bytes.
void copy_async(Context& c, const Inst& i, Mask lanes) {
  std::vector<Copy> copies;
  for (const int l : each_lane(lanes)) {
    Copy x;
    x.id = announce(c, i, l);
    x.bytes = i.width;
    x.source_bytes = std::min<u32>(i.width, u32(c.value(i, 2, l)));
    if (i.more_count > 3 && c.read_predicate(c.slot(i, 3), l)) x.source_bytes = 0;
    const Place to = locate_shared(c, Space(i.space), c.address(i, l), x.bytes, x.bytes, l);
    touch(c, i, l, x.id, range_of(to, x.bytes), AccessKind::write, Proxy::generic);
    x.to = to.view;
    if (x.source_bytes) {
      const Place from = locate(c, Space::global, c.value(i, 0, l) + c.value(i, 1, l), x.source_bytes, 1, l);
      touch(c, i, l, x.id, range_of(from, x.source_bytes), AccessKind::read, Proxy::generic);
      x.from = from;
    }
    x.group = open_group(c, l);
    copies.push_back(std::move(x));
  }
  Cta* cta = c.cta;
  const ir::Operation* operation = i.operation;
  c.cluster->later(least, spread, operation, [cta, operation, copies = std::move(copies)] {
    for (const Copy& x : copies) {
      if (x.source_bytes) {
        std::memcpy(x.to.data, x.from.view.data, x.source_bytes);
        copy_poison(cta->cluster->grid, operation, x.from, x.to, x.source_bytes);
      }
      std::memset(x.to.data + x.source_bytes, 0, x.bytes - x.source_bytes);
      x.to.from(x.source_bytes).mark(x.bytes - x.source_bytes);
      --x.group->writes_left;
      finish(cta->cluster->grid, x.id);
    }
    arrive_if_done(*cta);
    cta->cluster->changed(WaitKind::bulk_group);
  });
}

void commit_copies(Context& c, const Inst& i, Mask lanes) {
  for (const int l : each_lane(lanes)) c.cta->copies[c.thread(l)].commit();
  observe(c, i, lanes, SyncKind::cp_async_commit, 0);
}

// value: how many of the most recent groups may still be in flight; flags: uncommitted copies count too.
Status wait_for_copies(Context& c, const Inst& i, Mask lanes) {
  for (const int l : each_lane(lanes)) {
    const BulkGroups& g = c.cta->copies[c.thread(l)];
    bool busy = i.flags && g.open && g.open->writes_left;
    for (std::size_t k = 0; k + std::size_t(i.value) < g.committed.size(); ++k)
      busy |= g.committed[k]->writes_left != 0;
    if (busy) return c.block({.kind = WaitKind::bulk_group, .address = u64(i.value)});
  }
  observe(c, i, lanes, SyncKind::cp_async_wait, u64(i.value), i.flags);
  return Status::next;
}

// flags: .noinc. Without it the arrival is one that the barrier's count does not include yet.
void arrive_after_copies(Context& c, const Inst& i, Mask lanes) {
  for (const int l : each_lane(lanes)) {
    const Place p = locate_shared(c, Space(i.space), c.address(i, l), isa::mbarrier_bytes, isa::mbarrier_bytes, l);
    const auto address = u32(p.address);
    Mbarrier& b = c.cta->mbarriers.at(address);
    if (!i.flags) ++b.pending;
    mirror_mbarrier(*c.cta, address);
    const BulkGroups& g = c.cta->copies[c.thread(l)];
    const AsyncId id = ++c.grid->last_async;
    observe(c, i, 1u << l, SyncKind::cp_async_arrive, address, 0, id);
    CopyArrival arrival{address, id, {g.committed.begin(), g.committed.end()}};
    if (g.open) arrival.groups.push_back(g.open);
    c.cta->copy_arrivals.push_back(std::move(arrival));
  }
  arrive_if_done(*c.cta);
}

}  // namespace

void bind_cp_async(Binder& binder, const ir::Operation& op, const ops::CpAsync& x, Inst& inst) {
  binder.access(inst, op, x.to);
  inst.width = u8(x.bytes->value);
  const bool ignores =
      x.source->kind == ir::Argument::Kind::reg && binder.code().registers[x.source->id].type == ScalarType::pred;
  binder.append_address(inst, x.from);
  const bool counted = x.source && !ignores;
  binder.append(inst, counted ? binder.any_width(x.source, ScalarType::u32) : binder.constant(inst.width, 4));
  if (ignores) binder.append(inst, binder.predicate(x.source));
  inst.run = goes_on<copy_async>;
}

void bind_cp_async_group(Binder&, const ir::Operation& op, const ops::Count& n, Inst& inst) {
  inst.value = n.count->value;
  inst.flags = op.opcode == Opcode::cp_async_wait_all;
  inst.run = op.opcode == Opcode::cp_async_commit_group ? goes_on<commit_copies> : wait_for_copies;
}

void bind_cp_async_arrive(Binder& binder, const ir::Operation& op, const ops::Mbarrier& m, Inst& inst) {
  binder.access(inst, op, m.object);
  inst.flags = op.modifiers.noinc;
  inst.run = goes_on<arrive_after_copies>;
}

}  // namespace kiln::sim

// Barriers of a CTA and of a cluster. PTX ISA "bar, barrier", "barrier.cluster".
//
// An arrival counts once; a fragment that has arrived keeps the generation it waits for in its token and tries again
// until that generation is over.
#include "ptx/rules/execution.hpp"
#include "sim/core/convergence.hpp"
#include "sim/core/memory_access.hpp"
#include "sim/ops/alu.hpp"

namespace kiln::sim {
namespace {

using isa::Opcode;
using isa::ScalarType;
using u32 = std::uint32_t;

enum : std::uint8_t { flag_aligned = 1, flag_arrive = 2, flag_reduce = 4, flag_counted = 8 };

// Threads that an arrival counts for: whole warps, whoever of them has left already.
u32 arrivals(const Context& c, const Inst& i, Mask lanes) {
  const bool whole = (lanes & c.warp->live) == c.warp->live;
  return i.flags & flag_counted && whole ? u32(warp_lanes) : u32(count(lanes));
}

void complete_if_all(Context& c, NamedBarrier& b) {
  const u32 wanted = b.everybody ? c.cta->live_threads() : b.expected;
  if (b.arrived == 0 || b.arrived < wanted) return;
  b.arrived = 0;
  b.result = b.population;
  b.population = 0;
  ++b.generation;
  c.cluster->changed(WaitKind::barrier);
}

void arrive(Context& c, const Inst& i, Mask lanes, u32 id, NamedBarrier& b) {
  const bool everybody = !(i.flags & flag_counted);
  const u32 expected = everybody ? 0 : u32(c.read(c.slot(i, 1), first_lane(lanes)));
  const u32 threads = arrivals(c, i, lanes);
  if (!everybody) require(rules::barrier_count(expected));
  require(rules::barrier_mismatch({b.expected, b.arrived}, expected, threads),
          "{} threads at barrier {} with count {}, after {} threads with count {}", threads, id, expected, b.arrived,
          b.expected);
  b.everybody = everybody;
  b.expected = expected;
  b.arrived += threads;
  if (i.flags & flag_reduce) b.population += u32(count(c.read_mask(c.slot(i, 2)) & lanes));
  observe(c, i, lanes, Sync{SyncKind::barrier_arrive, c.cta->index, id, b.generation, 0});
}

void give_result(Context& c, const Inst& i, Mask lanes, const NamedBarrier& b, u32 threads) {
  if (isa::Combine(i.mode) == isa::Combine::popc) {
    auto* d = c.lanes<u32>(i.d);
    for_lanes(lanes, [=, &b](int l) { d[l] = b.result; });
    return;
  }
  const bool r = isa::Combine(i.mode) == isa::Combine::and_ ? b.result == threads : b.result != 0;
  c.mask(i.d) = (c.mask(i.d) & ~lanes) | (r ? lanes : 0);
}

// more: barrier number, thread count, predicate.
Status barrier(Context& c, const Inst& i, Mask lanes) {
  Fragment& f = *c.fragment;
  if (i.flags & flag_aligned && !f.arrived && !converged(c, lanes, all_lanes)) return Status::blocked;
  const auto id = u32(c.read(c.slot(i, 0), first_lane(lanes)));
  require(rules::barrier_number(id));
  NamedBarrier& b = c.cta->barriers[id];
  if (!f.arrived) {
    const std::uint64_t generation = b.generation;
    arrive(c, i, lanes, id, b);
    if (i.flags & flag_arrive) {
      complete_if_all(c, b);
      return Status::next;
    }
    f.arrived = true;
    f.token = generation;
  }
  if (b.generation == f.token) complete_if_all(c, b);
  if (b.generation == f.token) {
    Wait w;
    w.kind = WaitKind::barrier;
    w.address = id;
    return c.block(w);
  }
  f.arrived = false;
  if (i.flags & flag_reduce) give_result(c, i, lanes, b, b.everybody ? c.cta->live_threads() : b.expected);
  observe(c, i, lanes, Sync{SyncKind::barrier_leave, c.cta->index, id, f.token, 0});
  return Status::next;
}

bool bind_named(Binder& l, const ir::Operation& op, Inst& inst, std::uint8_t kind, bool aligned) {
  const bool reduces = (kind & flag_reduce) != 0;
  std::size_t at = reduces ? 1 : 0;
  const std::size_t rest = op.arguments.size() - at;
  const bool counted = reduces ? rest == 3 : rest == 2;
  inst.flags = std::uint8_t(kind | (aligned ? flag_aligned : 0) | (counted ? flag_counted : 0));
  l.append(inst, l.any_width(op.arg(at++), ScalarType::u32));
  l.append(inst, counted ? l.any_width(op.arg(at++), ScalarType::u32) : l.constant(0, 4));
  if (reduces) {
    const bool popc = op.modifiers.combine == isa::Combine::popc;
    inst.d = l.any_result(op.arg(0), popc ? ScalarType::u32 : ScalarType::pred).offset;
    l.append(inst, l.predicate(op.arg(at)));
    inst.mode = std::uint8_t(op.modifiers.combine);
  }
  inst.run = barrier;
  return true;
}

u32 cluster_threads(const Cluster& cluster) {
  u32 n = 0;
  for (const Cta& cta : cluster.ctas) n += cta.live_threads();
  return n;
}

// The number of a generation that a thread arrived in is kept per warp: every lane of a warp arrives once per
// generation.
Status cluster_arrive(Context& c, const Inst& i, Mask lanes) {
  if (i.flags & flag_aligned && !converged(c, lanes, all_lanes)) return Status::blocked;
  c.cluster->barrier_arrived += u32(count(lanes));
  observe(c, i, lanes, Sync{SyncKind::cluster_arrive, c.cta->index, 0, c.cluster->barrier_generation, 0});
  c.warp->cluster_token = c.cluster->barrier_generation;
  c.cluster->changed(WaitKind::cluster_barrier);
  return Status::next;
}

Status cluster_wait(Context& c, const Inst& i, Mask lanes) {
  if (i.flags & flag_aligned && !converged(c, lanes, all_lanes)) return Status::blocked;
  Cluster& cluster = *c.cluster;
  if (cluster.barrier_generation == c.warp->cluster_token && cluster.barrier_arrived != 0 &&
      cluster.barrier_arrived >= cluster_threads(cluster)) {
    cluster.barrier_arrived = 0;
    ++cluster.barrier_generation;
    cluster.changed(WaitKind::cluster_barrier);
  }
  if (cluster.barrier_generation == c.warp->cluster_token) {
    Wait w;
    w.kind = WaitKind::cluster_barrier;
    return c.block(w);
  }
  observe(c, i, lanes, Sync{SyncKind::cluster_leave, c.cta->index, 0, c.warp->cluster_token, 0});
  return Status::next;
}

}  // namespace

bool bind_barrier(Binder& l, const ir::Operation& op, Inst& inst) {
  const bool aligned = op.modifiers.aligned;
  switch (op.opcode) {
    case Opcode::bar_sync:
    case Opcode::bar_cta_sync: return bind_named(l, op, inst, 0, true);
    case Opcode::bar_arrive:
    case Opcode::bar_cta_arrive: return bind_named(l, op, inst, flag_arrive, true);
    case Opcode::bar_red:
    case Opcode::bar_cta_red: return bind_named(l, op, inst, flag_reduce, true);
    case Opcode::barrier_sync:
    case Opcode::barrier_cta_sync: return bind_named(l, op, inst, 0, aligned);
    case Opcode::barrier_arrive:
    case Opcode::barrier_cta_arrive: return bind_named(l, op, inst, flag_arrive, aligned);
    case Opcode::barrier_red:
    case Opcode::barrier_cta_red: return bind_named(l, op, inst, flag_reduce, aligned);
    case Opcode::barrier_cluster_arrive:
    case Opcode::barrier_cluster_wait:
      inst.flags = aligned ? flag_aligned : 0;
      inst.run = op.opcode == Opcode::barrier_cluster_arrive ? cluster_arrive : cluster_wait;
      return true;
    default: return false;
  }
}

}  // namespace kiln::sim

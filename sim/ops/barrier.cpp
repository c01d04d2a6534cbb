// Barriers of a CTA and of a cluster. PTX ISA "bar, barrier", "barrier.cluster".
//
// An arrival counts once; a fragment that has arrived keeps the generation it waits for in its token and tries again
// until that generation is over.
#include "ptx/rules/execution.hpp"
#include "sim/core/memory_access.hpp"
#include "sim/ops/alu.hpp"

namespace kiln::sim {
namespace {

enum : u8 { flag_aligned = 1, flag_arrive = 2, flag_reduce = 4, flag_counted = 8 };

void complete_if_all(Context& c, NamedBarrier& b) {
  const u32 wanted = b.all_threads ? c.cta->live_threads() : b.expected;
  if (b.arrived == 0 || b.arrived < wanted) return;
  b.arrived = 0;
  b.parts.clear();
  b.result = b.population;
  b.population = 0;
  ++b.generation;
  c.cluster->changed(WaitKind::barrier);
}

void arrive_named(Context& c, const Inst& i, Mask lanes, u32 id, NamedBarrier& b) {
  const bool all_threads = !(i.flags & flag_counted);
  const u32 expected = all_threads ? 0 : u32(c.value(i, 1, first_lane(lanes)));
  const u32 threads = all_threads ? u32(count(lanes)) : b.arrive(c.warp->index, lanes, c.warp->live);
  if (!all_threads) require(rules::barrier_count(expected));
  require(rules::barrier_mismatch({b.expected, b.arrived}, expected, threads),
          "{} threads at barrier {} with count {}, after {} threads with count {}", threads, id, expected, b.arrived,
          b.expected);
  b.all_threads = all_threads;
  b.expected = expected;
  b.arrived += threads;
  if (i.flags & flag_reduce) b.population += u32(count(c.read_mask(c.slot(i, 2)) & lanes));
  observe(c, i, lanes, SyncKind::barrier_arrive, id, b.generation);
}

void give_result(Context& c, const Inst& i, Mask lanes, const NamedBarrier& b, u32 threads) {
  if (Combine(i.mode) == Combine::popc) return fill_lanes(c, i.d, lanes, b.result);
  const bool r = Combine(i.mode) == Combine::and_ ? b.result == threads : b.result != 0;
  c.write_mask(i.d, lanes, r ? lanes : 0);
}

// more: barrier number, thread count, predicate.
Status barrier(Context& c, const Inst& i, Mask lanes) {
  Fragment& f = *c.fragment;
  if (i.flags & flag_aligned && !f.arrived && !converged(c, lanes, all_lanes)) return Status::blocked;
  const auto id = u32(c.value(i, 0, first_lane(lanes)));
  require(rules::barrier_number(id));
  NamedBarrier& b = c.cta->barriers[id];
  if (!f.arrived) {
    const u64 generation = b.generation;
    arrive_named(c, i, lanes, id, b);
    if (i.flags & flag_arrive) {
      complete_if_all(c, b);
      return Status::next;
    }
    f.arrived = true;
    f.token = generation;
  }
  if (b.generation == f.token) complete_if_all(c, b);
  if (b.generation == f.token) return c.block({.kind = WaitKind::barrier, .address = id});
  f.arrived = false;
  if (i.flags & flag_reduce) give_result(c, i, lanes, b, b.all_threads ? c.cta->live_threads() : b.expected);
  observe(c, i, lanes, SyncKind::barrier_leave, id, f.token);
  return Status::next;
}

u32 cluster_threads(const Cluster& cluster) {
  u32 n = 0;
  for (const Cta& cta : cluster.ctas) n += cta.live_threads();
  return n;
}

void complete_if_all(Cluster& cluster) {
  if (cluster.barrier_arrived == 0 || cluster.barrier_arrived < cluster_threads(cluster)) return;
  cluster.barrier_arrived = 0;
  ++cluster.barrier_generation;
  cluster.changed(WaitKind::cluster_barrier);
}

// PTX leaves open what a second arrival does before a wait; here it waits for the generation's end, so that
// it never counts in the place of another thread.
Status cluster_arrive(Context& c, const Inst& i, Mask lanes) {
  if (i.flags & flag_aligned && !converged(c, lanes, all_lanes)) return Status::blocked;
  const rules::Verdict v = rules::cluster_twice((c.warp->cluster_arrived & lanes) == 0);
  if (v.broken()) {
    c.grid->report(i.operation, v);
    complete_if_all(*c.cluster);
    if (c.warp->lanes_of_generation(c.cluster->barrier_generation) & c.warp->cluster_arrived & lanes)
      return c.block({.kind = WaitKind::cluster_barrier});
  }
  c.warp->cluster_arrived |= lanes;
  c.cluster->barrier_arrived += u32(count(lanes));
  observe(c, i, lanes, SyncKind::cluster_arrive, 0, c.cluster->barrier_generation);
  for (const int l : each_lane(lanes)) c.warp->cluster_tokens[std::size_t(l)] = c.cluster->barrier_generation;
  c.cluster->changed(WaitKind::cluster_barrier);
  return Status::next;
}

Status cluster_wait(Context& c, const Inst& i, Mask lanes) {
  if (i.flags & flag_aligned && !converged(c, lanes, all_lanes)) return Status::blocked;
  Cluster& cluster = *c.cluster;
  const auto waits = [&] { return (c.warp->lanes_of_generation(cluster.barrier_generation) & lanes) != 0; };
  if (waits()) complete_if_all(cluster);
  if (waits()) return c.block({.kind = WaitKind::cluster_barrier});
  c.warp->cluster_arrived &= ~lanes;
  observe(c, i, lanes, SyncKind::cluster_leave, 0, c.warp->cluster_tokens[std::size_t(first_lane(lanes))]);
  return Status::next;
}

// bar is barrier with .aligned.
bool is_aligned(const ir::Operation& op) {
  return op.modifiers.aligned || isa::spelling(op.opcode).starts_with("bar.");
}

}  // namespace

void bind_barrier(Binder& binder, const ir::Operation& op, const ops::Barrier& b, Inst& inst) {
  inst.flags = u8((order::arrives_alone(op.opcode) ? flag_arrive : 0) | (is_aligned(op) ? flag_aligned : 0) |
                  (b.threads ? flag_counted : 0) | (b.d ? flag_reduce : 0));
  binder.append(inst, binder.any_width(b.id, ScalarType::u32));
  binder.append(inst, b.threads ? binder.any_width(b.threads, ScalarType::u32) : binder.constant(0, 4));
  inst.run = barrier;
}

void bind_barrier_reduction(Binder& binder, const ir::Operation& op, const ops::Barrier& b, Inst& inst) {
  bind_barrier(binder, op, b, inst);
  const bool popc = op.modifiers.combine == Combine::popc;
  inst.d = binder.any_result(b.d, popc ? ScalarType::u32 : ScalarType::pred).offset;
  binder.append(inst, binder.predicate(b.predicate));
  inst.mode = u8(op.modifiers.combine);
}

void bind_cluster_barrier(Binder&, const ir::Operation& op, const ops::Unread&, Inst& inst) {
  inst.flags = op.modifiers.aligned ? flag_aligned : 0;
  inst.run = op.opcode == Opcode::barrier_cluster_arrive ? cluster_arrive : cluster_wait;
}

}  // namespace kiln::sim

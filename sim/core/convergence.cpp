#include "sim/core/convergence.hpp"

namespace kiln::sim {

bool converged(Context& c, Mask lanes, Mask required) {
  const Mask missing = required & c.warp->live & ~lanes;
  if (missing == 0) return true;
  c.block({.kind = WaitKind::convergence, .lanes = missing});
  return false;
}

void exit_lanes(Context& c, Mask lanes) {
  c.fragment->lanes &= ~lanes;
  ++c.fragment->pc;
  c.warp->live &= ~lanes;
  c.warp->wake_all();
  for (NamedBarrier& b : c.cta->barriers) b.leave(c.warp->index, c.warp->live);
  // Barriers of all threads do not wait for threads that have exited.
  c.cluster->changed(WaitKind::barrier);
  c.cluster->changed(WaitKind::cluster_barrier);
}

Status leave(Context& c, const Inst&, Mask lanes) {
  exit_lanes(c, lanes);
  return Status::jumped;
}

Status nothing(Context&, const Inst&, Mask) { return Status::next; }

bool whole_warp(Context& c, const Inst& i, Mask lanes) {
  if (!converged(c, lanes, all_lanes)) return false;
  if (const rules::Verdict v = rules::warp_aligned(lanes); v.broken()) c.grid->report(i.operation, v);
  return true;
}

}  // namespace kiln::sim

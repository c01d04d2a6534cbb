#include "sim/core/convergence.hpp"

#include "ptx/rules/execution.hpp"

namespace kiln::sim {

bool converged(Context& c, Mask lanes, Mask required) {
  const Mask missing = required & c.warp->live & ~lanes;
  if (missing == 0) return true;
  Wait w;
  w.kind = WaitKind::convergence;
  w.lanes = missing;
  c.block(w);
  return false;
}

void exit_lanes(Context& c, Mask lanes) {
  c.fragment->lanes &= ~lanes;
  ++c.fragment->pc;
  c.warp->live &= ~lanes;
  c.warp->wake_all();
  // Barriers for everybody do not wait for threads that are gone.
  c.cluster->changed(WaitKind::barrier);
  c.cluster->changed(WaitKind::cluster_barrier);
}

bool whole_warp(Context& c, const Inst& i, Mask lanes) {
  if (!converged(c, lanes, all_lanes)) return false;
  if (const rules::Verdict v = rules::warp_aligned(lanes); v.broken())
    c.grid->report(i.operation, v);
  return true;
}

}  // namespace kiln::sim

#include "sim/schedule/standstill.hpp"

#include <fmt/format.h>

#include "ptx/rules/finding.hpp"
#include "ptx/rules/mbarrier.hpp"
#include "sim/core/names.hpp"
#include "sim/schedule/standings.hpp"
#include "sim/schedule/wait_graph.hpp"

namespace kiln::sim {
void report_fault(Cluster& cluster, const ir::Operation* operation, const Fault& fault) {
  Grid& grid = cluster.grid;
  diag::Diagnostic d = fault.finding;
  d.where = place_of(grid.program, operation);
  each_fragment(cluster, [&](const Cta& cta, const Warp& w, const Fragment& f) {
    if (d.notes.empty() && operation && grid.program.insts[f.pc].operation == operation && !f.blocked)
      d.notes.push_back({"executed by " + thread_name(cta, w, f), {}});
  });
  if (fault.outcome == Outcome::step_limit) add_waits(cluster, d);
  grid.sink.report(std::move(d));
}

// A phase that threads wait for and that has all its arrivals, but not the bytes that were announced.
const Mbarrier* phase_of_wrong_bytes(const Cluster& cluster) {
  const Mbarrier* out = nullptr;
  each_fragment(cluster, [&](const Cta&, const Warp&, const Fragment& f) {
    if (out || !f.blocked || f.wait.kind != WaitKind::mbarrier) return;
    const Mbarrier* b = cluster.ctas[f.wait.cta_rank].mbarriers.find(std::uint32_t(f.wait.address));
    if (b && b->announcer.operation && b->pending == 0 && b->tx != 0) out = b;
  });
  return out;
}

Outcome end_in_deadlock(Cluster& cluster) {
  diag::Diagnostic d = rules::finding(rules::Rule::deadlock, {});
  // The waits follow from it.
  if (const Mbarrier* b = phase_of_wrong_bytes(cluster)) {
    d = rules::finding(rules::mbarrier_bytes(b->announced, b->announced - b->tx));
    d.where = place_of(cluster.grid.program, b->announcer.operation);
  }
  explain_waits(cluster, d);
  cluster.grid.sink.report(std::move(d));
  return Outcome::deadlock;
}

void report_allocations(const std::vector<Cluster*>& clusters) {
  const Grid& grid = clusters.front()->grid;
  diag::Diagnostic d = rules::finding(rules::Rule::deadlock,
                                      fmt::format("{} CTAs that share an SM and its tensor memory", clusters.size()));
  for (Cluster* cluster : clusters)
    each_fragment(*cluster, [&](const Cta&, const Warp&, const Fragment& f) {
      if (d.where.place.empty() && f.blocked && f.wait.kind == WaitKind::tmem_columns)
        d.where = place_of(grid.program, grid.program.insts[f.pc].operation);
    });
  for (Cluster* cluster : clusters) explain_waits(*cluster, d);
  for (const Cluster* cluster : clusters)
    for (const Cta& cta : cluster->ctas)
      if (cta.tmem.allocated())
        d.notes.push_back(
            {fmt::format("{} holds {} columns of tensor memory", cta_name(grid, cta.index), cta.tmem.allocated()), {}});
  grid.sink.report(std::move(d));
}

bool polls_global_memory(const Cluster& cluster) {
  bool any = false;
  each_fragment(cluster, [&](const Cta&, const Warp&, const Fragment& f) { any |= !f.blocked && f.poll.global; });
  return any;
}

Outcome end_in_livelock(const std::vector<Cluster*>& clusters) {
  const Grid& grid = clusters.front()->grid;
  const Program& program = grid.program;
  diag::Diagnostic d = rules::finding(rules::Rule::livelock, {});
  bool outside = false;
  for (const Cluster* cluster : clusters) {
    outside |= !grid.waiting.empty() && polls_global_memory(*cluster);
    each_fragment(*cluster, [&](const Cta& cta, const Warp& w, const Fragment& f) {
      if (f.blocked) return;
      const diag::Where where = place_of(program, program.insts[f.poll.pc].operation);
      if (d.where.place.empty()) d.where = where;
      d.notes.push_back({fmt::format("{} reads {:#x} from {} address {:#x} again and again", thread_name(cta, w, f),
                                     f.poll.value, f.poll.global ? "global" : "shared", f.poll.address),
                         where});
    });
  }
  if (outside) {
    const std::string message =
        grid.schedule || grid.recording
            ? "a wait for another cluster: with this schedule clusters run one after the other"
            : fmt::format("a wait for another cluster: {} fill the chip, and {} have not started", clusters.size(),
                          grid.waiting.size());
    const diag::Where where = d.where;
    d = rules::finding(rules::Limit::unmodelled, message);
    d.where = where;
  }
  for (Cluster* cluster : clusters) add_waits(*cluster, d);
  grid.sink.report(std::move(d));
  return outside ? Outcome::incomplete : Outcome::livelock;
}

}  // namespace kiln::sim

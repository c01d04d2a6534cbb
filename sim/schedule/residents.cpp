#include "sim/schedule/residents.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ptx/rules/finding.hpp"
#include "sim/core/start.hpp"
#include "sim/schedule/standstill.hpp"

namespace kiln::sim {
namespace {

constexpr std::uint32_t polling_look = 64;  // turns between two looks for a cluster that only polls

// Calls f(cta, warp, number of the fragment) for every one that waits for columns, until it says true.
template <class F>
bool any_allocation(Cluster& cluster, F f) {
  for (Cta& cta : cluster.ctas)
    for (Warp& w : cta.warps)
      for (int k = 0; k < w.fragment_count; ++k)
        if (const Fragment& x = w.fragments[std::size_t(k)]; x.blocked && x.wait.kind == WaitKind::tmem_columns)
          if (f(cta, w, k)) return true;
  return false;
}

}  // namespace

Residents::Residents(Grid& grid, std::uint32_t ctas_per_sm) : grid_(grid) {
  const std::uint64_t clusters = grid.launch.grid.volume();
  enqueue_clusters(grid, 1);
  grid.residents = this;
  for (std::uint64_t k = 0; k < std::min<std::uint64_t>(ctas_per_sm, clusters); ++k)
    residents_.push_back(std::make_unique<Resident>(grid));
}

bool Residents::holds_back(const Cta& cta) const { return cta.tmem.allocated() > 0 && &cta != is_allowed_; }

void Residents::wake(WaitKind kind) {
  for (const auto& r : residents_) r->cluster.changed(kind);
}

// Starts the clusters that there is room for; false when none runs any more.
bool Residents::fill() {
  bool any = false;
  for (const auto& r : residents_) {
    if (!r->is_running && !grid_.waiting.empty()) {
      start_next_cluster(r->cluster);
      for (Cta& cta : r->cluster.ctas) cta.tmem.share(&columns_);
      r->patience = {};
      r->is_running = true;
      r->only_polls = false;
    }
    any |= r->is_running;
  }
  return any;
}

// False when the cluster cannot go on, or only polls.
bool Residents::turn(Resident& r) {
  if (!step_by_chance(r.cluster, current_)) {
    if (finished(r.cluster)) r.is_running = false;
    return !r.is_running;
  }
  if (r.only_polls || ++r.turns % polling_look == 0) r.only_polls = only_polls(r.cluster);
  return !r.only_polls;
}

// No CTA can go on unless one that holds columns takes more: lets one of these do so.
bool Residents::let_one_allocate() {
  for (const auto& r : residents_) {
    if (!r->is_running) continue;
    const bool done = any_allocation(r->cluster, [&](Cta& cta, Warp& warp, int fragment) {
      const std::int64_t before = cta.tmem.allocated();
      is_allowed_ = &cta;
      warp.fragments[std::size_t(fragment)].blocked = false;
      run_warp(r->cluster, cta, warp, {fragment, false, 1, true}, current_);
      is_allowed_ = nullptr;
      return cta.tmem.allocated() != before;
    });
    if (done) return true;
  }
  return false;
}

bool Residents::be_patient() {
  bool any = false;
  for (const auto& r : residents_)
    if (r->is_running) any |= r->only_polls ? r->patience.all_poll(r->cluster) : r->patience.none_runs(r->cluster);
  return any;
}

// No cluster can go on. True when none of them waits for an allocation.
bool Residents::end() {
  std::vector<Cluster*> clusters, others;
  for (const auto& r : residents_) {
    if (!r->is_running) continue;
    const bool allocates = any_allocation(r->cluster, [](Cta&, Warp&, int) { return true; });
    (allocates ? clusters : others).push_back(&r->cluster);
  }
  if (clusters.empty()) return true;
  clusters.insert(clusters.end(), others.begin(), others.end());
  report_allocations(clusters);
  return false;
}

bool Residents::run() {
  while (fill()) {
    bool moved = false;
    for (const auto& r : residents_)
      if (r->is_running) moved |= turn(*r);
    if (!moved && !let_one_allocate() && !be_patient()) return end();
  }
  return true;
}

bool rehearse(const Grid& grid, std::uint32_t ctas_per_sm) {
  const auto& operations = grid.program.code->operations;
  const bool allocates = std::any_of(operations.begin(), operations.end(),
                                     [](const ir::Operation& op) { return op.opcode == isa::Opcode::tcgen05_alloc; });
  if (ctas_per_sm < 2 || !allocates || grid.launch.grid.volume() < 2) return true;
  Options options = grid.options;
  options.print = {};
  options.strategy = Strategy::random;
  diag::Sink stage_findings;
  Grid stage{grid.program, grid.memory, grid.launch, options, stage_findings};
  stage.number = grid.number;
  stage.parameters = grid.parameters;
  stage.cluster_shape = grid.cluster_shape;
  const GlobalMemory::Contents before = grid.memory.contents();
  bool good = true;
  try {
    good = Residents(stage, ctas_per_sm).run();
  } catch (const Fault&) {  // the launch reports it
  }
  grid.memory.restore(before);
  if (!good) grid.sink.append(stage_findings);
  return good;
}

}  // namespace kiln::sim

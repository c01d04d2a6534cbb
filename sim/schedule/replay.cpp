#include "sim/schedule/replay.hpp"

#include <fmt/format.h>

#include "ptx/diag/error.hpp"
#include "sim/core/memory_access.hpp"
#include "sim/schedule/scheduler.hpp"
#include "sim/schedule/standstill.hpp"

namespace kiln::sim::schedule {
namespace {

constexpr std::uint32_t spins = 16;    // polls without a change after which others come first
constexpr std::uint32_t stretch = 64;  // instructions between two looks for fragments that spin

const ClusterDecisions* decisions_for(const Recording& r, const Cluster& cluster) {
  for (const ClusterDecisions& c : r.clusters)
    if (c.launch == cluster.grid.number && c.cluster == cluster.index) return &c;
  return nullptr;
}

bool spinning(const Cluster& cluster, const Fragment& f) {
  return f.poll.count >= spins && f.poll.activity == cluster.activity();
}

struct Place {
  Cta* cta = nullptr;
  Warp* warp = nullptr;
  int fragment = -1;
  std::size_t number = 0;  // of the warp in the cluster
};

// The next fragment that can run, and may or may not spin; the warp `first` comes first.
Place next_fragment(Cluster& cluster, std::size_t first, bool may_spin) {
  std::vector<Place> warps;
  for (Cta& cta : cluster.ctas)
    for (Warp& w : cta.warps) warps.push_back({&cta, &w, -1, warps.size()});
  for (std::size_t k = 0; k < warps.size(); ++k) {
    Place p = warps[(first + k) % warps.size()];
    for (int f = 0; f < p.warp->fragment_count; ++f) {
      const Fragment& x = p.warp->fragments[std::size_t(f)];
      if (x.blocked || (!may_spin && spinning(cluster, x))) continue;
      if (p.fragment < 0 || x.pc < p.warp->fragments[std::size_t(p.fragment)].pc) p.fragment = f;
    }
    if (p.fragment >= 0) return p;
  }
  return {};
}

}  // namespace

// Attempts made; 0 when the fragment cannot run.
std::uint64_t Replay::follow_turn(Cluster& cluster, const Decision& d, const ir::Operation*& current) {
  if (d.cta >= cluster.ctas.size() || d.warp >= cluster.ctas[d.cta].warps.size()) return 0;
  Cta& cta = cluster.ctas[d.cta];
  Warp& warp = cta.warps[d.warp];
  if (!warp.runnable()) return 0;
  Turn turn{-1, false, std::uint32_t(std::min(d.count, to_the_end)), true};
  std::uint64_t tried = 0;
  if (d.kind == Decision::Kind::warp || d.kind == Decision::Kind::warp_highest) {
    turn.highest = d.kind == Decision::Kind::warp_highest;
    tried = run_warp(cluster, cta, warp, turn, current);
  } else if (d.kind == Decision::Kind::fragment) {
    turn.fragment = warp.holding(int(d.lane));
    if (turn.fragment >= 0 && !warp.fragments[std::size_t(turn.fragment)].blocked)
      tried = run_warp(cluster, cta, warp, turn, current);
  } else {
    for (turn.budget = 1; tried < d.count; ++tried) {
      turn.fragment = warp.holding(int(d.lane));
      if (turn.fragment < 0 || warp.fragments[std::size_t(turn.fragment)].blocked) break;
      run_warp(cluster, cta, warp, turn, current);
    }
  }
  after_turn(cta, warp);
  return tried;
}

// False when the decision does not fit.
bool Replay::follow(Cluster& cluster, Decision d, const ir::Operation*& current) {
  auto& done = followed_.clusters.back().decisions;
  if (d.kind == Decision::Kind::timeout || d.kind == Decision::Kind::peeks) {
    done.push_back(d);
    expire_waits(cluster, d.kind == Decision::Kind::peeks);
    return true;
  }
  if (d.kind == Decision::Kind::event) {
    const auto pending = cluster.events.pending();
    std::size_t at = 0;
    while (at < pending.size() && pending[at].name != d.name) ++at;
    if (at == pending.size()) return false;
    Event e = cluster.events.take(at);
    e.time = how_ == How::exactly ? d.time : cluster.now;
    d.time = std::max(cluster.now, e.time);
    done.push_back(d);
    run_event(cluster, std::move(e), current);
    return true;
  }
  const std::size_t place = done.size();
  done.push_back(d);
  done[place].count = to_the_end;  // if it faults
  const std::uint64_t tried = follow_turn(cluster, d, current);
  done[place].count = tried;
  if (tried == 0) done.pop_back();
  return tried == d.count;
}

Outcome Replay::go_on(Cluster& cluster, const ir::Operation*& current) {
  Patience patience;
  std::size_t last = 0;
  for (std::uint64_t turns = 0;; ++turns) {
    Place p = next_fragment(cluster, last, false);
    if (!p.warp && !cluster.events.empty()) {
      Event e = cluster.events.take();
      run_event(cluster, std::move(e), current);
      continue;
    }
    if (!p.warp) p = next_fragment(cluster, turns, true);
    if (p.warp) {
      last = p.number;
      run_warp(cluster, *p.cta, *p.warp, {p.fragment, false, stretch, false}, current);
      after_turn(*p.cta, *p.warp);
      if (only_polls(cluster) && !patience.all_poll(cluster)) return end_in_livelock(cluster);
      continue;
    }
    if (finished(cluster)) return Outcome::finished;
    if (!patience.none_runs(cluster)) return end_in_deadlock(cluster);
  }
}

Outcome Replay::run(Cluster& cluster, const ir::Operation*& current) {
  followed_.clusters.push_back({cluster.grid.number, cluster.index, {}});
  const ClusterDecisions* planned = decisions_for(recording_, cluster);
  for (std::size_t k = 0; planned && k < planned->decisions.size(); ++k)
    if (!follow(cluster, planned->decisions[k], current) && how_ == How::exactly)
      throw diag::InputError(
          fmt::format("the schedule does not fit this run: decision {} of cluster {} (launch {}) "
                      "names what cannot happen then",
                      k + 1, cluster.index, cluster.grid.number));
  return go_on(cluster, current);
}

}  // namespace kiln::sim::schedule

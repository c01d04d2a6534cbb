#include "sim/schedule/standings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/core/names.hpp"

namespace kiln::sim {
namespace {

std::string mbarrier_wait(const Cluster& cluster, const Wait& w) {
  const Cta& owner = cluster.ctas[w.cta_rank];
  const Mbarrier* b = owner.mbarriers.find(std::uint32_t(w.address));
  const std::string name = shared_name(cluster.grid.program, std::uint32_t(w.address), 8);
  if (!b) return fmt::format("mbarrier `{}`, which is gone", name);
  std::string text = fmt::format("mbarrier `{}`, phase {} (parity {}): {} of {} arrivals pending", name, w.phase,
                                 w.phase & 1, b->pending, b->expected);
  if (b->tx > 0) text += fmt::format(", {} bytes outstanding", b->tx);
  if (b->tx < 0) text += fmt::format(", {} bytes more delivered than expected", -b->tx);
  return text;
}

std::string barrier_wait(const Cta& cta, const Wait& w) {
  const NamedBarrier& b = cta.barriers[std::size_t(w.address)];
  const std::uint32_t wanted = b.all_threads ? cta.live_threads() : b.expected;
  return fmt::format("barrier {}: {} of {} threads arrived", w.address, b.arrived, wanted);
}

std::string reason(const Waiter& waiter) {
  const Cta& cta = *waiter.cta;
  const Cluster& cluster = *cta.cluster;
  const Wait& w = waiter.fragment->wait;
  switch (w.kind) {
    case WaitKind::convergence: return fmt::format("{} of its warp to reach the same instruction", lanes_name(w.lanes));
    case WaitKind::warp_barrier: return fmt::format("{} of its warp to reach bar.warp.sync", lanes_name(w.lanes));
    case WaitKind::barrier: return barrier_wait(cta, w);
    case WaitKind::cluster_barrier:
      return fmt::format("the cluster barrier: {} threads arrived", cluster.barrier_arrived);
    case WaitKind::mbarrier: return mbarrier_wait(cluster, w);
    case WaitKind::bulk_group: return fmt::format("its bulk copies, all but {} groups", w.address);
    case WaitKind::tmem_columns:
      if (!cluster.grid.residents)
        return fmt::format("{} free columns of tensor memory; {} are allocated", w.address, cta.tmem.allocated());
      return fmt::format("{} free columns of tensor memory; its CTA holds {}, and {} of the SM's are free", w.address,
                         cta.tmem.allocated(), cta.tmem.unallocated());
    case WaitKind::tensor_ops: return "its tcgen05 operations";
    case WaitKind::wgmma_group: return fmt::format("its wgmma operations, all but {} groups", w.address);
    case WaitKind::none: break;
  }
  return "something";
}

}  // namespace

std::vector<Waiter> waiters_of(Cluster& cluster) {
  std::vector<Waiter> out;
  each_fragment(cluster, [&](Cta& cta, Warp& w, Fragment& f) {
    if (f.blocked) out.push_back({&cta, &w, &f});
  });
  return out;
}

std::string name_of(const Waiter& w) { return thread_name(*w.cta, *w.warp, *w.fragment); }

const ir::Operation* operation_of(const Waiter& w) {
  return w.cta->cluster->grid.program.insts[w.fragment->pc].operation;
}

std::vector<Standing> standings(const std::vector<Waiter>& waiters) {
  std::vector<Standing> out;
  std::vector<std::pair<const ir::Operation*, std::string>> keys;
  for (std::size_t k = 0; k < waiters.size(); ++k) {
    std::pair key(operation_of(waiters[k]), reason(waiters[k]));
    const auto same = std::find(keys.begin(), keys.end(), key);
    if (same != keys.end()) {
      out[std::size_t(same - keys.begin())].push_back(k);
      continue;
    }
    keys.push_back(std::move(key));
    out.push_back({k});
  }
  return out;
}

std::string names_of(const std::vector<Waiter>& waiters, const Standing& some) {
  const std::string more = some.size() > 1 ? fmt::format(" and {} more", some.size() - 1) : "";
  return name_of(waiters[some.front()]) + more;
}

std::string wait_of(const std::vector<Waiter>& waiters, const Standing& some) {
  return fmt::format("{} wait{} for {}", names_of(waiters, some), some.size() > 1 ? "" : "s",
                     reason(waiters[some.front()]));
}

diag::Note short_note(std::string message, const diag::Where& where) {
  diag::Where line{nullptr, {}, where.file, where.line};
  if (!line.line && where.source) {
    line.file = where.source->name();
    line.line = unsigned(where.source->position(where.place.begin).line);
  }
  return {std::move(message), std::move(line)};
}

void add_waits(Cluster& cluster, diag::Diagnostic& d) {
  const std::vector<Waiter> waiters = waiters_of(cluster);
  for (const Standing& some : standings(waiters)) {
    const diag::Where where = place_of(cluster.grid.program, operation_of(waiters[some.front()]));
    if (d.where.place.empty()) d.where = where;
    d.notes.push_back(short_note(wait_of(waiters, some), where));
  }
}

}  // namespace kiln::sim

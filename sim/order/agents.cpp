#include "sim/order/agents.hpp"

#include <algorithm>

#include "ptx/isa/proxy_fence.hpp"
#include "ptx/isa/wgmma.hpp"
#include "sim/order/access.hpp"

namespace kiln::sim {

void Agents::start(const Cluster& cluster) {
  warps_per_cta_ = (std::uint32_t(cluster.grid.launch.block.volume()) + warp_lanes - 1) / warp_lanes;
  ctas_.clear();
  warps_.clear();
  streams_.clear();
  for (const Cta& cta : cluster.ctas) ctas_.push_back({cta.index, {}});
  for (const CtaState& cta : ctas_) {
    Knowledge initial;
    initial.seen.happened.raise(life(cta.index));
    initial.seen.published.raise(life(cta.index));
    for (std::uint32_t w = 0; w < warps_per_cta_; ++w)
      warps_.emplace_back(Component(warps_.size() * warp_lanes), initial);
  }
}

void Agents::find(std::uint32_t cta) {
  const auto found = std::find_if(ctas_.begin(), ctas_.end(), [&](const CtaState& c) { return c.index == cta; });
  last_ = std::uint32_t(found - ctas_.begin());
}

std::optional<std::uint32_t> Agents::peer(const Agent& a, const ir::Operation& op) {
  const std::uint32_t other = rank(a.cta) ^ 1;
  if (op.modifiers.cta_group != isa::CtaGroup::two || other >= ctas()) return std::nullopt;
  return cta(other);
}

Component Agents::stream(StreamKind kind, std::uint32_t cta, std::uint32_t object) {
  const std::uint64_t key = std::uint64_t(kind) << 56 | std::uint64_t(rank(cta)) << 32 | object;
  const std::size_t threads = ctas_.size() * warps_per_cta_ * warp_lanes;
  return streams_.try_emplace(key, Component(threads + streams_.size())).first->second;
}

Component Agents::stream(StreamKind kind, const Agent& a) {
  switch (kind) {
    case StreamKind::tensor_load:
    case StreamKind::tensor_store: return stream(kind, a.cta, a.warp);
    case StreamKind::warpgroup: return stream(kind, a.cta, a.warp / isa::warps_per_warpgroup);
    default: return stream(kind, a.cta, a.warp * warp_lanes + std::uint32_t(first_lane(a.lanes)));
  }
}

void Agents::sync(const Agent& a, const ir::Operation* op, SyncKind kind) {
  WarpKnowledge& w = (*this)[a];
  switch (kind) {
    case SyncKind::fence:
      return w.fence(a.lanes, order::fence_acquires(*op), order::fence_releases(*op),
                     order::reach_of(op->modifiers.scope));
    case SyncKind::fence_proxy: return fence_proxy(a, *op);
    case SyncKind::fence_mbarrier_init: return w.fence_init(a.lanes);
    case SyncKind::tcgen05_fence_before: return w.fence_tensor_before(a.lanes);
    case SyncKind::tcgen05_fence_after: return w.fence_tensor_after(a.lanes);
    case SyncKind::grid_wait:
      return w.change(a.lanes, [](Mask, Knowledge& k) { k.seen.foreign[prior_cluster].raise(end_of_prior_grid); });
    default: return;
  }
}

bool Agents::know_prior_grid(const Agent& a) {
  const WarpKnowledge& w = (*this)[a];
  const Mask lanes = lanes_where(a.lanes, [&](int lane) {
    const auto& foreign = w.of(lane).seen.foreign;
    const auto prior = foreign.find(prior_cluster);
    return prior != foreign.end() && prior->second.knows(end_of_prior_grid);
  });
  return lanes == a.lanes;
}

void Agents::fence_proxy(const Agent& a, const ir::Operation& op) {
  WarpKnowledge& w = (*this)[a];
  const isa::Modifiers& m = op.modifiers;
  const isa::AsyncFence async = isa::async_fence(m);
  if (async.shared) w.fence_proxy(OwnFence::shared, a.lanes);
  if (async.global) w.fence_proxy(OwnFence::global, a.lanes);
  if (m.proxy == isa::Proxy::tensormap_generic && acquires(m.semantics)) {
    for (const int l : each_lane(a.lanes)) {
      const Clock released = w.message(1u << l).fenced_map;
      w.change(1u << l, [&](Mask, Knowledge& k) { k.maps_acquired.join(released); });
      ctas_[rank(a.cta)].map_acquires.push_back({w.now(l), released});
    }
  } else if (m.proxy == isa::Proxy::tensormap_generic || op.opcode == isa::Opcode::tensormap_cp_fenceproxy) {
    w.fence_proxy(OwnFence::map, a.lanes);
  }
  w.advance();
}

void Agents::learn_map_acquires(const Agent& a) {
  for (const MapAcquire& acquire : ctas_[rank(a.cta)].map_acquires)
    (*this)[a].change(a.lanes, [&](Mask, Knowledge& k) {
      if (k.seen.happened.knows(acquire.at)) k.maps_acquired.join(acquire.released);
    });
}

}  // namespace kiln::sim

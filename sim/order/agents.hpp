// The threads of the cluster that runs: the components of their clocks, and what each of them knows.
#pragma once

#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/core/machine.hpp"
#include "sim/order/knowledge.hpp"

namespace kiln::sim {

/// Components that are not threads: what completes in order, and is known by how far it has come.
enum class StreamKind : std::uint8_t {
  mbarrier,      // phases of an mbarrier; object: its shared offset
  tensor,        // tcgen05.mma, cp, shift of a thread
  bulk,          // bulk groups of a thread, complete
  bulk_read,     // bulk groups of a thread, sources read
  copies,        // cp.async groups of a thread
  tensor_load,   // tcgen05.ld of a warp
  tensor_store,  // tcgen05.st of a warp
  warpgroup,     // wgmma groups of a warpgroup
  life           // a CTA: 1 once it has started
};

class Agents {
 public:
  void start(const Cluster&);

  std::uint32_t ctas() const { return std::uint32_t(ctas_.size()); }
  std::uint32_t warps() const { return std::uint32_t(warps_.size()); }
  /// The index in the grid of the CTA with this rank, and back.
  std::uint32_t cta(std::uint32_t rank) const { return ctas_[rank].index; }
  std::uint32_t rank(std::uint32_t cta) {
    if (last_ >= ctas_.size() || ctas_[last_].index != cta) find(cta);
    return last_;
  }
  /// The other CTA of a cta_group::2 instruction.
  std::optional<std::uint32_t> peer(const Agent&, const ir::Operation&);

  /// The number of a warp in the cluster.
  std::uint32_t warp(const Agent& a) { return rank(a.cta) * warps_per_cta_ + a.warp; }
  WarpKnowledge& operator[](const Agent& a) { return warps_[warp(a)]; }
  std::span<const WarpKnowledge> of_cta(std::uint32_t cta) {
    return std::span(warps_).subspan(rank(cta) * warps_per_cta_, warps_per_cta_);
  }
  /// What the first lane has seen.
  const Message& seen(const Agent& a) { return (*this)[a].of(first_lane(a.lanes)).seen; }

  /// The component of a stream of an object of a CTA, or of the agent's warpgroup, warp or first lane.
  Component stream(StreamKind, std::uint32_t cta, std::uint32_t object);
  Component stream(StreamKind, const Agent&);
  /// The start of a CTA.
  Stamp life(std::uint32_t cta) { return {stream(StreamKind::life, cta, 0), 1}; }

  /// Lanes execute a fence, or wait for the grid before this one; nothing for other kinds.
  void sync(const Agent&, const ir::Operation*, SyncKind);
  /// All of the lanes know that the grid before this one is over.
  bool know_prior_grid(const Agent&);
  /// A fence orders what is on a path through it: the acquire of a tensor map by another thread of the CTA counts once
  /// it is known.
  void learn_map_acquires(const Agent&);

 private:
  // A fence.proxy.tensormap acquire: when it was, and what it made current.
  struct MapAcquire {
    Stamp at{};
    Clock released{};
  };
  struct CtaState {
    std::uint32_t index = 0;
    std::vector<MapAcquire> map_acquires{};
  };
  void find(std::uint32_t cta);
  void fence_proxy(const Agent&, const ir::Operation&);

  std::vector<CtaState> ctas_;
  std::uint32_t last_ = 0;  // rank
  std::uint32_t warps_per_cta_ = 0;
  std::vector<WarpKnowledge> warps_;
  std::unordered_map<std::uint64_t, Component> streams_;
};

}  // namespace kiln::sim

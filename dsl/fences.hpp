// Fences, as PTX spells them, for every scope. PTX ISA "membar/fence", "tcgen05.fence".
#pragma once

#include "dsl/mbarrier.hpp"

namespace kiln::dsl {

// The fences that the DSL writes by itself: for TMA and the tensor core, and around the signals of tensor memory.
void own_proxy_fence(Recorder&, Here at);
void own_fence_before_sync(Recorder&, Here at);
void own_fence_after_sync(Recorder&, Here at);

/// A scope with fences.
class Fences : public Mbarriers {
 public:
  using Mbarriers::Mbarriers;

  /// Orders this thread's earlier and later accesses: fence(acq_rel_cluster). PTX ISA "membar/fence".
  void fence(FenceOrder order, Here at = {});
  /// Orders with the shared memory of other CTAs alone, or with this CTA's alone.
  void fence_acquire_sync_restrict_shared_cluster_cluster(Here at = {});
  void fence_release_sync_restrict_shared_cta_cluster(Here at = {});
  /// Makes initialised mbarriers visible to the cluster.
  void fence_mbarrier_init_release_cluster(Here at = {});

  /// Makes this thread's writes visible to TMA and the tensor core: those to one space, or to any_space.
  template <isa::Space space = isa::Space::shared_cta>
  void fence_proxy_async(Here at = {}) {
    static_assert(space == isa::Space::generic || space == isa::Space::global || space == isa::Space::shared_cta ||
                      space == isa::Space::shared_cluster,
                  "fence.proxy.async is for global, shared_cta, shared_cluster or any_space");
    proxy_async(space, at);
  }
  void fence_proxy_alias(Here at = {});
  void fence_proxy_async_generic_acquire_sync_restrict_shared_cluster_cluster(Here at = {});
  void fence_proxy_async_generic_release_sync_restrict_shared_cta_cluster(Here at = {});
  /// Releases what this thread has read of the cluster's shared memory, to the CTA or to the cluster, so that copies
  /// may write there. PTX ISA "membar/fence".
  void fence_proxy_async_generic_release_sync_restrict_shared_cluster_read_cta(Here at = {});
  void fence_proxy_async_generic_release_sync_restrict_shared_cluster_read_cluster(Here at = {});
  /// Between writing a tensor map and copying with it: release by the writer, acquire of the map's 128 bytes by the
  /// user.
  template <isa::Scope scope>
  void fence_proxy_tensormap_generic(Order<isa::Semantics::release, scope>, Here at = {}) {
    proxy_tensormap_release(scope, at);
  }
  template <isa::Scope scope>
  void fence_proxy_tensormap_generic(Order<isa::Semantics::acquire, scope>, const U64& map, Here at = {}) {
    proxy_tensormap_acquire(scope, map, at);
  }

  void tcgen05_fence_before_thread_sync(Here at = {});
  void tcgen05_fence_after_thread_sync(Here at = {});

 private:
  void proxy_async(isa::Space space, Here at);
  void proxy_tensormap_release(isa::Scope scope, Here at);
  void proxy_tensormap_acquire(isa::Scope scope, const U64& map, Here at);
};

}  // namespace kiln::dsl

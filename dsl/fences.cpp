#include "dsl/fences.hpp"

#include <algorithm>

#include "dsl/operands.hpp"
#include "ptx/isa/tma.hpp"

namespace kiln::dsl {

void own_proxy_fence(Recorder& r, Here at) { r.emit("fence.proxy.async.shared::cta", {}, at); }
void own_fence_before_sync(Recorder& r, Here at) { r.emit("tcgen05.fence::before_thread_sync", {}, at); }
void own_fence_after_sync(Recorder& r, Here at) { r.emit("tcgen05.fence::after_thread_sync", {}, at); }

// Of one side alone, fences came with PTX 8.6; ptxas 13.0 takes them before.
void Fences::fence(FenceOrder order, Here at) {
  const bool is_whole = order.modifier.starts_with(".acq_rel") || order.modifier.starts_with(".sc");
  if (!is_whole) role_->kernel->version = std::max(role_->kernel->version, isa::PtxVersion{8, 6});
  rec_->emit("fence" + order.modifier, {}, at);
}

void Fences::fence_acquire_sync_restrict_shared_cluster_cluster(Here at) {
  rec_->emit("fence.acquire.sync_restrict::shared::cluster.cluster", {}, at);
}
void Fences::fence_release_sync_restrict_shared_cta_cluster(Here at) {
  rec_->emit("fence.release.sync_restrict::shared::cta.cluster", {}, at);
}
void Fences::fence_mbarrier_init_release_cluster(Here at) {
  rec_->note_fence(at);
  rec_->emit("fence.mbarrier_init.release.cluster", {}, at);
}

void Fences::fence_proxy_alias(Here at) { rec_->emit("fence.proxy.alias", {}, at); }
void Fences::fence_proxy_async_generic_acquire_sync_restrict_shared_cluster_cluster(Here at) {
  rec_->emit("fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster", {}, at);
}
void Fences::fence_proxy_async_generic_release_sync_restrict_shared_cta_cluster(Here at) {
  rec_->emit("fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster", {}, at);
}
void Fences::fence_proxy_async_generic_release_sync_restrict_shared_cluster_read_cta(Here at) {
  rec_->emit("fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cta", {}, at);
}
void Fences::fence_proxy_async_generic_release_sync_restrict_shared_cluster_read_cluster(Here at) {
  rec_->emit("fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cluster", {}, at);
}

void Fences::proxy_async(isa::Space space, Here at) {
  rec_->note_fence(at);
  rec_->emit(dotted({"fence.proxy.async", spelling(space)}), {}, at);
}

void Fences::proxy_tensormap_release(isa::Scope scope, Here at) {
  rec_->emit(dotted({"fence.proxy.tensormap::generic.release", spelling(scope)}), {}, at);
}
void Fences::proxy_tensormap_acquire(isa::Scope scope, const U64& map, Here at) {
  rec_->emit(dotted({"fence.proxy.tensormap::generic.acquire", spelling(scope)}),
             {address_of(*rec_, map, at), Operand::number(isa::tensor_map_bytes)}, at);
}

void Fences::tcgen05_fence_before_thread_sync(Here at) {
  rec_->note_fence(at);
  own_fence_before_sync(*rec_, at);
}
void Fences::tcgen05_fence_after_thread_sync(Here at) {
  rec_->note_fence(at);
  own_fence_after_sync(*rec_, at);
}

}  // namespace kiln::dsl

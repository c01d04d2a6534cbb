// mbarrier.* and the fences.
#include "tests/forms/examples.hpp"

namespace kiln::forms {
namespace {

Kernel arrive(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const Mbarrier b = k.mbarrier<100>("b");
  const U32 n = k.ctaid.x;
  return in_thread(k, [&](Thread t) {
    t.mbarrier_arrive(b);
    t.mbarrier_arrive(b, 2, release_cluster);
    t.mbarrier_arrive(b, n, relaxed_cta);
    t.mbarrier_arrive_noComplete(b, 1);
    t.mbarrier_arrive_expect_tx(b, 64, relaxed_cluster);
    t.mbarrier_arrive_drop(b);
    t.mbarrier_arrive_drop(b, n, release_cta);
    t.mbarrier_arrive_drop_noComplete(b, n);
    t.mbarrier_arrive_drop_expect_tx(b, n);
    t.mbarrier_expect_tx(b, 64);
    t.mbarrier_complete_tx(b, n, relaxed_cta);
  });
}

Kernel remote(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const Mbarrier b = k.mbarrier<100>("b");
  return in_thread(k, [&](Thread t) {
    const RemoteMbarrier there = t.mapa(b, 1);
    t.mbarrier_arrive(there);
    t.mbarrier_arrive(there, 2, relaxed_cluster);
    t.mbarrier_arrive_expect_tx(there, 64, release_cluster);
    t.mbarrier_arrive_drop(there);
    t.mbarrier_arrive_drop_expect_tx(there, 64, release_cluster);
    t.mbarrier_expect_tx(there, 64, relaxed_cluster);
    t.mbarrier_complete_tx(there, 64, relaxed_cluster);
  });
}

Kernel wait(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const Mbarrier b = k.mbarrier("b");
  const U32 n = k.ctaid.x;
  return in_thread(k, [&](Thread t) {
    const MbarrierState state = t.mbarrier_arrive(b);
    t.when(t.mbarrier_pending_count(state) == 0, [&] { t.nanosleep(20); });
    t.when(t.mbarrier_test_wait(b, state), [&] { t.nanosleep(n); });
    t.when(t.mbarrier_test_wait(b, Phase{0}, relaxed_cluster), [&] { t.nanosleep(20); });
    t.when(t.mbarrier_try_wait(b, state, suspend_time_hint(1000)), [&] { t.nanosleep(20); });
    t.when(t.mbarrier_try_wait(b, n & 1, {suspend_time_hint(n), acquire_cluster}), [&] { t.nanosleep(20); });
    t.wait(b, Phase{0}, acquire_cluster);
    t.wait(b, state);
  });
}

Kernel life(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const U32 slot = k.shared<Bytes>().address;
  return in_thread(k, [&](Thread t) {
    const Mbarrier b{slot, "b", nullptr};
    t.mbarrier_init(b, 1);
    t.fence_mbarrier_init_release_cluster();
    t.mbarrier_inval(b);
    t.mbarrier_init(b, k.ctaid.x + 1);
  });
}

// Of layout v1, whose phases tell whether copies reported something.
Kernel layout(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const U32 slot = k.shared<Bytes>().address;
  return in_thread(k, [&](Thread t) {
    const Mbarrier b{slot, "b", nullptr};
    t.mbarrier_init(b, 1, layout_v1);
    t.fence_mbarrier_init_release_cluster();
    t.when(t.mbarrier_check_layout(b, layout_v1), [&] { t.nanosleep(20); });
    const MbarrierState state = t.mbarrier_arrive(b);
    t.when(t.mbarrier_test_wait(b, state, phase_type_primary), [&] { t.nanosleep(20); });
    t.when(t.mbarrier_test_wait(b, Phase{0}, {relaxed_cluster, phase_type_conditional}), [&] { t.nanosleep(20); });
    t.wait(b, Phase{0}, {phase_type_conditional, suspend_time_hint(1000)});
  });
}

Kernel fences(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const auto map = k.param<TensorMapHandle<bf16, 2>>("map");
  return in_thread(k, [&](Thread t) {
    t.fence(acq_rel_cta);
    t.fence(sc_cluster);
    t.fence(acquire_gpu);
    t.fence(release_sys);
    t.fence_acquire_sync_restrict_shared_cluster_cluster();
    t.fence_release_sync_restrict_shared_cta_cluster();
    t.fence_mbarrier_init_release_cluster();
    t.fence_proxy_alias();
    t.fence_proxy_async();
    t.fence_proxy_async<shared_cluster>();
    t.fence_proxy_async<global>();
    t.fence_proxy_async<any_space>();
    t.fence_proxy_async_generic_acquire_sync_restrict_shared_cluster_cluster();
    t.fence_proxy_async_generic_release_sync_restrict_shared_cta_cluster();
    t.fence_proxy_tensormap_generic(release_gpu);
    t.fence_proxy_tensormap_generic(acquire_sys, map.address());
  });
}

}  // namespace

std::span<const Example> mbarrier() {
  static const std::vector<Example> examples{
      {"mbarrier_arrive", bulk_targets, arrive},
      {"mbarrier_remote", bulk_targets, remote},
      {"mbarrier_wait", bulk_targets, wait},
      {"mbarrier_life", bulk_targets, life},
      {"mbarrier_layout", bulk_targets, layout},
      {"fences", bulk_targets, fences},
  };
  return examples;
}

}  // namespace kiln::forms

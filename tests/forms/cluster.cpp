// The cluster's barrier and registers, clusterlaunchcontrol, griddepcontrol, setmaxnreg, elect.
#include "tests/forms/examples.hpp"

namespace kiln::forms {
namespace {

Kernel barrier(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  k.role("thread", warp<0>.elect(), [&](Thread t) {
    t.barrier_cluster_arrive();
    t.barrier_cluster_wait();
    t.barrier_cluster_arrive(relaxed);
    t.barrier_cluster_wait(acquire);
  });
  return in_warp(k, [&](Warp w) {
    w.barrier_cluster_arrive(aligned);
    w.barrier_cluster_wait(aligned);
    w.barrier_cluster_arrive({aligned, release});
    w.barrier_cluster_wait({acquire, aligned});
  });
}

// Everything is added up and stored, so that nothing is dropped.
Kernel place(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const U64 to = k.param<Pointer<u32>>("to").address();
  const U32 here = k.shared<Bytes>().address;
  return in_thread(k, [&](Thread t) {
    const Index3 ctaid = t.cluster_ctaid(), nctaid = t.cluster_nctaid(), id = t.clusterid(), n = t.nclusterid();
    const U32 rank = t.getctarank(t.mapa(here, t.cluster_nctarank() - 1));
    const U32 sizes = select(t.is_explicit_cluster(), nctaid.x + n.z, 1);
    t.st_global_v4(to, {t.cluster_ctarank(), ctaid.y + id.x, sizes, rank});
  });
}

Kernel launch_control(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const U64 to = k.param<Pointer<u32>>("to").address();
  const U32 answer = k.shared<Bytes>().address;
  const Mbarrier full = k.mbarrier("full");
  return in_thread(k, [&](Thread t) {
    t.expect_tx(full, 16);
    t.clusterlaunchcontrol_try_cancel(answer, full);
    t.wait(full, Phase{0});
    const CancelResponse r = t.ld_shared_b128(answer);
    t.when(t.clusterlaunchcontrol_query_cancel_is_canceled(r), [&] {
      const Index3 ctaid = t.clusterlaunchcontrol_query_cancel_get_first_ctaid(r);
      t.st_global_v4(to, {ctaid.x, ctaid.y, ctaid.z, t.clusterlaunchcontrol_query_cancel_get_first_ctaid<Axis::y>(r)});
    });
    t.fence_proxy_async();
    t.expect_tx(full, 16);
    t.clusterlaunchcontrol_try_cancel(answer, full, multicast_cluster_all);
    t.wait(full, Phase{1});
  });
}

Kernel grids(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  return in_thread(k, [&](Thread t) {
    t.griddepcontrol_wait();
    t.griddepcontrol_launch_dependents();
  });
}

Kernel registers(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<8>);
  k.role("few", warpgroup<0>, [](Warpgroup& g) { g.setmaxnreg_dec<40>(); });
  k.role("many", warpgroup<1>, [](Warpgroup& g) {
    g.setmaxnreg_inc<232>();
    g.when(g.elect_sync(), [&] { g.nanosleep(20); });
  });
  return k.build();
}

}  // namespace

std::span<const Example> cluster() {
  static const std::vector<Example> examples{
      {"cluster_barrier", bulk_targets, barrier},
      {"cluster_place", bulk_targets, place},
      {"launch_control", tcgen05_targets, launch_control},
      {"grids", bulk_targets, grids},
      {"registers", bulk_targets, registers},
  };
  return examples;
}

}  // namespace kiln::forms

#include "ptx/rules/order.hpp"
#include "ptx/rules/mbarrier.hpp"

#include "tests/unit/rules/switch.hpp"

using namespace kiln::rules;
using kiln::test::is_broken;

TEST_CASE("a racing load that reaches nothing is race-unused, which is portability alone") {
  CHECK(race_unused(true).ok());
  CHECK(is_broken(race_unused(false), Rule::race_unused));
}

TEST_CASE("race: what must be there is there, or not") {
  CHECK(race(true).ok());
  CHECK(is_broken(race(false), Rule::race));
}

TEST_CASE("race-async: what must be there is there, or not") {
  CHECK(race_async(true).ok());
  CHECK(is_broken(race_async(false), Rule::race_async));
}

TEST_CASE("race-tmem: what must be there is there, or not") {
  CHECK(race_tmem(true).ok());
  CHECK(is_broken(race_tmem(false), Rule::race_tmem));
}

TEST_CASE("tcgen05-fence: what must be there is there, or not") {
  CHECK(tcgen05_fence(true).ok());
  CHECK(is_broken(tcgen05_fence(false), Rule::tcgen05_fence));
}

TEST_CASE("tcgen05-pipeline: what must be there is there, or not") {
  CHECK(tcgen05_pipeline(true).ok());
  CHECK(is_broken(tcgen05_pipeline(false), Rule::tcgen05_pipeline));
}

TEST_CASE("proxy-fence-read: what must be there is there, or not") {
  CHECK(proxy_fence_read(true).ok());
  CHECK(is_broken(proxy_fence_read(false), Rule::proxy_fence_read));
}

TEST_CASE("tensormap-fence: what must be there is there, or not") {
  CHECK(tensormap_fence(true).ok());
  CHECK(is_broken(tensormap_fence(false), Rule::tensormap_fence));
}

TEST_CASE("mbarrier-init-order: what must be there is there, or not") {
  CHECK(mbarrier_init_order(true).ok());
  CHECK(is_broken(mbarrier_init_order(false), Rule::mbarrier_init_order));
}

TEST_CASE("mbarrier-init-fence: what must be there is there, or not") {
  CHECK(mbarrier_init_fence(true).ok());
  CHECK(is_broken(mbarrier_init_fence(false), Rule::mbarrier_init_fence));
}

TEST_CASE("mbarrier-scope: what must be there is there, or not") {
  CHECK(mbarrier_scope(true).ok());
  CHECK(is_broken(mbarrier_scope(false), Rule::mbarrier_scope));
}

TEST_CASE("mbarrier-wait-acquire: what must be there is there, or not") {
  CHECK(mbarrier_wait_acquire(true).ok());
  CHECK(is_broken(mbarrier_wait_acquire(false), Rule::mbarrier_wait_acquire));
}

TEST_CASE("cluster-start: what must be there is there, or not") {
  CHECK(cluster_start(true).ok());
  CHECK(is_broken(cluster_start(false), Rule::cluster_start));
}

TEST_CASE("cta-exit: what must be there is there, or not") {
  CHECK(cta_exit(true).ok());
  CHECK(is_broken(cta_exit(false), Rule::cta_exit));
}

TEST_CASE("cta-exit-copy: what must be there is there, or not") {
  CHECK(cta_exit_copy(true).ok());
  CHECK(is_broken(cta_exit_copy(false), Rule::cta_exit_copy));
}

TEST_CASE("cta-exit-arrival: what must be there is there, or not") {
  CHECK(cta_exit_arrival(true).ok());
  CHECK(is_broken(cta_exit_arrival(false), Rule::cta_exit_arrival));
}

TEST_CASE("cluster-barrier-relaxed: what must be there is there, or not") {
  CHECK(cluster_relaxed(true).ok());
  CHECK(is_broken(cluster_relaxed(false), Rule::cluster_relaxed));
}

TEST_CASE("warp-order: what must be there is there, or not") {
  CHECK(warp_order(true).ok());
  CHECK(is_broken(warp_order(false), Rule::warp_order));
}

TEST_CASE("tcgen05-alloc-peer: what must be there is there, or not") {
  CHECK(alloc_peer(true).ok());
  CHECK(is_broken(alloc_peer(false), Rule::alloc_peer));
}

TEST_CASE("wgmma-registers: what must be there is there, or not") {
  CHECK(wgmma_registers(true).ok());
  CHECK(is_broken(wgmma_registers(false), Rule::wgmma_registers));
}

TEST_CASE("wgmma-fence: what must be there is there, or not") {
  CHECK(wgmma_fence(true).ok());
  CHECK(is_broken(wgmma_fence(false), Rule::wgmma_fence));
}

TEST_CASE("mbarrier-lapped: one phase may pass while a thread waits for it, two may not") {
  CHECK(mbarrier_lapped(0).ok());
  CHECK(mbarrier_lapped(1).ok());
  CHECK(is_broken(mbarrier_lapped(2), Rule::mbarrier_lapped, 1));
}

TEST_CASE("fence-redundant: a fence is needed when something is found without it") {
  CHECK(fence_needed(true).ok());
  CHECK(is_broken(fence_needed(false), Rule::fence_redundant));
}

TEST_CASE("race-rounding: threads that store one word store one value") {
  CHECK(race_rounding(true).ok());
  CHECK(is_broken(race_rounding(false), Rule::race_rounding));
}

TEST_CASE("mbarrier-inval: the memory of an mbarrier is given back before it is written") {
  CHECK(mbarrier_inval(true).ok());
  CHECK(is_broken(mbarrier_inval(false), Rule::mbarrier_inval));
}

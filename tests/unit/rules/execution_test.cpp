#include "tests/unit/rules/switch.hpp"

#include "ptx/rules/execution.hpp"

using namespace kiln::rules;
using kiln::test::is_broken;

TEST_CASE("deadlock, livelock, trap-reached: how a run may not end") {
  CHECK(livelock(true).ok());
  CHECK(is_broken(livelock(false), Rule::livelock));
  CHECK(deadlock(true).ok());
  CHECK(is_broken(deadlock(false), Rule::deadlock));
  CHECK(is_broken(trap_reached(), Rule::trap_reached));
}

TEST_CASE("pdl-wait, pdl-launch-early, pdl-launch-late: grids that overlap") {
  CHECK(pdl_wait(true).ok());
  CHECK(is_broken(pdl_wait(false), Rule::pdl_wait));
  CHECK(pdl_launch_early(true).ok());
  CHECK(is_broken(pdl_launch_early(false), Rule::pdl_launch_early));
  CHECK(pdl_launch_late(true).ok());
  CHECK(is_broken(pdl_launch_late(false), Rule::pdl_launch_late));
}

TEST_CASE("branch-index: one of the targets") {
  CHECK(branch_index(0, 1).ok());
  CHECK(branch_index(3, 4).ok());
  CHECK(is_broken(branch_index(4, 4), Rule::branch_index, 3));
}

TEST_CASE("warp-divergence: a condition on words that threads load for themselves") {
  CHECK(warp_divergence(false).ok());
  CHECK(warp_divergence(true).rule == Rule::warp_divergence);
}

TEST_CASE("warp-aligned, warp-uniform, warp-member-mask: the threads of a warp together") {
  CHECK(warp_aligned(0xFFFFFFFF).ok());
  CHECK(is_broken(warp_aligned(0x7FFFFFFF), Rule::warp_aligned, 32));
  CHECK(warp_uniform(5, 5).ok());
  CHECK(is_broken(warp_uniform(6, 5), Rule::warp_uniform, 5));
  CHECK(warp_member_mask(0xF, 0x3).ok());
  CHECK(is_broken(warp_member_mask(0x3, 0xC), Rule::warp_member_mask));
  CHECK(warp_member_mask(0x3, 0xF).given == (warp_member_mask(0x3, 0xF).broken() ? 2 : 0));
}

TEST_CASE("barrier-number, barrier-count: sixteen barriers, whole warps") {
  for (int n : {0, 15}) CHECK(barrier_number(n).ok());
  CHECK(is_broken(barrier_number(16), Rule::barrier_number, 15));
  CHECK(is_broken(barrier_number(-1), Rule::barrier_number, 0));
  for (int n : {32, 96, 1024}) CHECK(barrier_count(n).ok());
  CHECK(is_broken(barrier_count(0), Rule::barrier_count, 32));
  CHECK(is_broken(barrier_count(48), Rule::barrier_count, 64));
}

TEST_CASE("cluster-barrier-twice: a thread has waited since it arrived last, or not") {
  CHECK(cluster_twice(true).ok());
  CHECK(is_broken(cluster_twice(false), Rule::cluster_twice));
}

TEST_CASE("cluster-launch: a launch has clusters, or may have none") {
  CHECK(cluster_launch(true).ok());
  CHECK(is_broken(cluster_launch(false), Rule::cluster_launch));
}

TEST_CASE("barrier-mismatch: one count at a time, and no thread beyond it") {
  CHECK(barrier_mismatch({64, 32}, 64, 32).ok());
  CHECK(barrier_mismatch({96, 0}, 64, 32).ok());  // the barrier is empty: the count is new
  CHECK(barrier_mismatch({0, 64}, 0, 32).ok());   // all threads of the CTA
  CHECK(is_broken(barrier_mismatch({64, 32}, 96, 32), Rule::barrier_mismatch, 64));
  CHECK(is_broken(barrier_mismatch({0, 32}, 64, 32), Rule::barrier_mismatch, 0));
  CHECK(is_broken(barrier_mismatch({64, 48}, 64, 32), Rule::barrier_mismatch, 64));
  CHECK(barrier_overrun(true).ok());
  CHECK(is_broken(barrier_overrun(false), Rule::barrier_mismatch));
}

TEST_CASE("cluster-rank: a CTA of the cluster, by number or in a mask") {
  CHECK(cluster_rank(1, 2).ok());
  CHECK(is_broken(cluster_rank(2, 2), Rule::cluster_rank, 1));
  CHECK(cluster_mask(0, 2).ok());
  CHECK(cluster_mask(3, 2).ok());
  CHECK(is_broken(cluster_mask(5, 2), Rule::cluster_rank, 1));
}

TEST_CASE("cluster-undeclared: the kernel says how it must be launched, or the launch alone knows") {
  CHECK(cluster_undeclared(true).ok());
  CHECK(is_broken(cluster_undeclared(false), Rule::cluster_undeclared));
}

TEST_CASE("tcgen05-cta-pair, tcgen05-peer-exited: two CTAs, both there") {
  for (int n : {2, 4, 16}) CHECK(cta_pair(n).ok());
  for (int n : {1, 3}) CHECK(is_broken(cta_pair(n), Rule::cta_pair, n + 1));
  CHECK(peer_exited(false).ok());
  CHECK(is_broken(peer_exited(true), Rule::peer_exited));
}

TEST_CASE("setmaxnreg-count: multiples of 8 from 24 to 256") {
  for (int n : {24, 40, 232, 256}) CHECK(setmaxnreg_count(n).ok());
  CHECK(is_broken(setmaxnreg_count(16), Rule::setmaxnreg_count, 24));
  CHECK(is_broken(setmaxnreg_count(100), Rule::setmaxnreg_count, 96));
  CHECK(is_broken(setmaxnreg_count(264), Rule::setmaxnreg_count, 256));
}

TEST_CASE("setmaxnreg-ignored, setmaxnreg-budget, setmaxnreg-warpgroup: registers that warps hand to each other") {
  CHECK(setmaxnreg_ignored(true).ok());
  CHECK(is_broken(setmaxnreg_ignored(false), Rule::setmaxnreg_ignored));
  CHECK(setmaxnreg_budget(64512, 64512).ok());
  CHECK(is_broken(setmaxnreg_budget(64513, 64512), Rule::setmaxnreg_budget, 64512));
  CHECK(setmaxnreg_warpgroup(40, 40).ok());
  CHECK(is_broken(setmaxnreg_warpgroup(40, 104), Rule::setmaxnreg_warpgroup));
  CHECK(is_broken(setmaxnreg_warpgroup(40, 0), Rule::setmaxnreg_warpgroup));
}

TEST_CASE("setmaxnreg-budget: warps that do not ask keep what they have, in the steps in which the hardware gives it") {
  const auto three_warpgroups = [](std::int64_t first, std::int64_t second) {
    RegisterBudget budget(12, 168);
    budget.give(4, first);
    for (int warp = 0; warp < 4; ++warp) budget.give(1, second);
    budget.give(4, 0);
    return budget.verdict();
  };
  CHECK(three_warpgroups(0, 0).ok());
  CHECK(three_warpgroups(240, 96).ok());
  CHECK(three_warpgroups(240, 104) == Verdict{Rule::setmaxnreg_budget, 65536, 64512, true});
  RegisterBudget odd(8, 255);  // a thread has 256
  odd.give(8, 256);
  CHECK(odd.verdict().ok());
  RegisterBudget gone(8, 128);
  gone.give(4, 256);
  CHECK(gone.verdict().ok());
}

TEST_CASE("register-spills, occupancy: what ptxas makes of an entry") {
  CHECK(register_spills(0).ok());
  CHECK(is_broken(register_spills(8), Rule::register_spills));
  CHECK(is_broken(occupancy(2), Rule::occupancy));
}

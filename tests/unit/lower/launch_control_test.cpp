// clusterlaunchcontrol on a GPU that starts every cluster of a grid itself: each request fails, and says so.
#include "harness/contract/contract_json.hpp"
#include "tests/unit/lower/lowered.hpp"

namespace lower_launch_control {

using namespace kiln;
using namespace kiln::test;

namespace {

// Six CTAs, alone or two to a cluster. Thread 0 of each, or of each cluster, asks; every CTA adds its number to the
// word of a CTA that is done, and goes on with what the answer says.
Kernel kernel_of(const std::string& ask, const std::string& query, const std::string& cluster) {
  const std::string ptx = R"(.version 8.6
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 done) .reqntid 64, 1, 1 .reqnctapercluster )" +
                          cluster + R"(, 1, 1
{
  .reg .b32 %r<12>;
  .reg .b64 %rd<8>;
  .reg .b128 %q;
  .reg .pred %p<6>;
  .shared .align 16 .b8 answer[32];
  .shared .align 8 .b64 barriers[2];
  .shared .align 4 .b32 columns;
  mov.u32 %r0, %tid.x;
  setp.eq.u32 %p0, %r0, 0;
  mov.u32 %r1, answer;
  mov.u32 %r2, barriers;
  cvt.u64.u32 %rd4, %r1;
  cvt.u64.u32 %rd5, %r2;
  cvta.shared.u64 %rd4, %rd4;
  cvta.shared.u64 %rd5, %rd5;
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %cluster_ctarank;
  setp.eq.and.u32 %p1, %r4, 0, %p0;
  setp.lt.u32 %p2, %r0, 32;
  @%p2 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [columns], 32;
  @%p0 mbarrier.init.shared::cta.b64 [%r2+8], 1;
  @%p0 fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;
  mov.b32 %r5, 0;
again:
  @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2+8], 16;
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;
)" + ask + R"(
  ld.param.u64 %rd0, [done];
  mad.wide.u32 %rd0, %r3, 4, %rd0;
  add.u32 %r6, %r0, 1;
  red.global.add.u32 [%rd0], %r6;
wait:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p3, [%r2+8], %r5;
  @!%p3 bra wait;
  xor.b32 %r5, %r5, 1;
  ld.shared.b128 %q, [answer+16];
  clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p4, %q;
)" + query + R"(
  add.u32 %r3, %r7, %r4;
  fence.proxy.async.shared::cta;
  barrier.cluster.arrive.release.aligned;
  barrier.cluster.wait.acquire.aligned;
  @%p4 bra again;
  ld.shared.b32 %r8, [columns];
  @%p2 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r8, 32;
  ret;
}
)";
  const std::string contract = R"({"entry": "k", "grid": [6, 1, 1], "block": [64, 1, 1], "cluster": [)" + cluster +
                               R"(, 1, 1], "buffers": {"done": {"dtype": "u32", "shape": [6], "init": "zeros"}},
                               "params": [{"buffer": "done"}]})";
  Kernel out = parsed(ptx, harness::read_contract(contract, "launch.json"));
  harness::fill(out.contract);
  return out;
}

// Every CTA's word has been added to once, by any CTA.
void check_whole_grid(const std::string& ask, const std::string& query, const std::string& cluster) {
  CAPTURE(ask);
  CAPTURE(query);
  const Kernel kernel = kernel_of(ask, query, cluster);
  diag::Sink sink;
  const auto low = lowered(kernel, isa::sm_90a, sink);
  INFO(diag::render_text(sink));
  REQUIRE(low);
  CHECK(low->text->text().find("clusterlaunchcontrol") == std::string::npos);
  CHECK(low->text->text().find("st.async") == std::string::npos);  // needs a launch with clusters
  CHECK(low->contract.launches.at(0).grid.x == 6);
  const std::vector<std::uint8_t> own = simulated(kernel).buffers.at(0).bytes;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) CHECK(simulated(*low, seed).buffers.at(0).bytes == own);
}

constexpr const char* ask_one =
    "@%p0 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [answer+16], [%r2+8];";
constexpr const char* ask_for_all =
    "@%p1 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 "
    "[%r1+16], [%r2+8];";
constexpr const char* ask_generically =
    "@%p0 clusterlaunchcontrol.try_cancel.async.mbarrier::complete_tx::bytes.b128 [%rd4+16], [%rd5+8];";
constexpr const char* first_x = "@%p4 clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r7, %q;";
constexpr const char* first_of_all =
    "clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r7, %r9, %r10, _}, %q;";

}  // namespace

TEST_CASE("without clusterlaunchcontrol each CTA does its own work and is told that there is no more") {
  check_whole_grid(ask_one, first_x, "1");
  check_whole_grid(ask_generically, first_of_all, "1");
}

TEST_CASE("a request for all CTAs of a cluster is refused in each of them") {
  check_whole_grid(ask_for_all, first_x, "2");
  check_whole_grid(ask_for_all, first_of_all, "1");
}

TEST_CASE("the rung of the ladder to which the hardware hands out tiles leaves the same bits when it no longer does") {
  const Kernel kernel = library_kernel("gemm_v8", {{"m", 512}, {"n", 264}, {"k", 200}});
  diag::Sink sink;
  const auto low = lowered(kernel, isa::sm_90a, sink);
  INFO(diag::render_text(sink));
  REQUIRE(low);
  CHECK(low->contract.launches.at(0).grid == kernel.contract.launches.at(0).grid);
  const launch::Contract own = simulated(kernel);
  for (std::uint64_t seed = 1; seed <= 2; ++seed) {
    const launch::Contract c = simulated(*low, seed);
    check_right(c);
    CHECK(c.find("D")->bytes == own.find("D")->bytes);
  }
}

TEST_CASE("sm_120a has clusterlaunchcontrol of its own") {
  diag::Sink sink;
  const auto low = lowered(kernel_of(ask_for_all, first_x, "2"), isa::sm_120a, sink);
  INFO(diag::render_text(sink));
  REQUIRE(low);
  CHECK(low->text->text().find("multicast::cluster::all") != std::string::npos);
}

}  // namespace lower_launch_control

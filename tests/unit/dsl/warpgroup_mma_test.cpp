// wgmma in its own words: what is written, and what is refused. tests/differential multiplies with it.
#include <doctest/doctest.h>

#include <string>

#include "dsl/dsl.hpp"
#include "dsl/warpgroup_mma.hpp"
#include "emit/emit.hpp"

namespace dsl_warpgroup_mma {

using namespace kiln;
using namespace kiln::dsl;

namespace {

using ATile = SharedTile<bf16, 64, 64, K_major, swizzle_128B>;
using BTile = SharedTile<bf16, 176, 64, K_major, swizzle_128B>;
using VTile = SharedTile<bf16, 128, 176, MN_major, swizzle_128B>;

int count(const std::string& text, std::string_view part) {
  int n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

// A kernel whose first two warpgroups do what the test writes, and whose third loads.
template <class Body>
Kernel built(Target target, Body body) {
  KernelBuilder k("k", target, warps<12>);
  auto A = k.param<TensorMap<ATile>>("A");
  auto B = k.param<TensorMap<BTile>>("B");
  auto V = k.param<TensorMap<VTile>>("V");
  auto in = k.ring<1, ATile, BTile, VTile>("in");
  k.role("multiply", warpgroups<0, 2>, [&](Warpgroups<2>& g) {
    WarpgroupMma mma(g);
    auto slot = in.wait(g);
    body(g, mma, slot);
    mma.release(slot);
  });
  k.role("load", warp<8>.elect(), [&](Thread t) {
    auto slot = in.acquire(t);
    t.tma_load(slot.get<ATile>(), A.at(0, 0), slot.full);
    t.tma_load(slot.get<BTile>(), B.at(0, 0), slot.full);
    t.tma_load(slot.get<VTile>(), V.at(0, 0), slot.full);
  });
  return k.build();
}
template <class Body>
std::string text(Body body) {
  return emit::emit_unverified(built(sm_90a, body).module);
}
template <class Body>
std::string refused(Body body, Target target = sm_90a) {
  try {
    (void)built(target, body);
  } catch (const diag::Rejected& r) {
    return r.findings().all().front().slug;
  }
  return "";
}

}  // namespace

TEST_CASE("tiles are multiplied by one wgmma for each 16 elements of K, of as many columns as the sums have") {
  const std::string ptx = text([](auto&, WarpgroupMma& mma, auto& slot) {
    auto sums = mma.sums<176>();
    mma.fence();
    mma.multiply(sums, slot.template get<ATile>(), slot.template get<BTile>(), accumulate(false));
    mma.commit();
    mma.wait(0);
  });
  CHECK(count(ptx, "wgmma.mma_async.sync.aligned.m64n176k16.f32.bf16.bf16 {") == 64 / 16);
  CHECK(count(ptx, ", 0, 1, 1, 0, 0;") == 1);  // the first overwrites
  CHECK(count(ptx, ", 1, 1, 1, 0, 0;") == 3);
  CHECK(count(ptx, "wgmma.fence.sync.aligned;") == 1);
  CHECK(count(ptx, "wgmma.wait_group.sync.aligned 0;") == 1);
}

TEST_CASE("A in registers has four of them for each 16 elements of K, and B says alone how it lies") {
  const std::string ptx = text([](auto&, WarpgroupMma& mma, auto& slot) {
    auto scores = mma.sums<176>();
    auto weights = mma.a<bf16, 176>();
    auto sums = mma.sums<128>();
    for (int i = 0; i < scores.elements; ++i) scores.set(i, 0.0f);
    weights.set(scores.registers());
    mma.fence();
    mma.multiply(sums, weights, slot.template get<VTile>(), accumulate(false));
    mma.commit();
    mma.wait(0);
  });
  CHECK(count(ptx, "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {") == 176 / 16);
  CHECK(count(ptx, ", 1, 1, 1, 1;") == 176 / 16 - 1);
  CHECK(count(ptx, "cvt.rn.bf16x2.f32") == 88 / 2);
}

TEST_CASE("every warp that multiplies gives a slot back, without a barrier") {
  const std::string ptx = text([](auto&, WarpgroupMma&, auto&) {});
  CHECK(count(ptx, "], 8;") == 1);  // arrivals of the one slot
  CHECK(count(ptx, "bar.sync 1") == 0);
}

TEST_CASE("a role that takes registers ends the kernel for its threads") {
  const std::string ptx = text([](auto& g, WarpgroupMma&, auto&) { take_registers<240>(g); });
  CHECK(count(ptx, "setmaxnreg.inc.sync.aligned.u32 240;") == 1);
  CHECK(ptx.find("bra role_cleanup;") < ptx.find("end_multiply:"));
}

TEST_CASE("wgmma-registers: sums and A belong to the tensor core until their group was waited for") {
  const auto after = [](int groups, auto touch) {
    return refused([&](auto&, WarpgroupMma& mma, auto& slot) {
      auto scores = mma.sums<176>();
      auto weights = mma.a<bf16, 176>();
      auto sums = mma.sums<128>();
      for (int i = 0; i < scores.elements; ++i) scores.set(i, 0.0f);
      const auto values = scores.registers();
      weights.set(values);
      mma.fence();
      mma.multiply(scores, slot.template get<ATile>(), slot.template get<BTile>(), accumulate(false));
      mma.commit();
      mma.multiply(sums, weights, slot.template get<VTile>(), accumulate(false));
      mma.commit();
      mma.wait(groups);
      touch(scores, weights, sums, values);
    });
  };
  const auto reads_scores = [](auto& scores, auto&, auto&, auto&) { (void)scores[0]; };
  const auto writes_a = [](auto&, auto& weights, auto&, auto& values) { weights.set(values); };
  const auto reads_sums = [](auto&, auto&, auto& sums, auto&) { (void)sums[{5}]; };
  const auto writes_sums = [](auto&, auto&, auto& sums, auto&) { sums.set(5, 1.0f); };
  CHECK(after(2, reads_scores) == "wgmma-registers");
  CHECK(after(1, reads_scores) == "");
  CHECK(after(1, writes_a) == "wgmma-registers");
  CHECK(after(1, reads_sums) == "wgmma-registers");
  CHECK(after(1, writes_sums) == "wgmma-registers");
  CHECK(after(0, writes_a) == "");
  CHECK(after(0, reads_sums) == "");
  CHECK(after(0, writes_sums) == "");
}

TEST_CASE("a target without wgmma refuses it") {
  CHECK(refused(
            [](auto&, WarpgroupMma& mma, auto& slot) {
              auto sums = mma.sums<176>();
              mma.fence();
              mma.multiply(sums, slot.template get<ATile>(), slot.template get<BTile>(), accumulate(false));
              mma.commit();
              mma.wait(0);
            },
            sm_100a) == "target-feature");
}

}  // namespace dsl_warpgroup_mma

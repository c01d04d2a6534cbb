// What "Tensor Cores: tcgen05" (S1 of docs/requirements.md) has wrong, put right.
#include <doctest/doctest.h>

#include <set>

#include "ptx/isa/tmem.hpp"
#include "tests/unit/sim/tensor_kernel.hpp"
#include "tests/unit/truth/asked.hpp"

namespace truth_layouts {

using namespace kiln;

TEST_CASE("S1-1, S1-6: one thread issues an MMA; no other takes part, whatever the warp") {
  test::accepted({"@p2 tcgen05.mma.cta_group::1.kind::f16 [r0], d1, d2, r1, p1;"});
  test::refused("tcgen05.mma.sync.aligned.cta_group::1.kind::f16 [r0], d1, d2, r1, p1;",
                "illegal modifier '.sync' for instruction 'tcgen05.mma'");
  // Thread 133 is of warp 4, which belongs to no warpgroup of the CTA, and the rest of its warp does not come along.
  const std::string before = test::tensor_kernel(R"(
    mov.u32 %r10, %r0; mov.u32 %r12, 0x3F803F80;
  CP: shl.b32 %r11, %r10, 4; add.u32 %r11, %r11, %r3; st.shared.v4.u32 [%r11], {%r12, %r12, %r12, %r12};
    add.u32 %r10, %r10, 160; setp.lt.u32 %p1, %r10, 320; @%p1 bra CP;
    fence.proxy.async.shared::cta; bar.sync 0;
    setp.eq.u32 %p1, %r0, 133; @!%p1 bra WAIT;
    shr.u32 %r12, %r3, 4; cvt.u64.u32 %rd2, %r12; add.u64 %rd2, %rd2, 0x0000400800800000;
    setp.ne.u32 %p2, %r0, 133;
    tcgen05.mma.cta_group::1.kind::f16 [%r2], %rd2, %rd2, 0x08080490, %p2;
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r4];
  WAIT: setp.ge.u32 %p4, %r0, 128; @%p4 bra END;
  POLL: mbarrier.try_wait.parity.shared.b64 %p3, [%r4], 0; @!%p3 bra POLL;
    tcgen05.fence::after_thread_sync; tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r100}, [%r6];
    tcgen05.wait::ld.sync.aligned; st.global.u32 [%own], %r100;
  END:)");
  launch::Contract c;
  c.buffers = {test::buffer("in", 16), test::buffer("out", 512)};
  launch::Launch l;
  l.block = {160, 1, 1};
  l.params = {test::pointer("in"), test::pointer("out")};
  c.launches = {l};
  const test::Run r = test::run(before, c);
  REQUIRE_MESSAGE(r.clean(), r.findings());
  for (float v : r.read<float>("out")) CHECK(v == 16.0f);  // sixteen products of ones
}

TEST_CASE("S1-10: there is no commit group of tcgen05; commit makes an mbarrier track what the thread issued") {
  test::accepted({"tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [r1];"});
  test::refused("tcgen05.commit.cta_group::1;", "unexpected instruction types specified for 'tcgen05.commit'");
  test::refused("tcgen05.commit_group.cta_group::1;", "unknown field '.cta_group::1'");
  test::refused("tcgen05.wait_group 0;", "parsing error near '0'");
}

TEST_CASE("S1-28: with a sparse A, M = 128 over two CTAs is Layout C, whose columns are not folded") {
  using enum isa::DataPath;
  const auto dense = isa::data_path(128, isa::CtaGroup::two, false, false);
  const auto sparse = isa::data_path(128, isa::CtaGroup::two, true, false);
  CHECK(dense == B);
  CHECK(sparse == C);
  CHECK(isa::accumulator_columns(dense, 128) == 64);
  CHECK(isa::accumulator_columns(sparse, 128) == 128);
  CHECK(isa::accumulator_cell(sparse, 16, 100, 128) == isa::AccumulatorCell{0, 32, 100});
  CHECK(isa::accumulator_cell(dense, 16, 100, 128) == isa::AccumulatorCell{0, 16 + 64, 100 - 64});
}

TEST_CASE("S1-29: there are seven data-path layouts, not four") {
  std::set<isa::DataPath> all, dense;
  for (const int m : {64, 128}) {
    dense.insert(isa::data_path(m, isa::CtaGroup::one, false, false));
    dense.insert(isa::data_path(2 * m, isa::CtaGroup::two, false, false));
  }
  all = dense;
  for (const int m : {32, 64, 128}) all.insert(isa::data_path(m, isa::CtaGroup::one, false, true));
  all.insert(isa::data_path(128, isa::CtaGroup::two, true, false));
  CHECK(dense.size() == 4);
  CHECK(all.size() == 7);
}

}  // namespace truth_layouts

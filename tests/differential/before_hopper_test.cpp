// Plain instructions of which some came with Hopper: Kiln knows which, as ptxas does. The grammar of `oracle` has those
// around tcgen05.
#include <doctest/doctest.h>

#include "tests/differential/forms_compare.hpp"
#include "tests/skip.hpp"

using namespace kiln;
using namespace kiln::test;

namespace {

const std::vector<std::string> from_hopper{
    "add.bf16 h0, h1, h2;",
    "add.rn.bf16x2 r0, r1, r2;",
    "sub.bf16x2 r0, r1, r2;",
    "mul.bf16x2 r0, r1, r2;",
    "fma.rn.bf16x2 r0, r1, r2, r3;",
    "min.bf16x2 r0, r1, r2;",
    "max.NaN.bf16x2 r0, r1, r2;",
    "neg.bf16x2 r0, r1;",
    "abs.bf16x2 r0, r1;",
    "ex2.approx.ftz.bf16x2 r0, r1;",
    "ex2.approx.ftz.bf16 h0, h1;",
    "ex2.approx.f16x2 r0, r1;",
    "tanh.approx.bf16x2 r0, r1;",
    "tanh.approx.f16x2 r0, r1;",
    "tanh.approx.f32 f0, f1;",
    "setp.lt.bf16 p0, h0, h1;",
    "setp.lt.bf16x2 p0|p1, r0, r1;",
    "set.lt.bf16x2.bf16x2 r0, r1, r2;",
    "set.lt.u32.bf16 r0, h1, h2;",
    "cvt.f32.bf16 f0, h0;",
    "cvt.rn.bf16.f32 h0, f0;",
    "cvt.rn.bf16.s32 h0, r0;",
    "cvt.rzi.s32.bf16 r0, h0;",
    "cvt.rn.f16.bf16 h0, h1;",
    "cvt.rn.bf16.f16 h0, h1;",
    "cvt.rn.bf16x2.f32 r0, f0, f1;",
    "cvt.rn.satfinite.e4m3x2.f16x2 h0, r0;",
    "cvt.rn.f16x2.e5m2x2 r0, h0;",
    "cvt.rn.bf16x2.ue8m0x2 r0, h0;",
    "atom.global.add.noftz.bf16x2 r0, [d0], r1;",
    "red.global.add.noftz.bf16x2 [d0], r1;",
    "red.global.add.noftz.f16x2 [d0], r1;",
    "red.global.add.v4.f32 [d0], {f0,f1,f2,f3};",
    "atom.global.add.v2.f32 {f0,f1}, [d0], {f2,f3};",
    "red.global.add.f32 [d0], f1;",
    "ld.relaxed.cluster.global.b32 r0, [d0];",
    "st.release.cluster.global.b32 [d0], r0;",
    "ld.shared::cluster.b32 r0, [r1];",
    "st.shared::cluster.b32 [r1], r0;",
    "atom.relaxed.cluster.global.add.u32 r0, [d0], 1;",
    "red.relaxed.cluster.global.add.u32 [d0], 1;",
    "atom.shared::cluster.add.u32 r0, [r1], 1;",
    "fence.acq_rel.cluster;",
    "fence.sc.cluster;",
    "fence.acquire.sync_restrict::shared::cluster.cluster;",
    "mov.u32 r0, %cluster_ctarank;",
    "mov.u32 r0, %cluster_nctarank;",
    "mov.u32 r0, %cluster_ctaid.x;",
    "mov.u32 r0, %clusterid.x;",
    "mov.u32 r0, %nclusterid.x;",
    "mov.u32 r0, %cluster_nctaid.x;",
    "mov.pred p0, %is_explicit_cluster;",
    "mov.u32 r0, %total_smem_size;",
    "mov.u32 r0, %dynamic_smem_size;",
    "mov.u32 r0, %aggr_smem_size;",
    "mov.u64 d0, %current_graph_exec;",
    "isspacep.shared::cluster p0, d0;",
    "cvta.shared::cluster.u64 d0, d1;",
    "prefetch.tensormap [d0];",
    "prefetchu.L1 [d0];",
    "prefetch.global.L2 [d0];",
    "st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [r0], r1, [r2];",
    "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [r0], r1, [r2];",
    "multimem.ld_reduce.global.add.f32 f0, [d0];",
    "atom.global.cas.b128 q0, [d0], q1, q2;",
    "atom.global.exch.b128 q0, [d0], q0;",
    "ld.global.b128 q0, [d0];",
    "ld.relaxed.gpu.global.b128 q0, [d0];",
    "cp.async.bulk.wait_group 0;",
    "cp.async.bulk.prefetch.L2.global [d0], 16;",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [d0], [r0], 16;",
    "mbarrier.arrive.noComplete.release.cta.shared::cta.b64 d0, [r0], 4;",
    "mbarrier.arrive_drop.noComplete.release.cta.shared::cta.b64 d0, [r0], 4;",
    "mbarrier.arrive.release.cta.shared::cta.b64 _, [r0];",
    "mbarrier.arrive_drop.release.cta.shared::cta.b64 _, [r0];",
    "mbarrier.test_wait.acquire.cta.shared::cta.b64 p0, [r0], d0;",
    "cp.async.ca.shared::cta.global.L2::128B [r0], [d0], 16;",
    "cp.async.cg.shared::cta.global [r0], [d0], 16, r1;",
    "fma.rn.relu.bf16x2 r0, r1, r2, r3;",
    "dp4a.s32.s32 r0, r1, r2, r3;",
    "add.rn.f16x2 r0, r1, r2;",
    "vote.sync.any.pred p0, p1, 0xffffffff;",
    "match.any.sync.b32 r0, r1, 0xffffffff;",
    "szext.clamp.s32 r0, r1, 5;",
    "bmsk.clamp.b32 r0, r1, r2;",
    "min.s16x2 r0, r1, r2;",
    "add.s16x2 r0, r1, r2;",
    "min.relu.s32 r0, r1, r2;",
    "discard.global.L2 [d0], 128;",
    "applypriority.global.L2::evict_normal [d0], 128;",
    "createpolicy.range.global.L2::evict_last.L2::evict_first.b64 d0, [d1], 128, 256;",
    "ld.global.nc.L1::no_allocate.L2::cache_hint.v4.b32 {r0,r1,r2,r3}, [d0], d1;",
    "st.global.L1::no_allocate.v4.b32 [d0], {r0,r1,r2,r3};",
    "fence.proxy.tensormap::generic.release.gpu;",
    "nanosleep.u32 100;",
    "griddepcontrol.wait;",
    "add.f32x2 d0, d1, d2;",
    "mbarrier.try_wait.parity.shared::cta.b64 p0, [r0], 1, 1000;",
    "barrier.cta.arrive 1, 128;",
    "sin.approx.f32 f0, f1;",
    "cvt.rna.satfinite.tf32.f32 r0, f0;",
    "cvt.rn.relu.tf32.f32 r0, f0;",
    "movmatrix.sync.aligned.m8n8.trans.b16 r0, r1;",
    "copysign.f32 f0, f1, f2;",
    "add.sat.s32 r0, r1, r2;",
    "cvt.pack.sat.u8.s32.b32 r0, r1, r2, r3;"};

}  // namespace

TEST_CASE("what came with Hopper, or with Blackwell, Kiln refuses for older targets exactly where ptxas does") {
  const harness::Ptxas ptxas = harness::find_ptxas();
  if (!ptxas.found()) return skip("no ptxas: " + ptxas.missing);
  Exceptions none;
  for (const isa::Target target : {isa::Target{89}, isa::sm_90a}) {
    const Tally tally = compare(ptxas, {target}, from_hopper, none);
    CHECK(tally.accepted > 40);
    CHECK((target == isa::sm_90a || tally.refused() > 40));
    for (const Disagreement& d : tally.disagreements) FAIL_CHECK(d.text());
  }
}

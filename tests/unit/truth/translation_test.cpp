// What "Translating tcgen05 to mma.sync" (S3 of docs/requirements.md) has wrong about PTX and synchronisation.
#include <doctest/doctest.h>

#include "ptx/ir/code.hpp"
#include "ptx/isa/instruction_descriptor.hpp"
#include "ptx/rules/tcgen05_alloc.hpp"
#include "tests/unit/sim/run.hpp"
#include "tests/unit/truth/asked.hpp"

namespace truth_translation {

using namespace kiln;

namespace {

const std::string mismatch = "arguments mismatch for instruction 'tcgen05.mma'";
const std::string tma =
    "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [smem], [d1, {r1, r2}], [bar];";

// Two warps: warp 0 runs `producer` and arrives on an mbarrier; warp 1 waits for it and then ends.
test::Run two_warps(const std::string& producer) {
  return test::run_kernel(test::kernel(R"(
    .shared .align 8 .b64 bar; mov.u32 %r1, bar; mov.u32 %r2, %tid.x; setp.ne.u32 %p1, %r2, 0; setp.ge.u32 %p2, %r2, 32;
    @!%p1 mbarrier.init.shared.b64 [%r1], 1; bar.sync 1;
    @%p2 bra WAIT;
    )" + producer + R"(
    @!%p1 mbarrier.arrive.shared.b64 _, [%r1]; bra END;
  WAIT: mbarrier.try_wait.parity.shared.b64 %p3, [%r1], 0; @!%p3 bra WAIT;
  END:)"),
                          64);
}

// An entry with a directive after its parameters, given to the parser and of ptxas.
bool parses(const std::string& directive) {
  return test::ask_verifier(test::header(isa::sm_120a) + ".visible .entry k() " + directive + " { ret; }").taken;
}
test::Answer assembles(const std::string& directive) {
  return test::ask_ptxas(test::header(isa::sm_120a) + ".visible .entry k() " + directive + " { ret; }", isa::sm_120a);
}

}  // namespace

TEST_CASE("S3-12, S3-48: alloc counts columns and writes the address to shared memory; it has no result register") {
  test::accepted({"tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem], 32;"});
  test::refused("tcgen05.alloc.cta_group::1 r0, 16384;", "unexpected instruction types specified for 'tcgen05.alloc'");
  test::refused("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 r0, 32;", "arguments mismatch");
  test::refused("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [smem], 16384;", "value '16384' out of range");
  diag::Sink sink;
  const ir::Module module =
      parse::parse(std::make_shared<const diag::Source>(
                       "t.ptx", test::header(isa::sm_100a) +
                                    test::kernel_of("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [r1], 32; "
                                                    "ld.shared.u32 r2, [r1];")),
                   sink);
  const ir::Code code = ir::decode(module, *module.find_function("k0"), sink);
  CHECK(code.written(code.operations.at(0)).empty());
  CHECK(code.written(code.operations.at(1)).size() == 1);  // where a translator finds the address
}

TEST_CASE("S3-13: the kind of NVFP4 is mxf4nvf4, with block_scale and a size") {
  test::accepted(
      {"tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16 [r0], d1, d2, r1, [r5], [r6], p1;",
       "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.scale_vec::4X [r0], d1, d2, r1, [r5], [r6], p1;"});
  test::refused("tcgen05.mma.cta_group::1.kind::nvf4 [r0], d1, d2, r1, p1;", "unknown modifier '.kind::nvf4'");
  test::refused("tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale [r0], d1, d2, r1, [r5], [r6], p1;",
                "requires modifier '.scale_vectorsize'");
}

TEST_CASE("S3-14: matrix descriptors are registers without brackets") {
  test::refused("tcgen05.mma.cta_group::1.kind::f16 [r0], [d1], [d2], r1, p1;", mismatch);
  test::refused("tcgen05.mma.cta_group::1.kind::f16 [r0], d1, [d2], r1, p1;", mismatch);
}

TEST_CASE("S3-15, S3-41: scales are addresses in tensor memory after the instruction descriptor") {
  const std::string mma = "tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale.block16 [r0], d1, d2, ";
  test::accepted({mma + "r1, [r5], [r6], p1;"});
  test::refused(mma + "r1, r5, r6, p1;", mismatch);
  test::refused(mma + "[r5], [r6];", mismatch);
}

TEST_CASE("S3-16, S3-17: commit arrives on an mbarrier, and the wait for an MMA is one on that mbarrier") {
  test::accepted({"tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [r1];",
                  "mbarrier.try_wait.parity.shared::cta.b64 p1, [r1], r2;", "tcgen05.wait::ld.sync.aligned;",
                  "tcgen05.wait::st.sync.aligned;"});
  test::refused("tcgen05.commit.cta_group::1 r0;", "unexpected instruction types specified for 'tcgen05.commit'");
  test::refused("tcgen05.wait.cta_group::1 r0;", "illegal modifier '.cta_group::1' for instruction 'tcgen05.wait'");
  test::refused("tcgen05.wait::mma.sync.aligned;", "parsing error near ':'");
}

TEST_CASE("S3-18, S3-50: tcgen05.cp goes from shared to tensor memory alone; out of it there is ld") {
  test::accepted({"tcgen05.cp.cta_group::1.128x256b [r0], d1;", "tcgen05.ld.sync.aligned.32x32b.x1.b32 {r1}, [r0];",
                  "tcgen05.st.sync.aligned.32x32b.x1.b32 [r0], {r1};"});
  test::refused("tcgen05.cp.tmem.shared::cta.b64 [r0], [r1];", "unknown modifier '.tmem'");
  test::refused("tcgen05.cp.cta_group::1.128x256b d1, [r0];", "arguments mismatch for instruction 'tcgen05.cp'");
}

TEST_CASE("S3-19, S3-20: dealloc and relinquish name a cta_group and are .sync.aligned") {
  test::accepted({"tcgen05.dealloc.cta_group::1.sync.aligned.b32 r0, 32;",
                  "tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;"});
  test::refused("tcgen05.dealloc r0, 16384;", "unexpected instruction types specified for 'tcgen05.dealloc'");
  test::refused("tcgen05.relinquish_alloc_permit;", ".sync modifier required");
  // ptxas lets the size in bytes pass in the right form; it is no size of an allocation.
  CHECK(rules::alloc_columns(16384).broken());
}

TEST_CASE("S3-26: bar.sync 0 is for the CTA and hangs where one warp is meant; bar.warp.sync does not") {
  const test::Run cta = two_warps("bar.sync 0;"), warp = two_warps("bar.warp.sync 0xFFFFFFFF;");
  CHECK_MESSAGE(cta.has("[deadlock]"), cta.findings());
  CHECK_MESSAGE(warp.clean(), warp.findings());
}

TEST_CASE("S3-27: a shared variable is named without a percent sign") {
  test::accepted({"st.shared.f32 [smem+0], f0;"});
  test::refused("st.shared.f32 [%smem+0], f0;", "operand type");
}

TEST_CASE("S3-49: a tcgen05.mma has no shape; M, N and types are in a run-time word") {
  test::refused("tcgen05.mma.cta_group::1.kind::f16.m64n64k16 [r0], d1, d2, r1, p1;", "illegal modifier '.m64n64k16'");
  const auto small = isa::unpack(0x04100490, isa::MmaKind::f16), large = isa::unpack(0x08400490, isa::MmaKind::f16);
  CHECK(small.m == 64);
  CHECK(small.n == 64);
  CHECK(large.m == 128);
  CHECK(large.n == 256);
  CHECK(isa::operand_type(isa::MmaKind::f16, small.a_type) == isa::ScalarType::bf16);
}

TEST_CASE("S3-51: one thread commits; an arrival can stand in its place, a barrier of the CTA cannot") {
  const test::Run barrier = two_warps("@!%p1 bar.sync 0;"), arrival = two_warps("");
  CHECK_MESSAGE(arrival.clean(), arrival.findings());
  CHECK_MESSAGE(!barrier.clean(), "one thread at bar.sync 0 went unnoticed");
  CHECK_MESSAGE((barrier.has("[warp-aligned]") || barrier.has("[deadlock]")), barrier.findings());
}

TEST_CASE("S3-53: the cluster directive is .reqnctapercluster, and sm_120 has clusters") {
  CHECK(isa::has_clusters(isa::sm_120a));
  CHECK(parses(".explicitcluster .reqnctapercluster 2, 1, 1"));
  CHECK(!parses(".cluster_dim 2, 1, 1"));
  if (!test::ptxas().found()) return;
  CHECK(assembles(".explicitcluster .reqnctapercluster 2, 1, 1").taken);
  CHECK(assembles(".cluster_dim 2, 1, 1").error.find("parsing error near '.cluster_dim'") != std::string::npos);
}

TEST_CASE("S3-54, S3-58: on sm_120 a tensor copy may name .shared::cluster and multicast, but no cta_group") {
  const auto with = [](const std::string& modifier, const std::string& tail) {
    std::string text = tma;
    text.replace(text.find("bytes ") + 5, 0, modifier);
    return text.replace(text.find(";"), 0, tail);
  };
  test::accepted({tma, with(".multicast::cluster", ", h1")}, isa::sm_120a);
  test::accepted({with(".cta_group::2", "")});
  test::refused_by_ptxas(with(".cta_group::2", ""), "feature '.cta_group::2' not supported on .target 'sm_120a'",
                         isa::sm_120a);
  test::refused("tcgen05.wait::ld.sync.aligned;", "not supported on .target 'sm_120a'", isa::sm_120a);
}

}  // namespace truth_translation

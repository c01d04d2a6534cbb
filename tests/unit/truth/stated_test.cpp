// What the five sources of docs/requirements.md have right about forms, encodings and sizes, and no other test asks.
#include <doctest/doctest.h>

#include <set>

#include "ptx/isa/instruction_descriptor.hpp"
#include "ptx/isa/scales.hpp"
#include "ptx/isa/shared_descriptor.hpp"
#include "ptx/isa/tcgen05.hpp"
#include "ptx/isa/tma.hpp"
#include "ptx/isa/tmem.hpp"
#include "ptx/rules/shared_memory.hpp"
#include "ptx/rules/tcgen05_alloc.hpp"
#include "ptx/rules/tcgen05_mma.hpp"
#include "tests/unit/truth/asked.hpp"

namespace truth_stated {

using namespace kiln;
using isa::MmaKind;

namespace {

const std::string mismatch = "arguments mismatch for instruction 'tcgen05.mma'";
const std::string mma = "tcgen05.mma.cta_group::1.kind::";
const std::string plain = " [r0], d1, d2, r1, p1;", scaled = " [r0], d1, d2, r1, [r5], [r6], p1;";

std::string tensor_copy(int dims, const std::string& to, const std::string& modifiers = "",
                        const std::string& tail = "") {
  std::string at = "{r1";
  for (int i = 2; i <= dims; ++i) at += ", r" + std::to_string(i);
  return "cp.async.bulk.tensor." + std::to_string(dims) + "d." + to + ".global.mbarrier::complete_tx::bytes" +
         modifiers + " [smem], [d1, " + at + "}], [bar]" + tail + ";";
}

}  // namespace

TEST_CASE("S0-4, S0-73: Blackwell has tcgen05 instead of wgmma, and sm_120 has neither") {
  for (const isa::Target t : {isa::sm_100a, isa::sm_103f, isa::sm_110a}) test::accepted({mma + "f16" + plain}, t);
  for (const isa::Target t : {isa::sm_120a, isa::sm_90a})
    test::refused(mma + "f16" + plain, "not supported on .target '" + isa::spelling(t) + "'", t);
  for (const isa::Target t : {isa::sm_100a, isa::sm_120a})
    test::refused_by_ptxas("wgmma.fence.sync.aligned;", "not supported on .target '" + isa::spelling(t) + "'", t);
}

TEST_CASE("S0-6, S4-41, S4-42, S4-71: bulk copies are linear, tensor copies have one to five dimensions") {
  std::vector<std::string> all{
      "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint [smem], [d1], 16, [bar], d2;"};
  for (int dims = 1; dims <= 5; ++dims) all.push_back(tensor_copy(dims, "shared::cta"));
  all.push_back(tensor_copy(3, "shared::cluster", ".multicast::cluster.cta_group::2.L2::cache_hint", ", h1, d2"));
  all.push_back(tensor_copy(3, "shared::cta", ".cta_group::2.L2::cache_hint", ", d2"));
  test::accepted(all);
  CHECK(isa::tma_max_rank == 5);
  test::refused_by_ptxas(tensor_copy(3, "shared::cta", ".multicast::cluster", ", h1"),
                         "illegal modifier '.multicast::cluster' for instruction 'cp.async.bulk.tensor'");
}

TEST_CASE("S0-17, S0-23, S0-33, S4-61, S4-75, S4-76: the helpers' PTX assembles") {
  test::accepted({"mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p1, [r1], r2, 0x989680;",
                  "mbarrier.try_wait.parity.shared::cta.b64 p1, [r1], r2;", "mbarrier.init.shared::cta.b64 [r1], 1;",
                  "fence.mbarrier_init.release.cluster;", "elect.sync r1|p1, 0xFFFFFFFF;",
                  "mbarrier.arrive.expect_tx.shared::cta.b64 _, [r1], r2;"});
}

TEST_CASE("S0-20, S0-24, S4-64, S4-65: alloc takes a power of two from 32 to 512 and an address in .shared::cta") {
  test::accepted({"tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [r0], r1;",
                  "tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [r0], 64;",
                  "tcgen05.alloc.cta_group::1.sync.aligned.b32 [d0], 32;"});
  for (const int n : {0, 1, 16, 513, 1024})
    test::refused("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [r0], " + std::to_string(n) + ";",
                  "out of range");
  for (const int n : {33, 48, 96})
    test::refused("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [r0], " + std::to_string(n) + ";",
                  "must be power of 2");
  test::refused("tcgen05.alloc.cta_group::1.sync.aligned.shared::cluster.b32 [r0], 32;", "state space incorrect");
}

TEST_CASE("S0-31, S0-32, S4-95: .x8 fills eight registers; dealloc names its address without brackets") {
  test::accepted({"tcgen05.ld.sync.aligned.32x32b.x8.b32 {r1, r2, r3, r4, r5, r6, r7, r8}, [r0];",
                  "tcgen05.dealloc.cta_group::1.sync.aligned.b32 r0, r1;"});
  test::refused("tcgen05.ld.sync.aligned.32x32b.x8.b32 {r1, r2, r3, r4}, [r0];", "Argument vector size mismatch");
  test::refused("tcgen05.dealloc.cta_group::1.sync.aligned.b32 [r0], 32;", "arguments mismatch");
  CHECK(isa::load_shape(isa::DataShape::s16x256b).registers * 32 == 128);  // .16x256b.x32, its longest
  CHECK(isa::load_shape(isa::DataShape::s16x256b).max_repeat == 32);
}

TEST_CASE("S0-59, S0-61: a multicast commit takes a mask of 16 bits; cluster barriers arrive and wait") {
  const std::string commit =
      "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [r1], ";
  test::accepted({commit + "h1;"});
  test::refused(commit + "r2;", "arguments mismatch");
  // ptxas takes a constant mask since 13.4, whatever the .version.
  CHECK(test::ask_verifier(test::header(isa::sm_100a) + test::kernel_of(commit + "3;")).taken);
  test::accepted({"barrier.cluster.arrive.release.aligned;", "barrier.cluster.wait.acquire.aligned;"});
}

TEST_CASE("S1-7, S2-18, S2-19: there are one and two CTAs to a group, not four") {
  for (const std::string text :
       {"tcgen05.mma.cta_group::4.kind::f16 [r0], d1, d2, r1, p1;", "tcgen05.cp.cta_group::4.128x256b [r0], d1;"})
    test::refused(text, "unknown modifier '.cta_group::4'");
}

TEST_CASE("S1-8, S2-42, S2-51, S4-2, S4-5: A is a descriptor or in tensor memory in every form, B a descriptor") {
  for (const std::string a : {"d1", "[r3]"}) {
    test::accepted({mma + "tf32 [r0], " + a + ", d2, r1, p1;",
                    "tcgen05.mma.ws.sp.cta_group::1.kind::i8 [r0], " + a + ", d2, [r4], r1, p1;",
                    mma + "mxf4nvf4.block_scale.block16 [r0], " + a + ", d2, r1, [r5], [r6], p1;"});
    test::refused(mma + "f16 [r0], " + a + ", [r2], r1, p1;", mismatch);
  }
}

TEST_CASE("S1-22: from lane 16 on, a second M = 64 accumulator takes the lanes that the first leaves") {
  std::set<int> lanes;
  for (const int base : {0, 16})
    for (int m = 0; m < 64; ++m) lanes.insert(isa::accumulator_cell(isa::DataPath::F, m, 0, 32, base).lane);
  CHECK(lanes.size() == std::size_t(isa::tmem_lanes));
}

TEST_CASE("S1-34, S2-47, S2-72: scales stand with block_scale and with nothing else") {
  test::accepted({mma + "mxf8f6f4.block_scale" + scaled, mma + "mxf4.block_scale" + scaled,
                  mma + "mxf4nvf4.block_scale.block32" + scaled});
  test::refused(mma + "mxf8f6f4.block_scale" + plain, mismatch);
  for (const std::string kind : {"f16", "tf32", "f8f6f4", "i8"})
    test::refused(mma + kind + ".block_scale" + scaled, "cannot be combined with modifier '.block_scale'");
}

TEST_CASE(
    "S2-32, S2-33, S2-34, S2-35, S2-39, S2-40, S2-112: two CTAs for dense, sparse and block-scaled; .ws has one") {
  std::vector<std::string> all;
  for (const std::string g : {"1", "2"}) {
    all = {"tcgen05.mma.cta_group::" + g + ".kind::f16" + plain,
           "tcgen05.mma.sp.cta_group::" + g + ".kind::f16 [r0], d1, d2, [r4], r1, p1;",
           "tcgen05.mma.cta_group::" + g + ".kind::mxf4.block_scale" + scaled,
           "tcgen05.mma.sp.cta_group::" + g + ".kind::mxf4.block_scale [r0], d1, d2, [r4], r1, [r5], [r6], p1;"};
    test::accepted(all);
  }
  const std::string no_pair = "illegal modifier '.cta_group::2' for instruction 'tcgen05.mma.ws'";
  test::refused("tcgen05.mma.ws.cta_group::2.kind::f16" + plain, no_pair);
  test::refused("tcgen05.mma.ws.sp.cta_group::2.kind::f16 [r0], d1, d2, [r4], r1, p1;", no_pair);
  for (const std::string kind : {"mxf8f6f4", "mxf4", "mxf4nvf4"})
    test::refused("tcgen05.mma.ws.cta_group::1.kind::" + kind + plain, "for instruction 'tcgen05.mma.ws'");
}

TEST_CASE("S2-44, S2-93: metadata is an address in tensor memory, an operand of its own") {
  test::accepted({"tcgen05.mma.sp.cta_group::1.kind::f16 [r0], d1, d2, [r4], r1, p1;"});
  test::refused("tcgen05.mma.sp.cta_group::1.kind::f16 [r0], d1, d2, d4, r1, p1;", "arguments mismatch");
}

TEST_CASE("S2-71: scale-input-d is for f16 and tf32") {
  test::accepted({mma + "f16 [r0], d1, d2, r1, p1, 1;", mma + "tf32 [r0], d1, d2, r1, p1, 1;"});
  test::refused(mma + "f8f6f4 [r0], d1, d2, r1, p1, 1;", "illegal modifier '.kind::f8f6f4'");
}

TEST_CASE("S2-87, S2-89: ashift goes with lastuse and discard, not with fill and use") {
  const std::string a = " [r0], [r3], d2, r1, p1;";
  test::accepted({mma + "f16.ashift.collector::a::lastuse" + a, mma + "f16.ashift.collector::a::discard" + a});
  for (const std::string op : {"fill", "use"})
    test::refused(mma + "f16.ashift.collector::a::" + op + a,
                  "modifier '.collector::a::" + op + "' cannot be combined with modifier '.ashift'");
}

TEST_CASE("S2-97: sparse FP4 needs a target of one architecture") {
  const std::string sparse =
      "tcgen05.mma.sp.cta_group::1.kind::mxf4.block_scale [r0], d1, d2, [r4], r1, [r5], [r6], p1;";
  test::accepted({sparse}, isa::sm_103a);
  test::refused(sparse, "not supported on .target 'sm_103f'", isa::sm_103f);
}

TEST_CASE("S2-104: FP4 is e2m1; there is no e0m3") {
  CHECK(isa::parse_type("e2m1") == isa::ScalarType::e2m1);
  CHECK(!isa::parse_type("e0m3"));
  CHECK(isa::operand_type(MmaKind::mxf4nvf4, 1) == isa::ScalarType::e2m1);
}

TEST_CASE("S3-1: FP4, FP6 and scales need sm_120a or sm_120f") {
  const std::string fp4 =
      "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.e2m1.e2m1.f32 {f0,f1,f2,f3}, {r0,r1,r2,r3}, {r4,r5}, "
      "{f0,f1,f2,f3};";
  test::refused_by_ptxas(fp4, "not supported on .target 'sm_120'", isa::Target{120});
}

TEST_CASE("S3-21, S3-22, S3-38, S3-39: 64 KiB of accumulator fit the 99 KiB of sm_120, and leave 35") {
  CHECK(isa::max_shared_bytes(isa::sm_120a) == 99 * 1024);
  CHECK(rules::shared_budget(isa::sm_120a, 99 * 1024 + 1).broken());
  CHECK(isa::max_shared_bytes(isa::sm_120a) - 128 * 128 * 4 == 35 * 1024);
  if (!test::ptxas().found()) return;
  const auto with = [](const std::string& bytes) {
    return test::ask_ptxas(
        ".version 9.0\n.target sm_120a\n.address_size 64\n.visible .entry k() { .reg .b32 r<2>; "
        ".shared .align 16 .b8 s[" +
            bytes + "]; st.shared.b32 [s], r1; ret; }",
        isa::sm_120a);
  };
  CHECK(with("65536").taken);
  CHECK(with("102400").error.find("too much shared data") != std::string::npos);
}

TEST_CASE("S3-23: registers are declared in ranges and zeroed with 0.0") {
  test::accepted({".reg .f32 %rd<4>; mov.f32 %rd0, 0.0; mov.f32 %rd3, %rd0;"});
}

TEST_CASE("S3-44: mma.sync takes ue8m0 for 32 elements and, up to PTX 9.0, not for 16") {
  const auto with = [](const std::string& vector) {
    return "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::" + vector +
           ".f32.e2m1.e2m1.f32.ue8m0 {f0,f1,f2,f3}, {r0,r1,r2,r3}, {r4,r5}, {f0,f1,f2,f3}, r6, {0,0}, r7, {0,0};";
  };
  test::refused_by_ptxas(with("4X"), "illegal modifier '.scale_vec::4X'", isa::sm_120a);
  if (test::ptxas().found())
    CHECK(test::ask_ptxas(test::header(isa::sm_120a) + test::kernel_of(with("2X")), isa::sm_120a).taken);
}

TEST_CASE("S4-4, S4-38, S4-90: 4X and block16 say the same of K = 64") {
  test::accepted({mma + "mxf4nvf4.block_scale.scale_vec::4X" + scaled, mma + "mxf4nvf4.block_scale.block16" + scaled});
  CHECK(isa::scales_per_row(MmaKind::mxf4nvf4, isa::ScaleVector::x4) ==
        isa::scales_per_row(MmaKind::mxf4nvf4, isa::ScaleVector::block16));
  CHECK(isa::scales_per_row(MmaKind::mxf4nvf4, isa::ScaleVector::block16, true) == 6);  // but not of K = 96
  test::refused(mma + "mxf4nvf4.block_scale.scale_vec::4X" + scaled, "not supported on .target 'sm_100f'",
                isa::sm_100f);
  test::accepted({mma + "mxf4nvf4.block_scale.block16" + scaled}, isa::sm_100f);
}

TEST_CASE("S4-17, S4-19: without a swizzle 128 x 64 FP4 is sixteen by two core matrices, 128 and 2048 bytes apart") {
  isa::SharedDescriptorFields d;
  d.stride = 128, d.leading = 16 * 128;
  CHECK(64 / 2 == isa::mma_k_bytes);
  CHECK(isa::k_major_address(d, isa::Swizzle::none, 8, 0) == 128);
  CHECK(isa::k_major_address(d, isa::Swizzle::none, 127, 15) == 2047);
  CHECK(isa::k_major_address(d, isa::Swizzle::none, 0, 16) == 2048);
  CHECK(isa::k_major_address(d, isa::Swizzle::none, 127, 31) == 4095);
}

TEST_CASE(
    "S4-15, S0-47, S4-80, S4-86: a swizzled atom is 8 rows of its span; K steps 32 bytes inside; LBO is ignored") {
  isa::SharedDescriptorFields d, step;
  d.stride = step.stride = 8 * 128;
  d.leading = 16, step.start = 32;
  for (int row = 0; row < 16; ++row) {
    CHECK(isa::k_major_address(d, isa::Swizzle::b128, row, 40) ==
          isa::k_major_address(step, isa::Swizzle::b128, row, 8));
    isa::SharedDescriptorFields other = d;
    other.leading = 4096;
    CHECK(isa::k_major_address(d, isa::Swizzle::b128, row, 40) ==
          isa::k_major_address(other, isa::Swizzle::b128, row, 40));
  }
  CHECK(isa::k_major_address(d, isa::Swizzle::b128, 8, 0) == 1024);
  isa::SharedDescriptorFields one;
  one.version = 0, one.leading = 1;
  CHECK(isa::pack(one) == 0);  // encode(1) is nothing
}

TEST_CASE("S4-20: the base offset is bits 7 to 9 of the start, zero on a boundary of the pattern") {
  CHECK(isa::period_bytes(isa::Swizzle::b128) == 1024);
  CHECK(isa::period_bytes(isa::Swizzle::b64) == 512);
  CHECK(isa::period_bytes(isa::Swizzle::b32) == 256);
  CHECK(rules::sdesc_alignment(isa::Swizzle::b128, 4096, 0).ok());
  CHECK(rules::sdesc_alignment(isa::Swizzle::b128, 4096 + 384, 3).ok());
  CHECK(rules::sdesc_alignment(isa::Swizzle::b128, 4096 + 384, 0).broken());
}

TEST_CASE("S4-30, S4-33, S4-35, S4-36: scale fields of the descriptor of NVFP4") {
  isa::InstructionDescriptorFields f;
  f.sparse = true, f.sfb_id = 2, f.negate_a = true, f.negate_b = true, f.n = 128, f.scale_format = 1;
  f.m = 128, f.sfa_id = 2, f.k96 = true;
  CHECK(isa::pack(f, MmaKind::mxf4nvf4) ==
        (1u << 2 | 2u << 4 | 3u << 13 | 16u << 17 | 1u << 23 | 1u << 27 | 2u << 29 | 1u << 31));
  isa::InstructionDescriptorFields id;
  id.sfa_id = 2, id.scale_format = 1;
  CHECK(rules::idesc_scale(MmaKind::mxf4nvf4, isa::ScaleVector::x2, id).ok());
  CHECK(rules::idesc_scale(MmaKind::mxf4nvf4, isa::ScaleVector::x4, id).broken());  // four bytes leave no choice
}

TEST_CASE("S4-39, S4-89: dense NVFP4 over one CTA is M = 128, N in steps of 8, K = 64") {
  CHECK(rules::mma_m(isa::CtaGroup::one, 128, MmaKind::mxf4nvf4).ok());
  CHECK(rules::mma_m(isa::CtaGroup::one, 64, MmaKind::mxf4nvf4).broken());
  CHECK(rules::mma_n(MmaKind::mxf4nvf4, isa::CtaGroup::one, 8).ok());
  CHECK(rules::mma_n(MmaKind::mxf4nvf4, isa::CtaGroup::one, 12).broken());
  CHECK(isa::mma_k(MmaKind::mxf4nvf4) == 64);
}

TEST_CASE("S4-44, S4-84, S4-85, S4-88: each shape of tcgen05.cp has its multicast") {
  const auto cp = [](const std::string& shape) { return "tcgen05.cp.cta_group::1." + shape + " [r0], d1;"; };
  test::accepted({cp("128x256b"), cp("4x256b"), cp("128x128b"), cp("64x128b.warpx2::02_13"),
                  cp("64x128b.warpx2::01_23"), cp("32x128b.warpx4"), cp("128x256b.b8x16.b6x16_p32"),
                  cp("32x128b.warpx4.b8x16.b4x16_p64")});
  test::refused(cp("64x128b"), "'.warptype' require");
  test::refused(cp("64x128b.warpx4"), "not allowed");
  test::refused(cp("128x256b.warpx4"), "not allowed");
  test::refused(cp("128x256b.b8x16"), "format conversion");
}

TEST_CASE("S4-45, S4-98: the shapes and repeats of tcgen05.ld") {
  const auto ld = [](const std::string& form, int registers, const std::string& tail = "") {
    std::string text = "tcgen05.ld.sync.aligned." + form + ".b32 {r0";
    for (int i = 1; i < registers; ++i) text += ", r" + std::to_string(i);
    return text + "}, [r199]" + tail + ";";
  };
  test::accepted({ld("16x64b.x128", 128), ld("16x128b.x64", 128), ld("16x256b.x32", 128), ld("32x32b.x128", 128),
                  ld("16x32bx2.x4", 4, ", 8"), ld("32x32b.x4.pack::16b", 4)});
  test::refused(ld("16x256b.x64", 128), "modifier .x64 not allowed");
  test::refused(ld("16x128b.x128", 128), "modifier .x128 not allowed");
}

}  // namespace truth_stated

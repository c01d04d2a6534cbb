// Block scaling: what S2, S3 and S4 of docs/requirements.md have wrong about formats, vector sizes and layout.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "ptx/isa/cache_policy.hpp"
#include "ptx/isa/scales.hpp"
#include "ptx/isa/tcgen05.hpp"
#include "ptx/isa/tmem.hpp"
#include "ptx/num/window.hpp"
#include "ptx/rules/tcgen05_mma.hpp"
#include "tests/unit/sim/tensor_kernel.hpp"
#include "tests/unit/truth/asked.hpp"

namespace truth_scaling {

using namespace kiln;
using isa::MmaKind, isa::ScaleVector, isa::ScalarType;

namespace {

constexpr std::uint8_t ue4m3 = 0, ue8m0 = 1;  // bit 23 of the instruction descriptor

constexpr bool takes(MmaKind kind, ScaleVector vector, std::uint8_t format) {
  isa::InstructionDescriptorFields f;
  f.scale_format = format;
  return rules::idesc_scale(kind, vector, f).ok();
}

// K elements of one instruction to a scale.
constexpr int block(MmaKind kind, ScaleVector vector) { return isa::mma_k(kind) / isa::scales_per_row(kind, vector); }

std::string scaled(const std::string& kind) {
  return "tcgen05.mma.cta_group::1.kind::" + kind + " [r0], d1, d2, r1, [r5], [r6], p1;";
}

// One warp-level MMA of packed FP4 with scales of a type.
std::string warp_mma(const std::string& kind, const std::string& scale) {
  return "mma.sync.aligned.m16n8k64.row.col.kind::" + kind + ".f32.e2m1.e2m1.f32." + scale +
         " {f0,f1,f2,f3}, {r0,r1,r2,r3}, {r4,r5}, {f0,f1,f2,f3}, r6, {0,0}, r7, {0,0};";
}

// An NVFP4 row times a column of 64 elements: ones in the block of sixteen, zeros elsewhere.
float nvfp4(int nonzero_block, const std::vector<std::uint8_t>& scale_a, const std::vector<std::uint8_t>& scale_b) {
  const num::DotSpec spec{.kind = num::MmaKind::mxf4nvf4,
                          .a = ScalarType::e2m1,
                          .b = ScalarType::e2m1,
                          .scale = ScalarType::ue4m3,
                          .scale_vector = 4,
                          .read_c = false};
  std::vector<std::uint32_t> a(64, 0), b(64, 2);
  for (int k = 0; k < 16; ++k) a[std::size_t(nonzero_block * 16 + k)] = 2;  // 1.0
  return std::bit_cast<float>(num::dot(spec, a, b, 0, {scale_a, scale_b}));
}

}  // namespace

TEST_CASE("S2-48: scales are ue8m0 or ue4m3, which have no sign") {
  CHECK(!num::format_of(ScalarType::ue8m0).has_sign);
  CHECK(!num::format_of(ScalarType::ue4m3).has_sign);
  CHECK(num::format_of(ScalarType::e4m3).has_sign);
  test::refused_by_ptxas(warp_mma("mxf4nvf4.block_scale.scale_vec::4X", "e4m3"), "incorrect instruction type",
                         isa::sm_120a);
}

TEST_CASE("S2-59: 1X is a scale for 32 elements of 32, 2X for 32 of 64, 4X for 16 of 64") {
  CHECK(isa::mma_k(MmaKind::mxf8f6f4) == 32);
  CHECK(block(MmaKind::mxf8f6f4, ScaleVector::x1) == 32);
  CHECK(isa::mma_k(MmaKind::mxf4) == 64);
  CHECK(block(MmaKind::mxf4, ScaleVector::x2) == 32);
  CHECK(block(MmaKind::mxf4nvf4, ScaleVector::x4) == 16);
  test::accepted({scaled("mxf8f6f4.block_scale.scale_vec::1X"), scaled("mxf4.block_scale.scale_vec::2X"),
                  scaled("mxf4nvf4.block_scale.scale_vec::4X")});
  test::refused(scaled("mxf8f6f4.block_scale.scale_vec::2X"), "cannot be combined with modifier '.scale_vec::2X'");
}

TEST_CASE("S2-69, S2-102: kind::mxf4 is ue8m0 for 32 elements and takes no ue4m3") {
  CHECK(takes(MmaKind::mxf4, ScaleVector::x2, ue8m0));
  CHECK(!takes(MmaKind::mxf4, ScaleVector::x2, ue4m3));
  CHECK(block(MmaKind::mxf4, ScaleVector::none) == 32);
  test::refused(scaled("mxf4.block_scale.scale_vec::4X"), "cannot be combined with modifier '.scale_vec::4X'");
  test::refused(scaled("mxf4.block_scale.block16"), "cannot be combined with modifier '.block16'");
  test::refused_by_ptxas(warp_mma("mxf4.block_scale.scale_vec::2X", "ue4m3"),
                         "illegal modifier '.kind::mxf4' for instruction 'mma' with type '.ue4m3'", isa::sm_120a);
}

TEST_CASE("S2-99: K and elements to a scale are (32, 32), (64, 32) and (64, 16), twice the K when sparse, and K = 96") {
  CHECK(isa::mma_k(MmaKind::mxf8f6f4, true) == 64);
  CHECK(isa::mma_k(MmaKind::mxf4nvf4, true) == 128);
  CHECK(isa::mma_k(MmaKind::mxf4nvf4, false, true) == 96);
  CHECK(isa::scales_per_row(MmaKind::mxf4nvf4, ScaleVector::block16, true) == 6);
  CHECK(isa::scales_per_row(MmaKind::mxf4, ScaleVector::block32, true) == 3);
  // mxf4nvf4 alone has two block sizes; with sixteen elements it takes either format.
  CHECK(takes(MmaKind::mxf4nvf4, ScaleVector::block16, ue4m3));
  CHECK(takes(MmaKind::mxf4nvf4, ScaleVector::block16, ue8m0));
  CHECK(takes(MmaKind::mxf4nvf4, ScaleVector::block32, ue8m0));
  CHECK(!takes(MmaKind::mxf4nvf4, ScaleVector::block32, ue4m3));
  test::accepted({scaled("mxf4nvf4.block_scale.block16"), scaled("mxf4nvf4.block_scale.block32")});
}

TEST_CASE("S2-100: fp8 with scales is kind::mxf8f6f4, of any two of its five formats") {
  for (const ScalarType a : {ScalarType::e4m3, ScalarType::e5m2, ScalarType::e2m3, ScalarType::e3m2, ScalarType::e2m1})
    for (const ScalarType b : {ScalarType::e4m3, ScalarType::e2m1})
      CHECK(rules::mma_types(MmaKind::mxf8f6f4, a, b).ok());
  CHECK(takes(MmaKind::mxf8f6f4, ScaleVector::x1, ue8m0));
  CHECK(!takes(MmaKind::mxf8f6f4, ScaleVector::x1, ue4m3));
  test::refused(scaled("f8f6f4.block_scale"), "modifier '.kind::f8f6f4' cannot be combined");
}

TEST_CASE("S2-101, S2-106, S2-107: ue4m3 for sixteen elements is NVFP4, kind::mxf4nvf4; ue8m0 for 32 is MXFP4") {
  for (const ScaleVector fine : {ScaleVector::x4, ScaleVector::block16}) {
    CHECK(takes(MmaKind::mxf4nvf4, fine, ue4m3));
    CHECK(block(MmaKind::mxf4nvf4, fine) == 16);
  }
  CHECK(!takes(MmaKind::mxf4, ScaleVector::none, ue4m3));
  CHECK(takes(MmaKind::mxf4, ScaleVector::none, ue8m0));
  CHECK(block(MmaKind::mxf4, ScaleVector::none) == 32);
  if (test::ptxas().found()) {
    const auto takes_warp = [](const std::string& kind, const std::string& scale) {
      return test::ask_ptxas(test::header(isa::sm_120a) + test::kernel_of(warp_mma(kind, scale)), isa::sm_120a).taken;
    };
    CHECK(takes_warp("mxf4nvf4.block_scale.scale_vec::4X", "ue4m3"));
    CHECK(takes_warp("mxf4.block_scale.scale_vec::2X", "ue8m0"));
    CHECK(!takes_warp("mxf4.block_scale.scale_vec::2X", "ue4m3"));
  }
}

TEST_CASE("S2-109: there is a scale for each row and each block of K, not one for a block of rows") {
  const std::vector<std::uint8_t> ones(4, 0x38), grows{0x38, 0x40, 0x48, 0x50};  // 1, 2, 4, 8
  for (int block = 0; block < 4; ++block) CHECK(nvfp4(block, grows, ones) == std::ldexp(16.0f, block));
  CHECK(isa::scale_cell(5) != isa::scale_cell(6));        // rows 5 and 6 have scales of their own
  CHECK(isa::scale_cell(5, 0) != isa::scale_cell(5, 1));  // so have the blocks of a row
}

TEST_CASE("S3-25, S3-43: scales cannot be multiplied in after accumulation; multiplied in before, f16 is exact") {
  const std::vector<std::uint8_t> ones(4, 0x38), scales{0x38, 0x40, 0x38, 0x38};
  // The same scales, the same sum without them, another result: no factor of the accumulator gives both.
  CHECK(nvfp4(0, ones, ones) == nvfp4(1, ones, ones));
  CHECK(nvfp4(0, scales, ones) == 16.0f);
  CHECK(nvfp4(1, scales, ones) == 32.0f);
  int exact = 0;
  for (std::uint64_t element = 0; element < 16; ++element)
    for (std::uint64_t scale = 0; scale < 0x7F; ++scale) {
      const double product = num::to_double(ScalarType::e2m1, element) * num::to_double(ScalarType::ue4m3, scale);
      exact += num::to_double(ScalarType::f16, num::encode(ScalarType::f16, product)) == product;
    }
  CHECK(exact == 16 * 0x7F);
}

TEST_CASE("S4-24, S4-25: rows 32 to 63 of the scales are column 1; .warpx4 repeats lanes, not columns") {
  CHECK(isa::scale_cell(33, 2) == isa::ScaleCell{1, 1, 2});
  // 128 x 4 scales as a 512-byte tile: scale k of row r at r % 32 * 16 + r / 32 * 4 + k, here the row's number.
  std::vector<std::uint8_t> tile(2048);
  for (std::size_t row = 0; row < 128; ++row)
    for (std::size_t k = 0; k < 4; ++k) tile[row % 32 * 16 + row / 32 * 4 + k] = std::uint8_t(row);
  const test::Run r = test::run_tensor(test::tensor_kernel(R"(
    shl.b32 %r11, %r0, 4; cvt.u64.u32 %rd1, %r11; add.u64 %rd1, %rd1, %in;
    ld.global.v4.u32 {%r12, %r13, %r14, %r15}, [%rd1];
    add.u32 %r11, %r11, %r3; st.shared.v4.u32 [%r11], {%r12, %r13, %r14, %r15};
    fence.proxy.async.shared::cta; bar.sync 0; setp.ne.u32 %p1, %r0, 0; @%p1 bra W;
    shr.u32 %r12, %r3, 4; cvt.u64.u32 %rd2, %r12; add.u64 %rd2, %rd2, 0x0000400800000000;
    tcgen05.cp.cta_group::1.32x128b.warpx4 [%r2], %rd2;
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r4];
  W: mbarrier.try_wait.parity.shared.b64 %p3, [%r4], 0; @!%p3 bra W;
    tcgen05.fence::after_thread_sync;
    tcgen05.ld.sync.aligned.32x32b.x4.b32 {%r100, %r101, %r102, %r103}, [%r6]; tcgen05.wait::ld.sync.aligned;
    )" + test::put(100, 4)),
                                       tile, 2048);
  REQUIRE_MESSAGE(r.clean(), r.findings());
  const auto out = r.read<std::uint32_t>("out");  // word [column * 128 + lane]
  for (std::uint32_t column = 0; column < 4; ++column)
    for (std::uint32_t lane = 0; lane < 128; ++lane)
      CHECK(out[column * 128 + lane] == (column * 32 + lane % 32) * 0x01010101u);
}

TEST_CASE("S4-68: a tile of NVFP4 scales lies at (k / 64 + n / 128 * (K / 64)) * 512 bytes") {
  constexpr std::uint64_t K = 320, block = 16;
  for (std::uint64_t n : {0u, 128u, 640u})
    for (std::uint64_t k : {0u, 64u, 256u})
      CHECK(isa::scale_index(n, k / block, isa::scale_k_chunks(K / block)) == (k / 64 + n / 128 * (K / 64)) * 512);
}

TEST_CASE("S4-81: the scales of a tile narrower than 128 begin at 4 * (the MMA's number) + n % 128 / 32 columns") {
  const auto first_column = [](int tile_columns, int n, int mma) {
    const int group = isa::scale_group_columns(isa::ScaleSide::B, 128, tile_columns, isa::CtaGroup::one);
    return isa::scale_place(isa::scales_per_row(MmaKind::mxf4nvf4, ScaleVector::block16), group, mma).column +
           isa::scale_cell(n % isa::scale_chunk_rows).column;
  };
  for (int tile_columns : {32, 64})
    for (int n = 0; n < 512; n += tile_columns)
      for (int mma = 0; mma < 4; ++mma) CHECK(first_column(tile_columns, n, mma) == 4 * mma + n % 128 / 32);
}

TEST_CASE("S4-72: CUTLASS's EVICT_FIRST and EVICT_LAST are createpolicy's words; its EVICT_NORMAL changes nothing") {
  using isa::L2Eviction;
  CHECK(isa::pack({L2Eviction::evict_first}) == 0x12F0000000000000);
  CHECK(isa::pack({L2Eviction::evict_last}) == 0x14F0000000000000);
  CHECK(isa::pack({.primary = L2Eviction::evict_unchanged, .sixteenths = 1}) == 0x1000000000000000);
}

TEST_CASE("S1-45: a mask of its own CTA brings each the scales of its rows of A, one of both those of all columns of B") {
  std::vector<std::uint32_t> sfa(256), sfb(128, 7);  // chunks of 512 bytes; A's hold the number of their CTA
  std::fill(sfa.begin() + 128, sfa.end(), 1);
  launch::Contract c;
  c.buffers = {test::filled("SFA", sfa), test::filled("SFB", sfb), test::buffer("out", 16)};
  launch::Launch l;
  l.grid = l.cluster = {2, 1, 1};
  l.params = {test::pointer("SFA"), test::pointer("SFB"), test::pointer("out")};
  c.launches = {l};
  const test::Run r = test::run(test::head + R"(.visible .entry k(.param .u64 SFA, .param .u64 SFB, .param .u64 out) {
    .reg .b32 %r<9>; .reg .b64 %rd<6>; .reg .pred %p<3>; .reg .b16 %h<2>;
    .shared .align 128 .b8 s[1024]; .shared .align 8 .b64 bar;
    ld.param.u64 %rd1, [SFA]; ld.param.u64 %rd2, [SFB]; ld.param.u64 %rd3, [out];
    mov.u32 %r1, s; mov.u32 %r2, bar; mov.u32 %r3, %cluster_ctarank;
    mbarrier.init.shared::cta.b64 [%r2], 1; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 1024;
    barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
    mul.wide.u32 %rd4, %r3, 512; add.u64 %rd4, %rd4, %rd1; shl.b32 %r4, 1, %r3; cvt.u16.u32 %h1, %r4;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r1], [%rd4], 512, [%r2], %h1;
    setp.ne.u32 %p1, %r3, 0; @%p1 bra W; mov.u16 %h1, 3; add.u32 %r5, %r1, 512;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r5], [%rd2], 512, [%r2], %h1;
  W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0; @!%p2 bra W;
    ld.shared.u32 %r6, [%r1+508]; ld.shared.u32 %r7, [%r1+512]; mul.wide.u32 %rd5, %r3, 8; add.u64 %rd5, %rd5, %rd3;
    st.global.v2.u32 [%rd5], {%r6, %r7}; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; ret; })",
                                c);
  REQUIRE_MESSAGE(r.clean(), r.findings());
  CHECK(r.read<std::uint32_t>("out") == std::vector<std::uint32_t>{0, 7, 1, 7});
}

TEST_CASE("S4-31, S4-32: the descriptor of FP4 has type code 1 for A and B, and both transpose bits zero") {
  CHECK(isa::operand_type_code(MmaKind::mxf4nvf4, ScalarType::e2m1) == 1);
  constexpr std::uint32_t types = 1u << 7 | 1u << 10, shape = 16u << 17 | 8u << 24;  // 128 x 128
  const auto judge = [](std::uint32_t word) {
    return rules::instruction_descriptor(MmaKind::mxf4nvf4, isa::CtaGroup::one, word, false, false, false,
                                         ScaleVector::block16);
  };
  CHECK(judge(shape | types).ok());
  CHECK(judge(shape).rule == rules::Rule::mma_types);  // the field list of the source
  CHECK(judge(shape | types | 1u << 15).rule == rules::Rule::idesc_transpose);
  CHECK(judge(shape | types | 1u << 16).rule == rules::Rule::idesc_transpose);
}

}  // namespace truth_scaling

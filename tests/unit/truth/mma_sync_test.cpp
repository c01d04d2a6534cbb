// mma.sync as the target of a translation: what S3 of docs/requirements.md has wrong about counts, operands and scales.
#include "ptx/isa/mma_sync.hpp"

#include <doctest/doctest.h>

#include <set>

#include "ptx/isa/tmem.hpp"
#include "ptx/rules/tcgen05_mma.hpp"
#include "tests/unit/truth/asked.hpp"

namespace truth_mma_sync {

using namespace kiln;
using isa::mma_sync_count, isa::MmaKind;

namespace {

const std::string scaled_fp4 =
    "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3 {f0,f1,f2,f3}, "
    "{r0,r1,r2,r3}, {r4,r5}, {f0,f1,f2,f3}, r6, {0,0}, r7, {0,0};";
const std::string fp4_shape = "mma.sync.aligned.m16n8k32.row.col.";

void taken_by_ptxas(const std::string& instruction, isa::Target t) {
  if (!test::ptxas().found()) return;
  const test::Answer said = test::ask_ptxas(test::header(t) + test::kernel_of(instruction), t);
  CHECK_MESSAGE(said.taken, instruction << "\n" << said.error);
}

std::string list(const std::string& prefix, int first, int n) {
  std::string text = "{";
  for (int i = 0; i < n; ++i) text += (i ? ", " : "") + prefix + std::to_string(first + i);
  return text + "}";
}

// A 128 x 128 tile of four warps held in registers over a loop along K: 32 rows and 2 x 16 instructions a warp.
std::string accumulators_in_registers() {
  std::string text =
      ".version 9.0\n.target sm_120a\n.address_size 64\n"
      ".visible .entry k(.param .u64 in, .param .u64 out, .param .u32 n) .reqntid 128 {\n"
      ".reg .f32 f<128>; .reg .b32 r<16>; .reg .b64 d<4>; .reg .pred p;\n"
      "ld.param.u64 d0, [in]; ld.param.u64 d1, [out]; ld.param.u32 r8, [n]; mov.u32 r9, %tid.x;\n"
      "mul.wide.u32 d2, r9, 16; add.u64 d0, d0, d2; mul.wide.u32 d2, r9, 512; add.u64 d1, d1, d2;\n";
  for (int i = 0; i < 128; ++i) text += "mov.f32 f" + std::to_string(i) + ", 0f00000000; ";
  text += "\nL: ld.global.v4.u32 {r0, r1, r2, r3}, [d0];\n";
  for (int tile = 0; tile < 32; ++tile) {
    const std::string d = list("f", 4 * tile, 4);
    text += "ld.global.v2.u32 {r4, r5}, [d0+" + std::to_string(4096 + 8 * tile) +
            "]; mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 " + d + ", {r0, r1, r2, r3}, {r4, r5}, " + d +
            ";\n";
  }
  text += "add.u64 d0, d0, 8192; sub.u32 r8, r8, 1; setp.ne.u32 p, r8, 0; @p bra L;\n";
  for (int i = 0; i < 128; i += 4)
    text += "st.global.v4.f32 [d1+" + std::to_string(4 * i) + "], " + list("f", i, 4) + ";\n";
  return text + "ret; }\n";
}

}  // namespace

TEST_CASE("S3-3, S3-4, S3-5: m64n64 takes 32 instructions of one K step, whatever the kind") {
  CHECK(mma_sync_count(MmaKind::f16, 64, 64, 16) == 32);                    // not 16
  CHECK(mma_sync_count(MmaKind::f8f6f4, 64, 64, 32) == 32);                 // not 8
  CHECK(mma_sync_count(MmaKind::mxf4nvf4, 64, 64, 64) == 32);               // not 4
  CHECK(mma_sync_count(MmaKind::f8f6f4, 64, 64, 64) == 64);                 // FP4 in bytes: half the K, twice the count
  CHECK(rules::mma_m(isa::CtaGroup::one, 64, MmaKind::mxf4nvf4).broken());  // and tcgen05 has no m64 of packed FP4
  CHECK(isa::mma_k(MmaKind::f8f6f4) == 32);
}

TEST_CASE("S3-6, S3-7, S3-29: m128n128k64 of FP4 takes 128 instructions, m128n256k64 256") {
  CHECK(mma_sync_count(MmaKind::mxf4nvf4, 128, 128, 64) == 128);
  CHECK(mma_sync_count(MmaKind::f8f6f4, 128, 128, 64) == 256);
  CHECK(mma_sync_count(MmaKind::mxf4nvf4, 128, 256, 64) == 256);
  CHECK(mma_sync_count(MmaKind::f8f6f4, 128, 256, 64) == 512);
}

TEST_CASE("the tile of an instruction is the one that its fragment covers, and ptxas knows the shapes") {
  std::set<std::pair<int, int>> cells;
  for (int t = 0; t < 32; ++t)
    for (int i = 0; i < 4; ++i) cells.insert({isa::mma_sync_cell(t, i).row, isa::mma_sync_cell(t, i).column});
  CHECK(cells.size() == std::size_t(isa::mma_sync_m * isa::mma_sync_n));
  CHECK(*cells.rbegin() == std::pair{isa::mma_sync_m - 1, isa::mma_sync_n - 1});
  for (const auto& [kind, types] : {std::pair{MmaKind::f16, "f32.f16.f16.f32"},
                                    {MmaKind::tf32, "f32.tf32.tf32.f32"},
                                    {MmaKind::i8, "s32.s8.s8.s32"}})
    taken_by_ptxas("mma.sync.aligned.m16n8k" + std::to_string(isa::mma_sync_k(kind)) + ".row.col." + types + " " +
                       (kind == MmaKind::i8 ? "{r10,r11,r12,r13}, {r0,r1,r2,r3}, {r4,r5}, {r10,r11,r12,r13};"
                                            : "{f0,f1,f2,f3}, {r0,r1,r2,r3}, {r4,r5}, {f0,f1,f2,f3};"),
                   isa::sm_120a);
}

TEST_CASE("S3-10: the largest MMA over two CTAs is m256n256") {
  CHECK(rules::mma_m(isa::CtaGroup::two, 256, MmaKind::mxf4nvf4).ok());
  CHECK(rules::mma_n(MmaKind::mxf4nvf4, isa::CtaGroup::two, 256).ok());
  CHECK(rules::mma_n(MmaKind::mxf4nvf4, isa::CtaGroup::two, 272).broken());
}

TEST_CASE("S3-24: FP4 without scales needs kind::f8f6f4 and four registers of A; NVFP4 is m16n8k64") {
  const std::string rest = "f32.e2m1.e2m1.f32 {f0,f1,f2,f3}, ";
  test::refused_by_ptxas(fp4_shape + rest + "{r0,r1}, {r4,r5}, {f0,f1,f2,f3};", ".kind::f8f6f4 modifier required",
                         isa::sm_120a);
  test::refused_by_ptxas(fp4_shape + "kind::f8f6f4." + rest + "{r0,r1}, {r4,r5}, {f0,f1,f2,f3};",
                         "argument vector size mismatch", isa::sm_120a);
  taken_by_ptxas(fp4_shape + "kind::f8f6f4." + rest + "{r0,r1,r2,r3}, {r4,r5}, {f0,f1,f2,f3};", isa::sm_120a);
  taken_by_ptxas(scaled_fp4, isa::sm_120a);
}

TEST_CASE("S3-28: registers of an accumulator go to rows t / 4 and t / 4 + 8, columns 2 (t % 4) and the next") {
  CHECK(isa::mma_sync_cell(0, 1) == isa::MmaSyncCell{0, 1});
  CHECK(isa::mma_sync_cell(0, 2) == isa::MmaSyncCell{8, 0});
  CHECK(isa::mma_sync_cell(5, 3) == isa::MmaSyncCell{9, 3});
  // In a row-major f32 tile of eight columns: 4 bytes to the next register, then 256 to the third, never 128.
  const auto byte = [](int t, int i) {
    return isa::mma_sync_cell(t, i).row * 32 + isa::mma_sync_cell(t, i).column * 4;
  };
  CHECK(byte(0, 1) - byte(0, 0) == 4);
  CHECK(byte(0, 2) - byte(0, 0) == 256);
}

TEST_CASE("S3-61: tcgen05.ld of .16x256b gives the accumulator of mma.sync, register for register") {
  for (int t = 0; t < 32; ++t)
    for (int i = 0; i < 4; ++i) {
      const isa::TmemAddress loaded = isa::fragment_cell(isa::DataShape::s16x256b, t, i);
      CHECK(isa::mma_sync_cell(t, i) == isa::MmaSyncCell{loaded.lane, loaded.column});
    }
  CHECK(isa::fragment_cell(isa::DataShape::s32x32b, 5, 3) != isa::TmemAddress{9, 3});
}

TEST_CASE("S3-36: m64n64 in f32 is 16 KiB, 32 registers of 128 threads") {
  const int registers = mma_sync_count(MmaKind::f16, 64, 64, 16) * 4 * 32;
  CHECK(registers * 4 == 16 * 1024);
  CHECK(registers / 128 == 32);
}

TEST_CASE("S3-37: 128 x 128 f32 fits the registers of 128 threads: 128 each, and nothing spills") {
  CHECK(mma_sync_count(MmaKind::f16, 128, 128, 16) * 4 * 32 / 128 == 128);  // four registers of 32 lanes each
  if (!test::ptxas().found()) return;
  const test::Answer said = test::ask_ptxas(accumulators_in_registers(), isa::sm_120a);
  REQUIRE_MESSAGE(said.taken, said.error);
  const harness::EntryResources& used = said.assembly.entries.at(0);
  CHECK(!used.spills());
  CHECK(used.registers > 128);
  CHECK(used.registers <= 255);
}

TEST_CASE("S3-42: mma.sync scales FP4 and FP8 itself on sm_120a and sm_121a, and not on plain sm_120") {
  for (const isa::Target t : {isa::sm_120a, isa::Target{120, isa::TargetSuffix::f}, {121, isa::TargetSuffix::a}})
    taken_by_ptxas(scaled_fp4, t);
  taken_by_ptxas(
      "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e2m1.f32.ue8m0 "
      "{f0,f1,f2,f3}, {r0,r1,r2,r3}, {r4,r5}, {f0,f1,f2,f3}, r6, {0,0}, r7, {0,0};",
      isa::sm_120a);
  test::refused_by_ptxas(scaled_fp4, "not supported on .target 'sm_120'", isa::Target{120});
}

}  // namespace truth_mma_sync

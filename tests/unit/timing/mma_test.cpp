// What tcgen05.mma takes under the clock, against what a B200 took.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "ptx/isa/instruction_descriptor.hpp"
#include "ptx/isa/shared_descriptor.hpp"
#include "tests/unit/timing/rows.hpp"
#include "tests/unit/timing/timed.hpp"

namespace kiln::test::mma_time_test {
namespace {

using isa::MmaKind;
using isa::ScalarType;

// A row of mma_b200.csv.
struct Measured {
  std::string format{}, ab{};
  int group = 1, m = 0, n = 0;
  double latency = 0, interval = 0, rest = 0;
};

std::vector<Measured> measured() {
  std::vector<Measured> rows;
  for (const std::vector<std::string>& cells : test::rows_of("mma_b200.csv", "format"))
    rows.push_back({cells[0], cells[1], std::stoi(cells[2]), std::stoi(cells[3]), std::stoi(cells[4]),
                    std::stod(cells[6]), std::stod(cells[7]), std::stod(cells[8])});
  return rows;
}

struct Format {
  MmaKind kind = MmaKind::f16;
  ScalarType type = ScalarType::bf16;
  std::string text{};
};
const std::map<std::string, Format>& formats() {
  static const std::map<std::string, Format> all{
      {"BF16", {MmaKind::f16, ScalarType::bf16, "f16"}},
      {"E4M3", {MmaKind::f8f6f4, ScalarType::e4m3, "f8f6f4"}},
      {"F4", {MmaKind::f8f6f4, ScalarType::e2m1, "f8f6f4"}},
      {"S8", {MmaKind::i8, ScalarType::s8, "i8"}},
      {"MXF8", {MmaKind::mxf8f6f4, ScalarType::e4m3, "mxf8f6f4.block_scale"}},
      {"MXF4", {MmaKind::mxf4, ScalarType::e2m1, "mxf4.block_scale.scale_vec::2X"}}};
  return all;
}

std::uint32_t descriptor_word(const Measured& row, const Format& format) {
  isa::InstructionDescriptorFields f;
  f.m = row.m, f.n = row.n;
  f.a_type = f.b_type = std::uint8_t(isa::operand_type_code(format.kind, format.type).value());
  f.d_type = format.kind == MmaKind::i8 ? 2 : 1;
  if (isa::is_block_scaled(format.kind)) f.d_type = 0, f.scale_format = 1;
  return isa::pack(f, format.kind);
}

// One thread issues `depth` MMAs and a commit, waits, and writes the cycles that it took.
std::string kernel_of(const Measured& row, int depth) {
  const Format& format = formats().at(row.format);
  const std::string g = fmt::format(".cta_group::{}", row.group);
  const bool scaled = isa::is_block_scaled(format.kind);
  const std::string mma =
      fmt::format("tcgen05.mma{}.kind::{} [%r2], {}, %rd2, {}, {}1;\n", g, format.text,
                  row.ab == "SS" ? "%rd1" : "[%r3]", descriptor_word(row, format), scaled ? "[%r4], [%r4], " : "");
  std::string mmas;
  for (int k = 0; k < depth; ++k) mmas += mma;
  const std::string meet =
      row.group == 1 ? "bar.sync 0;\n" : "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";
  isa::SharedDescriptorFields tile;
  tile.leading = 16, tile.stride = 1024, tile.swizzle_code = 2;
  return fmt::format(R"(.version 8.8
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 out) .reqnctapercluster {0}, 1, 1 {{
  .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<9>;
  .shared .align 1024 .b8 tiles[98304]; .shared .align 8 .b64 bar; .shared .align 4 .b32 slot;
  mov.u32 %r1, %tid.x; mov.u32 %r6, bar; mov.u32 %r5, slot;
  tcgen05.alloc{1}.sync.aligned.shared::cta.b32 [%r5], 512;
  setp.ne.u32 %p1, %r1, 0;
  @!%p1 mbarrier.init.shared::cta.b64 [%r6], 1;
  mov.u32 %r7, tiles; cvt.u64.u32 %rd1, %r7; and.b64 %rd1, %rd1, 0x3FFFF; shr.u64 %rd1, %rd1, 4;
  or.b64 %rd1, %rd1, {3}; add.u64 %rd2, %rd1, 2048;
  {2}
  ld.shared.u32 %r2, [%r5]; add.u32 %r3, %r2, 256; add.u32 %r4, %r2, 384;
  bar.sync 0;
  mov.u32 %r8, %cluster_ctarank; or.b32 %r8, %r8, %r1; setp.ne.u32 %p1, %r8, 0; @%p1 bra DONE;
  mov.u64 %rd3, %clock64;
  {4}
  tcgen05.commit{1}.mbarrier::arrive::one.shared::cluster.b64 [%r6];
W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r6], 0;
  @!%p2 bra W;
  mov.u64 %rd4, %clock64; sub.u64 %rd4, %rd4, %rd3;
  ld.param.u64 %rd5, [out]; st.global.u64 [%rd5], %rd4;
DONE:
  {2}
  ret;
}}
)",
                     row.group, g, meet, isa::pack(tile), mmas);
}

double cycles_of(const Measured& row, int depth) {
  const Timed t = time_of(kernel_of(row, depth), one_buffer(32, std::uint32_t(row.group)), no_values);
  return double(t.run.read<std::uint64_t>("out")[0]);
}

// PTX has integer MMAs of a pair for N in steps of 32 alone; the source measured others too.
bool is_legal(const Measured& row) { return row.format != "S8" || row.group == 1 || row.n % 32 == 0; }

TEST_CASE("each measured form of tcgen05.mma takes what it took on a B200, within a cycle") {
  std::vector<Measured> rows = measured();
  CHECK(rows.size() == 264);
  std::erase_if(rows, [](const Measured& row) { return !is_legal(row); });
  CHECK(rows.size() == 256);
  double worst = 0, worst_each = 0;
  for (const Measured& row : rows) {
    CAPTURE(row.format);
    CAPTURE(row.ab);
    CAPTURE(row.group);
    CAPTURE(row.m);
    CAPTURE(row.n);
    const double one = cycles_of(row, 1), eight = cycles_of(row, 8);
    CHECK(std::abs(one - row.latency) <= 1);
    CHECK(std::abs(eight - (8 * row.interval + row.rest)) / 8 <= 1);
    worst = std::max(worst, std::abs(one - row.latency));
    worst_each = std::max(worst_each, std::abs(eight - (8 * row.interval + row.rest)) / 8);
  }
  MESSAGE("worst of one MMA: " << worst << " cycles; of eight: " << worst_each << " cycles each");
}

}  // namespace
}  // namespace kiln::test::mma_time_test

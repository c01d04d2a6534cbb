// tcgen05 over the two CTAs of a pair, and the weight-stationary form: which lane and column holds which element.
#include <doctest/doctest.h>

#include <random>

#include "tests/unit/sim/run.hpp"

namespace sim_pair {

using namespace kiln;
using namespace kiln::test;
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;

namespace {

constexpr std::size_t image_bytes = 32768;  // A at 0, B at 16384
constexpr int columns = 64;                 // of the dump

// Every CTA copies its image, CTA 0 issues one MMA of its group, every CTA dumps 64 columns: word [cta][column][lane].
std::string pair_kernel(const std::string& mma, const std::string& group, int ctas) {
  const std::string g = ".cta_group::" + group;
  std::string registers = "{%r100";
  for (int i = 1; i < columns; ++i) registers += ", %r" + std::to_string(100 + i);
  std::string text = head + ".visible .entry k(.param .u64 in, .param .u64 out) .reqnctapercluster " +
                     std::to_string(ctas) + R"(, 1, 1 {
    .reg .pred %p<9>; .reg .b32 %r<200>; .reg .b64 %rd<20>; .reg .b16 %h<4>;
    .shared .align 1024 .b8 tile[32768]; .shared .align 4 .b32 slot; .shared .align 8 .b64 bar;
    ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.u32 %r0, %tid.x; shr.u32 %r1, %r0, 5;
    mov.u32 %r9, %cluster_ctarank;
    mov.u32 %r3, tile; mov.u32 %r4, bar; mov.u32 %r5, slot; and.b32 %r33, %r3, 0xFFFFFF;
    mul.wide.u32 %rd3, %r9, 32768; add.u64 %rd1, %rd1, %rd3;
    barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;
    setp.ne.u32 %p8, %r1, 0; @%p8 bra A1;
    tcgen05.alloc)" + g +
                     R"(.sync.aligned.shared::cta.b32 [%r5], 64;
    setp.eq.u32 %p7, %r0, 0; @%p7 mbarrier.init.shared.b64 [%r4], 1;
  A1: mov.u32 %r10, %r0;
  CP: shl.b32 %r11, %r10, 4; cvt.u64.u32 %rd4, %r11; add.u64 %rd4, %rd4, %rd1;
  ld.global.v4.u32 {%r12, %r13, %r14, %r15}, [%rd4];
    add.u32 %r11, %r11, %r3; st.shared.v4.u32 [%r11], {%r12, %r13, %r14, %r15};
    add.u32 %r10, %r10, 128; setp.lt.u32 %p1, %r10, 2048; @%p1 bra CP;
    fence.proxy.async.shared::cta; bar.sync 0; ld.shared.u32 %r2, [%r5];
    barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
    or.b32 %r16, %r0, %r9; setp.ne.u32 %p1, %r16, 0; @%p1 bra W;
    shr.u32 %r12, %r33, 4; cvt.u64.u32 %rd5, %r12; add.u64 %rd5, %rd5, 0x4000404000010000; add.u64 %rd6, %rd5, 1024;
    )" + mma + R"(
    mov.u16 %h1, )" + std::to_string((1 << ctas) - 1) +
                     R"(;
    tcgen05.commit)" +
                     g + R"(.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%r4], %h1;
  W: mbarrier.try_wait.parity.shared.b64 %p3, [%r4], 0; @!%p3 bra W;
    tcgen05.fence::after_thread_sync; shl.b32 %r6, %r1, 21; add.u32 %r6, %r6, %r2;
    tcgen05.ld.sync.aligned.32x32b.x64.b32 )" +
                     registers + R"(}, [%r6]; tcgen05.wait::ld.sync.aligned;
    mad.lo.u32 %r17, %r9, 8192, %r0; mul.wide.u32 %rd7, %r17, 4; add.u64 %rd7, %rd7, %rd2;
)";
  for (int i = 0; i < columns; ++i)
    text += "st.global.u32 [%rd7+" + std::to_string(512 * i) + "], %r" + std::to_string(100 + i) + ";\n";
  return text +
         "bar.sync 0; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; @%p8 bra Z1;\ntcgen05.dealloc" + g +
         ".sync.aligned.b32 %r2, 64;\nZ1: ret; }\n";
}

struct Problem {
  int m, n, ctas;
  std::vector<float> a, b;
  std::vector<u8> image;

  Problem(int m_rows, int n_rows, int cta_count)
      : m(m_rows),
        n(n_rows),
        ctas(cta_count),
        a(std::size_t(m * 16)),
        b(std::size_t(n * 16)),
        image(image_bytes * std::size_t(ctas)) {
    std::mt19937 random(11);
    for (float& v : a) v = float(int(random() % 7) - 3);
    for (float& v : b) v = float(int(random() % 7) - 3);
    place(a, m / ctas, 0);
    place(b, n / ctas, 16384);
  }
  // Rows [c * rows, (c + 1) * rows) lie in CTA c, K-major with the 128-byte swizzle.
  void place(const std::vector<float>& values, int rows, u32 base) {
    for (int row = 0; row < rows * ctas; ++row)
      for (int k = 0; k < 16; ++k) {
        const u32 linear = u32(row % rows * 128 + k * 2), at = base + (linear ^ (linear >> 7 & 7) << 4);
        const u16 word = u16(std::bit_cast<u32>(values[std::size_t(row * 16 + k)]) >> 16);
        std::memcpy(image.data() + std::size_t(row / rows) * image_bytes + at, &word, 2);
      }
  }
  float product(int row, int column) const {
    float sum = 0;
    for (int k = 0; k < 16; ++k) sum += a[std::size_t(row * 16 + k)] * b[std::size_t(column * 16 + k)];
    return sum;
  }
  Run run(const std::string& mma, const std::string& group) const {
    launch::Contract c;
    c.buffers = {filled("in", image), buffer("out", std::size_t(ctas) * columns * 512)};
    launch::Launch l;
    l.grid = {u32(ctas), 1, 1};
    l.block = {128, 1, 1};
    l.params = {pointer("in"), pointer("out")};
    c.launches = {l};
    return test::run(pair_kernel(mma, group, ctas), c);
  }
};

float cell(const Run& r, int cta, int lane, int column) {
  return r.read<float>("out")[std::size_t((cta * columns + column) * 128 + lane)];
}

std::string idesc(int m, int n) { return std::to_string(0x490u | u32(n >> 3) << 17 | u32(m >> 4) << 24); }

}  // namespace

TEST_CASE("M = 256 over two CTAs gives each CTA its half of the rows and all columns") {
  const Problem p(256, 64, 2);
  const Run r = p.run("tcgen05.mma.cta_group::2.kind::f16 [%r2], %rd5, %rd6, " + idesc(256, 64) + ", 0;", "2");
  REQUIRE_MESSAGE(r.clean(), r.findings());
  for (int m = 0; m < 256; m += 17)
    for (int n = 0; n < 64; n += 3) CHECK(cell(r, m / 128, m % 128, n) == p.product(m, n));
}

TEST_CASE("M = 128 over two CTAs folds the columns over the lanes") {
  const Problem p(128, 128, 2);
  const Run r = p.run("tcgen05.mma.cta_group::2.kind::f16 [%r2], %rd5, %rd6, " + idesc(128, 128) + ", 0;", "2");
  REQUIRE_MESSAGE(r.clean(), r.findings());
  for (int m = 0; m < 128; m += 13)
    for (int n = 0; n < 128; n += 5) CHECK(cell(r, m / 64, m % 64 + 64 * (n / 64), n % 64) == p.product(m, n));
}

TEST_CASE("the weight-stationary form folds M = 64 and M = 32") {
  const Problem two(64, 128, 1);
  Run r = two.run("tcgen05.mma.ws.cta_group::1.kind::f16 [%r2], %rd5, %rd6, " + idesc(64, 128) + ", 0;", "1");
  REQUIRE_MESSAGE(r.result.outcome == sim::Outcome::finished, r.findings());
  for (int m = 0; m < 64; m += 7)
    for (int n = 0; n < 128; n += 5) CHECK(cell(r, 0, m + 64 * (n / 64), n % 64) == two.product(m, n));
  const Problem four(32, 128, 1);
  r = four.run("tcgen05.mma.ws.cta_group::1.kind::f16 [%r2], %rd5, %rd6, " + idesc(32, 128) + ", 0;", "1");
  REQUIRE_MESSAGE(r.result.outcome == sim::Outcome::finished, r.findings());
  for (int m = 0; m < 32; m += 3)
    for (int n = 0; n < 128; n += 5) CHECK(cell(r, 0, m + 32 * (n / 32), n % 32) == four.product(m, n));
}

TEST_CASE("cta_group::2 without a pair is found") {
  const Problem p(64, 64, 1);
  CHECK(p.run("tcgen05.mma.cta_group::2.kind::f16 [%r2], %rd5, %rd6, " + idesc(128, 64) + ", 0;", "2")
            .has("[tcgen05-cta-pair]"));
}

TEST_CASE("cta_group::2 with a peer that has exited is found") {
  // CTA 1 ends at once; CTA 0 counts to 2000 before it issues.
  const std::string text = head + R"(.visible .entry k() .reqnctapercluster 2, 1, 1 {
    .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<4>;
    .shared .align 1024 .b8 tile[16384]; .shared .align 4 .b32 slot;
    mov.u32 %r1, %cluster_ctarank; setp.eq.u32 %p1, %r1, 1; @%p1 exit;
    mov.u32 %r2, slot; tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [%r2], 64; ld.shared.u32 %r3, [%r2];
    mov.u32 %r4, 0;
  L: add.u32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, 2000; @%p2 bra L;
    mov.u32 %r5, tile; shr.u32 %r5, %r5, 4; cvt.u64.u32 %rd1, %r5; add.u64 %rd1, %rd1, 0x4000404000010000;
    mov.u32 %r6, %tid.x; setp.ne.u32 %p3, %r6, 0; @%p3 exit;
    tcgen05.mma.cta_group::2.kind::f16 [%r3], %rd1, %rd1, )" +
                           idesc(128, 64) + ", 0; ret; }\n";
  launch::Contract c;
  launch::Launch l;
  l.grid = {2, 1, 1};
  l.block = {32, 1, 1};
  c.launches = {l};
  CHECK(test::run(text, c).has("got CTA 1 of the cluster, which has exited [tcgen05-peer-exited]"));
}

}  // namespace sim_pair

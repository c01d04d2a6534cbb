// The tensor core against a plain reference.
#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "tests/unit/sim/tensor_kernel.hpp"

namespace sim_mma {

using namespace kiln;
using namespace kiln::test;

namespace {

// One MMA of M x N x K on operands that the test placed byte by byte.
struct Mma {
  int m = 128, n = 32;
  std::string kind = "f16";
  u32 idesc = 0;
  u64 a = 0, b = 0;                                   // descriptors without start addresses
  std::vector<u8> image = std::vector<u8>(32768, 0);  // shared memory: A at 0, B at 16384
  std::string extra = "";                             // after the descriptor
  int repeat = 1;
};

// Copies the image to shared memory, runs the MMA, returns D by [lane * n + column].
Run run_mma(const Mma& t, u64 seed = 1) {
  std::string body = R"(
    mov.u32 %r10, %r0;
  CP: shl.b32 %r11, %r10, 4; cvt.u64.u32 %rd1, %r11; add.u64 %rd1, %rd1, %in;
  ld.global.v4.u32 {%r12, %r13, %r14, %r15}, [%rd1];
    add.u32 %r11, %r11, %r3; st.shared.v4.u32 [%r11], {%r12, %r13, %r14, %r15};
    add.u32 %r10, %r10, 128; setp.lt.u32 %p1, %r10, 2048; @%p1 bra CP;
    fence.proxy.async.shared::cta; bar.sync 0;
    setp.ne.u32 %p1, %r0, 0; @%p1 bra WAIT;
    shr.u32 %r12, %r3, 4; cvt.u64.u32 %rd2, %r12; add.u64 %rd3, %rd2, )" +
                     std::to_string(t.a) + "; add.u64 %rd4, %rd2, " + std::to_string(t.b + 1024) +
                     ";\nsetp.ne.u32 %p2, %r0, 0;\n";
  for (int i = 0; i < t.repeat; ++i)
    body += "tcgen05.mma.cta_group::1.kind::" + t.kind + " [%r2], %rd3, %rd4, " + std::to_string(t.idesc) + ", " +
            t.extra + (i ? "1" : "%p2") + ";\n";
  body += R"(tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r4];
  WAIT: mbarrier.try_wait.parity.shared.b64 %p3, [%r4], 0; @!%p3 bra WAIT;
    tcgen05.fence::after_thread_sync;
    tcgen05.ld.sync.aligned.32x32b.x32.b32 )" +
          vector_of("r", 100, 32) + ", [%r6]; tcgen05.wait::ld.sync.aligned;\n" + put(100, 32);
  return run_tensor(tensor_kernel(body, 64), t.image, 32 * 512, seed);
}

constexpr u64 fixed = u64{1} << 46;
u64 descriptor(u32 leading, u32 stride, u64 code) {
  return fixed | u64(leading >> 4) << 16 | u64(stride >> 4) << 32 | code << 61;
}
u16 bf16(float v) { return u16(std::bit_cast<u32>(v) >> 16); }

// Small integers, exact in every order of summation.
struct Matrix {
  std::vector<float> values;
  Matrix(int rows, int k, unsigned seed) : values(std::size_t(rows * k)) {
    std::mt19937 random(seed);
    for (float& v : values) v = float(int(random() % 7) - 3);
  }
};

float product(const Matrix& a, const Matrix& b, int m, int n, int k_count) {
  float sum = 0;
  for (int k = 0; k < k_count; ++k)
    sum += a.values[std::size_t(m * k_count + k)] * b.values[std::size_t(n * k_count + k)];
  return sum;
}

// out word [column * 128 + lane]
float cell(const std::vector<u32>& out, int lane, int column) {
  return std::bit_cast<float>(out[std::size_t(column * 128 + lane)]);
}

template <class F>
void place(std::vector<u8>& image, int rows, int k_count, int size, const Matrix& m, F address) {
  for (int row = 0; row < rows; ++row)
    for (int k = 0; k < k_count; ++k) {
      const float v = m.values[std::size_t(row * k_count + k)];
      const u32 bits = std::bit_cast<u32>(v);
      const u16 half = bf16(v);
      std::memcpy(image.data() + address(row, k), size == 2 ? static_cast<const void*>(&half) : &bits,
                  std::size_t(size));
    }
}

u32 swizzle(u32 address, u32 mask) { return address ^ ((address >> 7 & mask) << 4); }

}  // namespace

TEST_CASE("K-major operands of every swizzle multiply alike") {
  const Matrix a(128, 16, 1), b(32, 16, 2);
  struct Case {
    u64 code;
    u32 span, mask;
  };
  for (const Case s : {Case{0, 16, 0}, Case{6, 32, 1}, Case{4, 64, 3}, Case{2, 128, 7}}) {
    Mma t;
    t.idesc = 0x08080490;  // bf16, f32, 128 x 32
    // Unswizzled: 8 x 16-byte core matrices, the second K half 2048 (A) or 512 (B) bytes on.
    const auto at = [&](u32 base, u32 leading) {
      return [=](int row, int k) {
        const u32 byte = u32(k) * 2, r = u32(row);
        if (s.code == 0) return base + r * 16 + byte / 16 * leading + byte % 16;
        return base + swizzle(r * s.span + byte, s.mask);
      };
    };
    place(t.image, 128, 16, 2, a, at(0, 2048));
    place(t.image, 32, 16, 2, b, at(16384, 512));
    t.a = descriptor(s.code ? 16 : 2048, s.code ? 8 * s.span : 128, s.code);
    t.b = descriptor(s.code ? 16 : 512, s.code ? 8 * s.span : 128, s.code);
    const Run r = run_mma(t);
    REQUIRE_MESSAGE(r.clean(), r.findings());
    const auto out = r.read<u32>("out");
    int wrong = 0;
    for (int m = 0; m < 128; ++m)
      for (int n = 0; n < 32; ++n) wrong += cell(out, m, n) != product(a, b, m, n, 16);
    CHECK_MESSAGE(wrong == 0, "swizzle code " << s.code);
  }
}

TEST_CASE("MN-major operands multiply like K-major ones") {
  const Matrix a(128, 16, 3), b(32, 16, 4);
  Mma t;
  t.idesc = 0x08080490 | 1u << 15 | 1u << 16;
  // 128B swizzle: atoms of 64 (mn) x 8 (k), 1024 bytes; the next 8 k, then the next 64 rows of A.
  place(t.image, 128, 16, 2, a,
        [](int row, int k) { return swizzle(u32(row / 64 * 2048 + k / 8 * 1024 + k % 8 * 128 + row % 64 * 2), 7); });
  t.a = descriptor(2048, 1024, 2);
  // 64B swizzle: atoms of 32 x 8.
  place(t.image, 32, 16, 2, b,
        [](int row, int k) { return 16384 + swizzle(u32(k / 8 * 512 + k % 8 * 64 + row * 2), 3); });
  t.b = descriptor(16, 512, 4);
  const Run r = run_mma(t);
  REQUIRE_MESSAGE(r.clean(), r.findings());
  const auto out = r.read<u32>("out");
  for (int m = 0; m < 128; m += 5)
    for (int n = 0; n < 32; ++n) CHECK(cell(out, m, n) == product(a, b, m, n, 16));
}

TEST_CASE("M = 64 uses sixteen lanes of each quarter, negation flips signs, repeats accumulate") {
  const Matrix a(64, 16, 5), b(32, 16, 6);
  Mma t;
  t.idesc = 0x04080490 | 1u << 13;
  t.repeat = 3;
  place(t.image, 64, 16, 2, a, [](int row, int k) { return swizzle(u32(row * 128 + k * 2), 7); });
  place(t.image, 32, 16, 2, b, [](int row, int k) { return 16384 + swizzle(u32(row * 128 + k * 2), 7); });
  t.a = t.b = descriptor(16, 1024, 2);
  for (u64 seed = 1; seed < 4; ++seed) {
    const Run r = run_mma(t, seed);
    // Lanes 16-31 of each quarter hold nothing: the dump reads poison, and nothing else is wrong.
    CHECK(r.sink.all().size() == 1);
    const auto out = r.read<u32>("out");
    for (int m = 0; m < 64; ++m)
      for (int n = 0; n < 32; n += 3) CHECK(cell(out, 32 * (m / 16) + m % 16, n) == -3 * product(a, b, m, n, 16));
  }
}

TEST_CASE("tf32 operands have eight elements in K") {
  const Matrix a(128, 8, 7), b(32, 8, 8);
  Mma t;
  t.kind = "tf32";
  t.idesc = 0x08080910;
  place(t.image, 128, 8, 4, a, [](int row, int k) { return swizzle(u32(row * 64 + k * 4), 3); });
  place(t.image, 32, 8, 4, b, [](int row, int k) { return 16384 + swizzle(u32(row * 64 + k * 4), 3); });
  t.a = t.b = descriptor(16, 512, 4);
  const Run r = run_mma(t);
  REQUIRE_MESSAGE(r.clean(), r.findings());
  for (int m = 0; m < 128; m += 3) CHECK(cell(r.read<u32>("out"), m, 31) == product(a, b, m, 31, 8));
}

TEST_CASE("fp8 and packed fp4 containers") {
  Mma t;
  t.kind = "f8f6f4";
  t.idesc = 0x08080010;  // e4m3 x e4m3
  for (int row = 0; row < 128; ++row)
    for (int k = 0; k < 32; ++k) t.image[swizzle(u32(row * 32 + k), 1)] = k == row % 32 ? 0x38 : 0;  // 1.0
  for (int n = 0; n < 32; ++n)
    for (int k = 0; k < 32; ++k) t.image[16384 + swizzle(u32(n * 32 + k), 1)] = u8(0x30 + (n + k) % 8);
  t.a = t.b = descriptor(16, 256, 6);
  const Run r = run_mma(t);
  REQUIRE_MESSAGE(r.clean(), r.findings());
  const float values[8] = {0.5f, 0.5625f, 0.625f, 0.6875f, 0.75f, 0.8125f, 0.875f, 0.9375f};
  for (int m = 0; m < 128; m += 7)
    for (int n = 0; n < 32; ++n) CHECK(cell(r.read<u32>("out"), m, n) == values[(n + m % 32) % 8]);
  // e2m1 in B: 16 elements in the first 8 bytes of each 16-byte chunk.
  t.idesc = 0x08080010 | 5u << 10;
  for (int n = 0; n < 32; ++n)
    for (int chunk = 0; chunk < 2; ++chunk)
      for (int j = 0; j < 16; ++j)
        t.image[16384 + swizzle(u32(n * 32 + chunk * 16 + j), 1)] = j < 8 ? 0x42 : 0xFF;  // 1.0, 2.0, padding
  const Run packed = run_mma(t);
  REQUIRE_MESSAGE(packed.clean(), packed.findings());
  CHECK(cell(packed.read<u32>("out"), 0, 5) == 1.0f);
  CHECK(cell(packed.read<u32>("out"), 17, 5) == 2.0f);
}

TEST_CASE("disabled lanes keep their accumulator") {
  const Matrix a(128, 16, 1), b(32, 16, 2);
  Mma t;
  t.idesc = 0x08080490;
  t.repeat = 2;
  place(t.image, 128, 16, 2, a, [](int row, int k) { return swizzle(u32(row * 128 + k * 2), 7); });
  place(t.image, 32, 16, 2, b, [](int row, int k) { return 16384 + swizzle(u32(row * 128 + k * 2), 7); });
  t.a = t.b = descriptor(16, 1024, 2);
  Run r = run_mma(t);
  t.extra = "{%r0, 4, 0, 0}, ";  // lane 34
  r = run_mma(t);
  CHECK(r.has("[memory-uninitialised]"));  // the dump of lane 34, which was not written
  CHECK(cell(r.read<u32>("out"), 33, 1) == 2 * product(a, b, 33, 1, 16));
  CHECK(r.read<u32>("out")[1 * 128 + 34] == 0xFFFFFFFF);
}

TEST_CASE("descriptors are judged where the instruction stands") {
  Mma t;
  t.a = t.b = descriptor(16, 1024, 2);
  t.idesc = 0x08080490 | 1u << 6;
  CHECK(run_mma(t).has("[tcgen05-idesc-reserved]"));
  t.idesc = 0x08090490 & ~0x00FE0000u;
  CHECK(run_mma(t).has("[tcgen05-mma-n]"));
  t.idesc = 0x08080490;
  t.a = descriptor(16, 1024, 3);
  CHECK(run_mma(t).has("[tcgen05-sdesc-swizzle]"));
  t.a = descriptor(16, 1024, 2) & ~fixed;
  CHECK(run_mma(t).has("[tcgen05-sdesc-fixed]"));
  t.a = descriptor(16, 16384 - 16, 2);
  CHECK(run_mma(t).has("[memory-bounds]"));
}

TEST_CASE("A may come from tensor memory, scales from there too") {
  // A[m][k] = 1.0 where k == m % 16, as bf16 pairs in eight columns; D[m][n] is then B[n][m % 16].
  const Matrix b(32, 16, 9);
  std::vector<u8> image(32768, 0);
  place(image, 32, 16, 2, b, [](int row, int k) { return swizzle(u32(row * 128 + k * 2), 7); });
  std::string body =
      "and.b32 %r10, %r0, 15; shr.u32 %r11, %r10, 1; and.b32 %r12, %r10, 1; shl.b32 %r12, %r12, 4; mov.u32 %r13, "
      "0x3F80; shl.b32 %r13, %r13, %r12;\n";
  for (int c = 0; c < 8; ++c)
    body +=
        "setp.eq.u32 %p1, %r11, " + std::to_string(c) + "; selp.u32 %r" + std::to_string(20 + c) + ", %r13, 0, %p1;\n";
  body += "add.u32 %r14, %r6, 32; tcgen05.st.sync.aligned.32x32b.x8.b32 [%r14], " + vector_of("r", 20, 8) +
          R"(; tcgen05.wait::st.sync.aligned;
    mov.u32 %r10, %r0;
  CP: shl.b32 %r11, %r10, 4; cvt.u64.u32 %rd1, %r11; add.u64 %rd1, %rd1, %in;
  ld.global.v4.u32 {%r12, %r13, %r14, %r15}, [%rd1];
    add.u32 %r11, %r11, %r3; st.shared.v4.u32 [%r11], {%r12, %r13, %r14, %r15};
    add.u32 %r10, %r10, 128; setp.lt.u32 %p1, %r10, 512; @%p1 bra CP;
    fence.proxy.async.shared::cta; tcgen05.fence::before_thread_sync; bar.sync 0; tcgen05.fence::after_thread_sync;
    setp.ne.u32 %p1, %r0, 0; @%p1 bra W;
    shr.u32 %r12, %r3, 4; cvt.u64.u32 %rd2, %r12; add.u64 %rd2, %rd2, 0x4000404000010000;
    tcgen05.mma.cta_group::1.kind::f16 [%r2], [%r2+32], %rd2, 0x08080490, 0;
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r4];
  W: mbarrier.try_wait.parity.shared.b64 %p3, [%r4], 0; @!%p3 bra W;
    tcgen05.ld.sync.aligned.32x32b.x32.b32 )" +
          vector_of("r", 100, 32) + ", [%r6]; tcgen05.wait::ld.sync.aligned;\n" + put(100, 32);
  const Run r = run_tensor(tensor_kernel(body, 64), image, 32 * 512);
  REQUIRE_MESSAGE(r.clean(), r.findings());
  const auto out = r.read<u32>("out");
  for (int m = 0; m < 128; m += 3)
    for (int n = 0; n < 32; ++n) CHECK(cell(out, m, n) == b.values[std::size_t(n * 16 + m % 16)]);
}

TEST_CASE("block-scaled kinds multiply by the scales of rows and columns") {
  // mxf8f6f4: A and B are all 1.0, so D = 32 * scale_a(m) * scale_b(n). Scales are powers of two by row and column.
  std::vector<u8> image(32768, 0x38);
  for (int row = 0; row < 32; ++row)
    for (int j = 0; j < 4; ++j) {
      image[std::size_t(24576 + row * 16 + j * 4)] = u8(127 + row % 3 + j);    // SFA of row j * 32 + row
      image[std::size_t(24576 + 512 + row * 16 + j * 4)] = u8(127 - row % 5);  // SFB
    }
  const std::string body = R"(
    mov.u32 %r10, %r0;
  CP: shl.b32 %r11, %r10, 4; cvt.u64.u32 %rd1, %r11; add.u64 %rd1, %rd1, %in;
  ld.global.v4.u32 {%r12, %r13, %r14, %r15}, [%rd1];
    add.u32 %r11, %r11, %r3; st.shared.v4.u32 [%r11], {%r12, %r13, %r14, %r15};
    add.u32 %r10, %r10, 128; setp.lt.u32 %p1, %r10, 2048; @%p1 bra CP;
    fence.proxy.async.shared::cta; bar.sync 0;
    setp.ne.u32 %p1, %r0, 0; @%p1 bra W;
    shr.u32 %r12, %r3, 4; cvt.u64.u32 %rd2, %r12; add.u64 %rd3, %rd2, 0xC000401000010000; add.u64 %rd4, %rd3, 1024;
    add.u64 %rd5, %rd2, 0x0000400800000600; add.u64 %rd6, %rd5, 32; add.u32 %r20, %r2, 40; add.u32 %r21, %r2, 44;
    tcgen05.cp.cta_group::1.32x128b.warpx4 [%r20], %rd5; tcgen05.cp.cta_group::1.32x128b.warpx4 [%r21], %rd6;
    tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X [%r2], %rd3, %rd4, 0x08880000, [%r20], [%r21], 0;
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r4];
  W: mbarrier.try_wait.parity.shared.b64 %p3, [%r4], 0; @!%p3 bra W;
    tcgen05.ld.sync.aligned.32x32b.x32.b32 )" +
                           vector_of("r", 100, 32) + ", [%r6]; tcgen05.wait::ld.sync.aligned;\n" + put(100, 32);
  const Run r = run_tensor(tensor_kernel(body, 64), image, 32 * 512);
  REQUIRE_MESSAGE(r.clean(), r.findings());
  const auto out = r.read<u32>("out");
  for (int m = 0; m < 128; m += 3)
    for (int n = 0; n < 32; ++n) CHECK(cell(out, m, n) == std::ldexp(32.0f, m % 32 % 3 + m / 32 - n % 5));
}

}  // namespace sim_mma

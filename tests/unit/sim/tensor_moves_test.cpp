// tcgen05.cp with decompression, and tcgen05.ld.red.
#include <doctest/doctest.h>

#include <cmath>

#include "tests/unit/sim/mma_problem.hpp"

namespace sim_tensor_moves {

using namespace kiln;
using namespace kiln::test;
using isa::MmaKind;
using isa::ScalarType;

namespace {

// Sixteen elements of `bits` packed at the front of each 16 bytes: element e of row r is (5 r + 3 e) modulo 2^bits, and
// the padding is all ones.
std::vector<u8> padded(int rows, int row_bytes, int bits) {
  std::vector<u8> out(32768, 0xFF);
  for (int row = 0; row < rows; ++row)
    for (int e = 0; e < row_bytes; ++e) {
      const u32 word = u32(5 * row + 3 * e) % (1u << bits);
      for (int i = 0; i < bits; ++i) {
        const int bit = e % 16 * bits + i;
        u8& byte = out[std::size_t(row * 16 + e / 16 * 4096 + bit / 8)];
        byte = u8((byte & ~(1 << bit % 8)) | (word >> i & 1) << bit % 8);
      }
    }
  return out;
}

struct Shape {
  const char* text;
  int rows, bytes;
};
constexpr Shape shapes[] = {{"128x256b", 128, 32},
                            {"128x128b", 128, 16},
                            {"4x256b", 4, 32},
                            {"64x128b.warpx2::02_13", 64, 16},
                            {"64x128b.warpx2::01_23", 64, 16},
                            {"32x128b.warpx4", 32, 16}};

// Row of the source that ends in a lane, by the ISA's table; -1: none.
int source_row(const std::string& shape, int lane) {
  if (shape == "4x256b") return lane % 32 == 0 ? lane / 32 : -1;
  if (shape == "64x128b.warpx2::02_13") return lane % 64;
  if (shape == "64x128b.warpx2::01_23") return lane / 64 * 32 + lane % 32;
  if (shape == "32x128b.warpx4") return lane % 32;
  return lane;
}

// Rows 16 bytes apart, the second 16 bytes of a row 4096 on.
const std::string descriptor = "add.u64 %rd10, %rd2, 0x0000400801000000; add.u32 %r20, %r2, 8;\n";

}  // namespace

TEST_CASE("tcgen05.cp widens 4-bit elements to bits 2 to 5 of a byte, on every shape") {
  for (const Shape& s : shapes) {
    MmaMachine machine;
    machine.before[0].shared = padded(s.rows, s.bytes, 4);
    const Run r = machine.run(descriptor + "tcgen05.cp.cta_group::1." + s.text + ".b8x16.b4x16_p64 [%r20], %rd10;");
    REQUIRE_MESSAGE(r.clean(), r.findings());
    for (int lane = 0; lane < 128; ++lane)
      for (int e = 0; e < 32; ++e) {
        const int row = source_row(s.text, lane);
        const bool copied = row >= 0 && e < s.bytes;
        const u32 byte = machine.after[0].cell(lane, 8 + e / 4) >> e % 4 * 8 & 255;
        CHECK(byte == (copied ? u32(5 * row + 3 * e) % 16 << 2 : 0));
      }
  }
}

TEST_CASE("decompressed elements multiply as A, of 4 and of 6 bits") {
  for (const ScalarType type : {ScalarType::e2m1, ScalarType::e2m3, ScalarType::e3m2}) {
    MmaProblem p;
    p.kind = MmaKind::f8f6f4, p.a_type = type, p.b_type = ScalarType::e4m3;
    p.draw(2);
    MmaMachine machine = p.machine();  // A in shared memory
    MmaProblem from_cells = p;
    from_cells.a_in_tmem = true;
    const std::string format = type == ScalarType::e2m1 ? ".b4x16_p64" : ".b6x16_p32";
    std::string text = from_cells.instruction();
    text.insert(text.find("tcgen05.mma"), "tcgen05.cp.cta_group::1.128x256b.b8x16" + format + " [%r21], %rd10;\n");
    // The dump may read 4-bit containers, nothing else may read 6-bit ones: it stops short of A.
    Run r = machine.run(text);
    if (type == ScalarType::e2m1) {
      REQUIRE_MESSAGE(r.clean(), r.findings());
    } else {
      CHECK(r.result.outcome == sim::Outcome::incomplete);
      CHECK(r.has("tcgen05.ld out of cells that hold decompressed 6-bit elements"));
      const std::string zero = "tcgen05.cp.cta_group::1.128x256b [%r21], %rd10;";
      r = machine.run(text + "\n" + zero);
      REQUIRE_MESSAGE(r.clean(), r.findings());
    }
    CHECK(wrong_elements(p, machine, p.m) == 0);
  }
}

TEST_CASE("6-bit operands that a program has put into tensor memory itself are not guessed at") {
  MmaProblem p;
  p.kind = MmaKind::f8f6f4, p.a_type = ScalarType::e2m3, p.b_type = ScalarType::e4m3, p.a_in_tmem = true;
  p.draw(3);
  const Run r = p.machine().run(p.instruction());
  CHECK(r.result.outcome == sim::Outcome::incomplete);
  CHECK(r.has("6-bit elements in tensor memory"));
}

TEST_CASE("padding need not be written") {
  // Only the 8 data bytes of each piece are there.
  const std::string body = R"(
    and.b32 %r10, %r0, 31; shl.b32 %r10, %r10, 4; add.u32 %r10, %r10, %r3; mov.b64 %rd1, 0x7654321076543210;
    setp.lt.u32 %p5, %r0, 32; @%p5 st.shared.b64 [%r10], %rd1; fence.proxy.async.shared::cta; bar.sync 0;
    setp.ne.u32 %p1, %r0, 0; @%p1 bra W;
    shr.u32 %r12, %r3, 4; cvt.u64.u32 %rd2, %r12; add.u64 %rd2, %rd2, 0x0000400800000000;
    tcgen05.cp.cta_group::1.32x128b.warpx4.b8x16.b4x16_p64 [%r2], %rd2;
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r4];
  W: mbarrier.try_wait.parity.shared.b64 %p3, [%r4], 0; @!%p3 bra W;
    tcgen05.ld.sync.aligned.32x32b.x4.b32 )" +
                           vector_of("r", 100, 4) + ", [%r6]; tcgen05.wait::ld.sync.aligned;\n" + put(100, 4);
  const Run r = run_tensor(tensor_kernel(body, 32), {}, 4 * 512);
  REQUIRE_MESSAGE(r.clean(), r.findings());
  CHECK(r.read<u32>("out")[40] == 0x0C080400);
}

namespace {

// Every warp stores 32 columns of its lanes, loads the shape with its reduction, and writes the reduced value.
std::vector<u32> reduced(const std::vector<u32>& words, const std::string& how, int registers, const std::string& split,
                         const std::string& target_text) {
  std::string body;
  for (int i = 0; i < 32; ++i)
    body += "ld.global.u32 %r" + std::to_string(50 + i) + ", [%rd10+" + std::to_string(512 * i) + "];\n";
  body = "mul.wide.u32 %rd10, %r0, 4; add.u64 %rd10, %rd10, %in;\n" + body +
         "tcgen05.st.sync.aligned.32x32b.x32.b32 [%r6], " + vector_of("r", 50, 32) +
         "; tcgen05.wait::st.sync.aligned;\n.reg .f32 %f1; .reg .s32 %s1;\ntcgen05.ld.red.sync.aligned." + how + " " +
         vector_of("r", 100, registers) + ", " + target_text + ", [%r6]" + split +
         ";\ntcgen05.wait::ld.sync.aligned;\n" + "mov.b32 %r99, " + target_text +
         "; st.global.u32 [%own], %r99; st.global.u32 [%own+512], %r101;\n";
  std::string text = tensor_kernel(body, 32);
  text.replace(text.find("sm_100a"), 7, "sm_103a");
  std::vector<u8> in(words.size() * 4);
  std::memcpy(in.data(), words.data(), in.size());
  const Run r = run_tensor(text, in, 1024);
  REQUIRE_MESSAGE(r.clean(), r.findings());
  return r.read<u32>("out");
}

u32 bits(float v) { return std::bit_cast<u32>(v); }

// Words [column * 128 + lane].
std::vector<u32> cells(u32 (*f)(int lane, int column)) {
  std::vector<u32> out(32 * 128);
  for (int column = 0; column < 32; ++column)
    for (int lane = 0; lane < 128; ++lane) out[std::size_t(column * 128 + lane)] = f(lane, column);
  return out;
}

u32 scrambled(int lane, int column) { return u32(lane * 2654435761u) ^ u32((column + 1) * 40503u * 65537u); }

}  // namespace

TEST_CASE("tcgen05.ld.red gives each thread the least or greatest of its own integers") {
  const auto words = cells(scrambled);
  const auto check = [&](const char* how, const char* target, auto zero, bool is_max, int n) {
    using T = decltype(zero);
    const auto out = reduced(words, how, n, "", target);
    for (int lane = 0; lane < 128; ++lane) {
      T best = T(scrambled(lane, 0));
      for (int c = 1; c < n; ++c) {
        const T v = T(scrambled(lane, c));
        best = is_max ? std::max(best, v) : std::min(best, v);
      }
      CHECK(T(out[std::size_t(lane)]) == best);
      CHECK(out[std::size_t(128 + lane)] == scrambled(lane, 1));
    }
  };
  check("32x32b.x32.max.u32", "%r98", u32{}, true, 32);
  check("32x32b.x8.min.u32", "%r98", u32{}, false, 8);
  check("32x32b.x16.max.s32", "%s1", std::int32_t{}, true, 16);
  check("32x32b.x2.min.s32", "%s1", std::int32_t{}, false, 2);
}

TEST_CASE("tcgen05.ld.red.16x32bx2 reduces what each half of the warp has loaded") {
  const auto words = cells(scrambled);
  const auto out = reduced(words, "16x32bx2.x8.max.u32", 8, ", 16", "%r98");
  for (int thread = 0; thread < 128; ++thread) {
    const int lane = thread / 32 * 32 + thread % 16, first = thread % 32 < 16 ? 0 : 16;
    u32 best = 0;
    for (int c = 0; c < 8; ++c) best = std::max(best, scrambled(lane, first + c));
    CHECK(out[std::size_t(thread)] == best);
  }
}

TEST_CASE("tcgen05.ld.red treats NaN, magnitudes and zeros of f32 as min and max do") {
  // Lane 0: plain numbers. 1: one NaN. 2: nothing but NaN. 3: both zeros.
  const auto words = cells([](int lane, int column) {
    if (lane % 32 == 1 && column == 1) return 0x7FC00001u;
    if (lane % 32 == 2) return 0xFFC00000u;
    if (lane % 32 == 3) return column % 2 ? 0x80000000u : 0u;
    return bits(column % 2 ? -float(column) : float(column) / 2);
  });
  const u32 nan = 0x7FFFFFFF;
  const auto check = [&](const char* how, std::array<u32, 4> want) {
    const auto out = reduced(words, how, 4, "", "%f1");
    for (int lane = 0; lane < 4; ++lane)
      CHECK_MESSAGE(out[std::size_t(32 + lane)] == want[std::size_t(lane)], how, lane);
  };
  check("32x32b.x4.max.f32", {bits(1), bits(1), nan, 0});
  check("32x32b.x4.min.f32", {bits(-3), bits(-3), nan, 0x80000000});
  check("32x32b.x4.max.NaN.f32", {bits(1), nan, nan, 0});
  check("32x32b.x4.max.abs.f32", {bits(3), bits(3), nan, 0});
  check("32x32b.x4.min.abs.NaN.f32", {bits(0), nan, nan, 0});
}

}  // namespace sim_tensor_moves

// Atomics and reductions, whole or asynchronous: every type, against what one thread after the other would compute.
#include <doctest/doctest.h>

#include <cmath>

#include "ptx/num/format.hpp"
#include "tests/unit/sim/eval.hpp"

namespace sim_atomic {

using namespace kiln;
using namespace kiln::test;

namespace {

// Runs `op` on memory at [%out] that holds `a` (and then b, c, d); %r1 ... %r4 hold `r`.
std::vector<u32> after(const std::string& op, std::vector<u32> memory, std::vector<u32> r) {
  memory.resize(16);
  r.resize(4);
  std::string text;
  for (int k = 0; k < 16; ++k)
    text += "st.global.u32 [%out+" + digits(u64(4 * k)) + "], " + digits(memory[std::size_t(k)]) + ";";
  for (int k = 0; k < 4; ++k) text += "mov.u32 %r" + digits(u64(k + 1)) + ", " + digits(r[std::size_t(k)]) + ";";
  const Run run = run_kernel(kernel(text + "\nmov.b64 %rd1, {%r1, %r2}; mov.b64 %rd2, {%r3, %r4};\n" + op));
  CHECK_MESSAGE(run.clean(), op << "\n" << run.findings());
  return run.read<u32>("out");
}
u32 word(float v) { return std::bit_cast<u32>(v); }

}  // namespace

TEST_CASE("atomics give what was there and leave the combination") {
  const auto one = [](const std::string& op, u32 a, u32 b, u32 c = 0) {
    const auto out = after("atom.global." + op + " %r9, [%out], %r1" + (op.starts_with("cas") ? ", %r2" : "") +
                               "; st.global.u32 [%out+4], %r9;",
                           {a}, {b, c});
    CHECK(out[1] == a);
    return out[0];
  };
  CHECK(one("add.u32", 0xFFFFFFFF, 3) == 2);
  CHECK(one("min.s32", u32(-5), 3) == u32(-5));
  CHECK(one("min.u32", u32(-5), 3) == 3);
  CHECK(one("max.s32", u32(-5), 3) == 3);
  CHECK(one("and.b32", 12, 10) == 8);
  CHECK(one("or.b32", 12, 10) == 14);
  CHECK(one("xor.b32", 12, 10) == 6);
  CHECK(one("inc.u32", 3, 4) == 4);
  CHECK(one("inc.u32", 4, 4) == 0);
  CHECK(one("dec.u32", 0, 4) == 4);
  CHECK(one("dec.u32", 9, 4) == 4);
  CHECK(one("exch.b32", 9, 4) == 4);
  CHECK(one("cas.b32", 9, 9, 5) == 5);
  CHECK(one("cas.b32", 9, 8, 5) == 9);
  CHECK(one("add.f32", word(1.5f), word(2.25f)) == word(3.75f));
  CHECK(one("add.noftz.f16x2", 0x3C004000, 0x3C003C00) == 0x40004200);
  CHECK(one("add.noftz.bf16x2", 0x3F804000, 0x3F803F80) == 0x40004040);
}

TEST_CASE("f32 sums lose subnormals in global memory and keep them in shared memory") {
  const u32 tiny = 0x00400000;
  CHECK(after("red.global.add.f32 [%out], %r1;", {tiny}, {0})[0] == 0);
  CHECK(after("red.global.add.f32 [%out], %r1;", {0x00800000}, {0x80C00000})[0] == 0x80000000);
  CHECK(after(".shared .b32 box; st.shared.u32 [box], %r1; red.shared.add.f32 [box], %r1; ld.shared.u32 %r9, [box]; "
              "st.global.u32 [%out], %r9;",
              {0}, {tiny})[0] == 2 * tiny);
}

TEST_CASE("wide and narrow atomics") {
  CHECK(after("red.global.add.u64 [%out], %rd1;", {0xFFFFFFFF, 1}, {1, 2})[1] == 4);
  CHECK(after("atom.global.max.s64 %rd3, [%out], %rd1;", {5, 0}, {1, u32(-1)})[0] == 5);
  const u64 sum = std::bit_cast<u64>(1.5 + 0.1);
  const u64 tenth = std::bit_cast<u64>(0.1), most = std::bit_cast<u64>(1.5);
  const auto out =
      after("red.global.add.f64 [%out], %rd1;", {u32(tenth), u32(tenth >> 32)}, {u32(most), u32(most >> 32)});
  CHECK((u64(out[1]) << 32 | out[0]) == sum);
  const std::string cas =
      "mov.b32 {%h1, %h2}, %r1; atom.global.cas.b16 %h3, [%out], %h1, %h2; cvt.u32.u16 %r9, %h3; "
      "st.global.u32 [%out+4], %r9;";
  CHECK(after(cas, {0xAAAA0007}, {0x00090007})[0] == 0xAAAA0009);
  CHECK(after(cas, {0xAAAA0008}, {0x00090007})[1] == 8);
}

TEST_CASE("128 bits are exchanged and compared whole") {
  const std::string pack = ".reg .b128 %q<4>; mov.b128 %q1, {%rd1, %rd2}; mov.b128 %q2, {%rd2, %rd1}; ";
  const std::string give = " mov.b128 {%rd3, %rd4}, %q3; st.global.v2.u64 [%out+16], {%rd3, %rd4};";
  const std::vector<u32> r{1, 2, 3, 4}, memory{1, 2, 3, 4};
  const auto cas = after(pack + "atom.global.cas.b128 %q3, [%out], %q1, %q2;" + give, memory, r);
  CHECK(std::vector<u32>(cas.begin(), cas.begin() + 8) == std::vector<u32>{3, 4, 1, 2, 1, 2, 3, 4});
  const auto no = after(pack + "atom.global.cas.b128 %q3, [%out], %q2, %q1;" + give, memory, r);
  CHECK(std::vector<u32>(no.begin(), no.begin() + 8) == std::vector<u32>{1, 2, 3, 4, 1, 2, 3, 4});
  const auto exch = after(pack + "atom.global.exch.b128 %q3, [%out], %q2;" + give, {9, 8, 7, 6}, r);
  CHECK(std::vector<u32>(exch.begin(), exch.begin() + 8) == std::vector<u32>{3, 4, 1, 2, 9, 8, 7, 6});
}

TEST_CASE("vectors of atomics work element by element") {
  const auto sums = after(
      "mov.b32 %f1, %r1; mov.b32 %f2, %r2; mov.b32 %f3, %r3; mov.b32 %f4, %r4; "
      "atom.global.v4.f32.add {%f5, %f6, %f7, %f8}, [%out], {%f1, %f2, %f3, %f4}; "
      "st.global.v4.f32 [%out+16], {%f5, %f6, %f7, %f8};",
      {word(1), word(2), word(3), word(4)}, {word(10), word(20), word(30), word(40)});
  for (u32 k = 0; k < 4; ++k) {
    CHECK(sums[k] == word(float(11 * (k + 1))));
    CHECK(sums[4 + k] == word(float(k + 1)));
  }
  // halves: 1, NaN against 2, 3 and -1, -0 against -2, 0
  const auto most =
      after("red.global.v2.f16x2.max.noftz [%out], {%r1, %r2};", {0x3C007E00, 0xBC008000}, {0x40004200, 0xC0000000});
  CHECK(most[0] == 0x40004200);
  CHECK(most[1] == 0xBC000000);
  CHECK(after("red.global.v2.bf16x2.min.noftz [%out], {%r1, %r2};", {0x3F804000, 0}, {0x3F00C000, 0x80003F80})[0] ==
        0x3F00C000);
}

TEST_CASE("lanes of a warp take turns") {
  const Run r =
      run_kernel(kernel("mov.u32 %r1, %tid.x; atom.global.add.u32 %r9, [%out], %r1; mul.wide.u32 %rd1, %r1, 4; "
                        "add.u64 %rd1, %rd1, %out; st.global.u32 [%rd1+4], %r9;"),
                 32);
  CHECK_MESSAGE(r.clean(), r.findings());
  u32 sum = 0;
  for (u32 k = 0; k < 32; ++k) {
    CHECK(r.read<u32>("out")[k + 1] == sum);
    sum += k;
  }
  CHECK(r.read<u32>("out")[0] == sum);
}

namespace {

// A cluster of two: CTA 0 sends `op` to CTA 1, which waits for `bytes` and shows four words of its box.
std::vector<u32> sent(const std::string& op, u32 bytes) {
  const std::string text = head + R"(
.visible .entry k(.param .u64 out) .reqnctapercluster 2, 1, 1 {
.reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %rd<9>; .reg .b64 %out;
.shared .align 16 .b32 box[4]; .shared .align 8 .b64 bar;
ld.param.u64 %out, [out];
mov.u32 %r10, box; mov.u32 %r11, bar; mov.u32 %r1, 1; mov.u32 %r2, 2; mov.u32 %r3, 3; mov.u32 %r4, 4;
mov.u64 %rd1, 0x100000005;
st.shared.v4.u32 [%r10], {%r4, %r3, %r2, %r1};
mbarrier.init.shared.b64 [%r11], 1;
fence.mbarrier_init.release.cluster;
mov.u32 %r5, %cluster_ctarank; setp.eq.u32 %p1, %r5, 0;
@!%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%r11], )" +
                           std::to_string(bytes) + R"(;
barrier.cluster.arrive; barrier.cluster.wait;
mapa.shared::cluster.u32 %r12, %r10, 1; mapa.shared::cluster.u32 %r13, %r11, 1;
@!%p1 bra WAIT;
)" + op + R"(
bra END;
WAIT: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [%r11], 0; @!%p2 bra WAIT;
ld.shared.v4.u32 {%r6, %r7, %r8, %r9}, [%r10];
st.global.v4.u32 [%out], {%r6, %r7, %r8, %r9};
END: barrier.cluster.arrive; barrier.cluster.wait;
ret;
}
)";
  launch::Contract c;
  c.buffers.push_back(buffer("out", 16));
  launch::Launch l;
  l.grid = {2, 1, 1};
  l.block = {1, 1, 1};
  l.params = {pointer("out")};
  c.launches.push_back(l);
  const Run r = run(text, c);
  CHECK_MESSAGE(r.clean(), op << "\n" << r.findings());
  return r.read<u32>("out");
}

}  // namespace

TEST_CASE("st.async stores into another CTA and completes its mbarrier") {
  const std::string st = "st.async.shared::cluster.mbarrier::complete_tx::bytes";
  CHECK(sent(st + ".u32 [%r12+4], %r1, [%r13];", 4) == std::vector<u32>{4, 1, 2, 1});
  CHECK(sent(st + ".v4.b32 [%r12], {%r1, %r2, %r3, %r4}, [%r13];", 16) == std::vector<u32>{1, 2, 3, 4});
  CHECK(sent(st + ".v2.u64 [%r12], {%rd1, %rd1}, [%r13];", 16) == std::vector<u32>{5, 1, 5, 1});
}

TEST_CASE("red.async combines in another CTA and completes its mbarrier") {
  const std::string red = "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes";
  CHECK(sent(red + ".add.u32 [%r12], %r3, [%r13];", 4) == std::vector<u32>{7, 3, 2, 1});
  CHECK(sent(red + ".max.s32 [%r12+8], %r4, [%r13];", 4) == std::vector<u32>{4, 3, 4, 1});
  CHECK(sent(red + ".inc.u32 [%r12+4], %r3, [%r13];", 4) == std::vector<u32>{4, 0, 2, 1});
  CHECK(sent(red + ".xor.b32 [%r12+4], %r1, [%r13];", 4) == std::vector<u32>{4, 2, 2, 1});
  CHECK(sent(red + ".add.u64 [%r12], %rd1, [%r13];", 8) == std::vector<u32>{9, 4, 2, 1});
}

TEST_CASE("bulk reductions combine arrays of any type") {
  const auto reduce = [](const std::string& type, u32 there, u32 here) {
    return after(
        ".shared .align 16 .b32 box[4]; st.shared.v4.u32 [box], {%r1, %r1, %r1, %r1}; fence.proxy.async; "
        "mov.u32 %r5, box; cp.reduce.async.bulk.global.shared::cta.bulk_group." +
            type + " [%out], [%r5], 16; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
        {there, there, there, there}, {here});
  };
  CHECK(reduce("add.f32", word(1), word(2.5f))[3] == word(3.5f));
  CHECK(reduce("add.noftz.f16", 0x3C004000, 0x3C003C00)[2] == 0x40004200);
  CHECK(reduce("add.f32", 0x00400000, 0x00000001)[0] == 0x00400001);  // captured on an H200
  CHECK(reduce("max.bf16", 0x3F80C000, 0x4000BF80)[1] == 0x4000BF80);
  CHECK(reduce("min.s32", 3, u32(-2))[0] == u32(-2));
  CHECK(reduce("or.b64", 5, 2)[0] == 7);
  CHECK(reduce("dec.u32", 0, 9)[0] == 9);
}

}  // namespace sim_atomic

// One address for the same place of several memories.
#include <doctest/doctest.h>

#include "ptx/diag/error.hpp"
#include "ptx/num/format.hpp"
#include "tests/unit/sim/run.hpp"

namespace sim_multimem {

using namespace kiln;
using namespace kiln::test;
using u16 = std::uint16_t;
using u32 = std::uint32_t;

namespace {

// Three memories of four words each, and `body` with the multimem address in %rd1, the results in %rd2.
Run on_three(const std::string& body, const std::vector<u32>& a, const std::vector<u32>& b, const std::vector<u32>& c) {
  launch::Contract contract;
  contract.buffers = {filled("A", a), filled("B", b), filled("C", c), buffer("out", 16)};
  contract.multimems = {{"M", {"A", "B", "C"}}};
  launch::Launch l;
  l.block = {1, 1, 1};
  l.params = {pointer("M"), pointer("out")};
  contract.launches = {l};
  return run(head +
                 ".visible .entry k(.param .u64 M, .param .u64 out) {\n.reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 "
                 "%rd<9>;\nld.param.u64 %rd1, [M]; ld.param.u64 %rd2, [out];\n" +
                 body + "\nret;\n}\n",
             contract);
}

const std::vector<u32> one{1, 20, 0xFFFFFFF0, 4}, two{10, 2, 3, 40}, three{100, 200, 30, 400};

u32 bits(float v) { return std::bit_cast<u32>(v); }
u32 halves(float low, float high) {
  const auto half = [](float v) { return u32(num::encode(isa::ScalarType::f16, v)); };
  return half(high) << 16 | half(low);
}

}  // namespace

TEST_CASE("multimem.ld_reduce combines what the memories hold") {
  const Run r = on_three(
      "multimem.ld_reduce.relaxed.sys.global.add.u32 %r1, [%rd1]; st.global.u32 [%rd2], %r1;\n"
      "multimem.ld_reduce.weak.global.max.u32 %r1, [%rd1+4]; st.global.u32 [%rd2+4], %r1;\n"
      "multimem.ld_reduce.weak.min.s32 %r1, [%rd1+8]; st.global.u32 [%rd2+8], %r1;\n"
      "multimem.ld_reduce.acquire.gpu.global.or.b32 %r1, [%rd1+12]; st.global.u32 [%rd2+12], %r1;",
      one, two, three);
  REQUIRE_MESSAGE(r.clean(), r.findings());
  CHECK(r.read<u32>("out") == std::vector<u32>{111, 200, 0xFFFFFFF0, 4 | 40 | 400});
}

TEST_CASE("multimem.ld_reduce adds vectors, and halves in f32 when it is told to") {
  const Run r = on_three(
      "multimem.ld_reduce.relaxed.sys.global.add.v2.f32 {%f1, %f2}, [%rd1];\n"
      "multimem.ld_reduce.weak.global.add.acc::f32.f16x2 %r1, [%rd1+8];\n"
      "multimem.ld_reduce.weak.global.add.f16x2 %r2, [%rd1+8];\n"
      "st.global.v2.f32 [%rd2], {%f1, %f2}; st.global.v2.u32 [%rd2+8], {%r1, %r2};",
      {bits(1.5f), bits(-2), halves(2048, 1), 0}, {bits(0.25f), bits(3), halves(1, 2), 0},
      {bits(4), bits(0.5f), halves(1, 3), 0});
  REQUIRE_MESSAGE(r.clean(), r.findings());
  // 2048 + 1 is a tie that f16 rounds down, twice; in f32 it is 2050.
  CHECK(r.read<u32>("out") == std::vector<u32>{bits(5.75f), bits(1.5f), halves(2050, 6), halves(2048, 6)});
}

TEST_CASE("multimem.st and multimem.red reach every memory") {
  const Run r = on_three(
      "mov.u32 %r1, 7; multimem.st.relaxed.gpu.global.u32 [%rd1], %r1;\n"
      "multimem.red.release.sys.global.add.u32 [%rd1+4], %r1;\n"
      "multimem.red.relaxed.sys.global.min.s32 [%rd1+8], %r1;\n"
      "mov.f32 %f1, 0f3F800000; multimem.red.add.f32 [%rd1+12], %f1;",
      {1, 20, 0xFFFFFFF0, bits(1)}, {10, 2, 3, bits(2)}, {100, 200, 30, bits(-1)});
  REQUIRE_MESSAGE(r.clean(), r.findings());
  CHECK(r.read<u32>("A") == std::vector<u32>{7, 27, 0xFFFFFFF0, bits(2)});
  CHECK(r.read<u32>("B") == std::vector<u32>{7, 9, 3, bits(3)});
  CHECK(r.read<u32>("C") == std::vector<u32>{7, 207, 7, bits(0)});
}

TEST_CASE("asynchronous stores, reductions and bulk copies reach every memory") {
  const Run r = on_three(
      ".shared .align 16 .b32 words[4]; mov.u32 %r1, 7; multimem.st.async.release.gpu.global.u32 [%rd1], %r1;\n"
      "multimem.red.async.release.sys.add.u32 [%rd1+4], %r1;",
      one, two, three);
  REQUIRE_MESSAGE(r.clean(), r.findings());
  CHECK(r.read<u32>("A") == std::vector<u32>{7, 27, 0xFFFFFFF0, 4});
  CHECK(r.read<u32>("C") == std::vector<u32>{7, 207, 30, 400});
  const auto copied = [](const std::string& copy) {
    return on_three(
        ".shared .align 16 .b32 words[4]; mov.u32 %r2, words; mov.u32 %r1, 7; mov.u32 %r3, 9;\n"
        "st.shared.v4.u32 [%r2], {%r1, %r3, %r1, %r3}; fence.proxy.async.shared::cta;\n" +
            copy + "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
        one, two, three);
  };
  const Run whole = copied("multimem.cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 16;\n");
  REQUIRE_MESSAGE(whole.clean(), whole.findings());
  for (const char* name : {"A", "B", "C"}) CHECK(whole.read<u32>(name) == std::vector<u32>{7, 9, 7, 9});
  const Run masked = copied(
      ".reg .b16 %h1; mov.b16 %h1, 0xF00F; multimem.cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%rd1], [%r2], "
      "16, %h1;\n");
  REQUIRE_MESSAGE(masked.clean(), masked.findings());
  CHECK(masked.read<u32>("B") == std::vector<u32>{7, 2, 3, 9});
  const Run added = copied("multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r2], 16;\n");
  REQUIRE_MESSAGE(added.clean(), added.findings());
  CHECK(added.read<u32>("A") == std::vector<u32>{8, 29, 0xFFFFFFF7, 13});
  CHECK(added.read<u32>("B") == std::vector<u32>{17, 11, 10, 49});
}

TEST_CASE("a multimem address is for multimem instructions, and they take no other") {
  CHECK(on_three("ld.global.u32 %r1, [%rd1];", one, two, three).has("which only multimem instructions may access"));
  CHECK(on_three("multimem.ld_reduce.weak.global.add.u32 %r1, [%rd2];", one, two, three).has("in no multimem"));
  CHECK(on_three("multimem.ld_reduce.weak.global.add.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1+8];", one, two, three)
            .has("16 bytes at offset 8 of multimem `M`, which has 16"));
  CHECK_THROWS_AS(on_three("", one, two, {1}), diag::InputError);
}

}  // namespace sim_multimem

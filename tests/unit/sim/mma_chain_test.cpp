// Products of several instructions on one accumulator: what is read back never tells how many of them were added up at
// once.
#include <doctest/doctest.h>

#include <string>

#include "tests/unit/sim/mma_problem.hpp"

namespace sim_mma_chain {

using namespace kiln;
using namespace kiln::test;

namespace {

constexpr u64 seeds = 4;

// One more of the problem's instructions, adding to D in columns from `column` on. %rd10 and %rd11 are its descriptors.
std::string once_more(const MmaProblem& p, int column = 0, const std::string& lanes = "") {
  return "add.u32 %r20, %r2, " + std::to_string(column) + ";\ntcgen05.mma.cta_group::" + std::to_string(p.ctas) + "." +
         std::string(isa::spelling(p.kind)) + " [%r20], %rd10, %rd11, " + std::to_string(p.idesc()) + ", " + lanes +
         "1;\n";
}

float d_value(const MmaProblem& p, const MmaMachine& machine, int row, int column) {
  return std::bit_cast<float>(d_word(p, machine, row, column));
}

MmaProblem drawn(int m = 128, int n = 32, int ctas = 1) {
  MmaProblem p;
  p.m = m, p.n = n, p.ctas = ctas;
  p.draw(unsigned(m + n + ctas));
  return p;
}

}  // namespace

TEST_CASE("any number of products adds up, in one CTA and in two") {
  struct Shape {
    int m, n, ctas;
  };
  for (const Shape& s : {Shape{128, 32, 1}, Shape{64, 32, 1}, Shape{256, 64, 2}, Shape{128, 64, 2}})
    for (int count = 1; count <= 9; ++count) {
      CAPTURE(s.m);
      CAPTURE(count);
      const MmaProblem p = drawn(s.m, s.n, s.ctas);
      MmaMachine machine = p.machine();
      std::string text = p.instruction();
      for (int k = 1; k < count; ++k) text += once_more(p);
      const Run r = machine.run(text, u64(count));
      REQUIRE_MESSAGE(r.clean(), r.findings());
      for (int row = 0; row < s.m; row += 7)
        for (int column = 0; column < s.n; column += 3)
          CHECK(d_value(p, machine, row, column) == float(count * p.value(row, column)));
    }
}

TEST_CASE("products on two accumulators in turn stay apart") {
  const MmaProblem p = drawn();
  for (u64 seed = 1; seed <= seeds; ++seed) {
    MmaMachine machine = p.machine();
    const Run r =
        machine.run(p.instruction() + once_more(p) + once_more(p, 32) + once_more(p) + once_more(p, 32), seed);
    REQUIRE_MESSAGE(r.clean(), r.findings());
    for (int row = 0; row < 128; row += 5) {
      CHECK(d_value(p, machine, row, 3) == float(3 * p.value(row, 3)));
      CHECK(d_value(p, machine, row, 35) == float(2 * p.value(row, 3)));
    }
  }
}

TEST_CASE("products of another shape and with disabled lanes add to what stood there before them") {
  const MmaProblem p = drawn();
  MmaProblem narrow = p;
  narrow.n = 16;
  MmaMachine machine = p.machine();
  const std::string first_warp_off = "{%r40, %r41, %r41, %r41}, ";
  const Run r = machine.run("mov.b32 %r40, 0xFFFFFFFF; mov.b32 %r41, 0;\n" + p.instruction() + once_more(p) +
                            once_more(narrow) + once_more(p, 0, first_warp_off) + once_more(p));
  REQUIRE_MESSAGE(r.clean(), r.findings());
  for (int row = 0; row < 128; row += 3)
    for (const int column : {1, 30}) {
      const int count = 3 + (column < 16) + (row >= 32);
      CHECK(d_value(p, machine, row, column) == float(count * p.value(row, column)));
    }
}

TEST_CASE("a product that does not accumulate forgets those before it") {
  const MmaProblem p = drawn();
  MmaMachine machine = p.machine();
  const Run r = machine.run(p.instruction() + once_more(p) + p.instruction() + once_more(p));
  REQUIRE_MESSAGE(r.clean(), r.findings());
  for (int row = 0; row < 128; ++row) CHECK(d_value(p, machine, row, 7) == float(2 * p.value(row, 7)));
}

TEST_CASE("each product reads its operands when its own time comes") {
  const MmaProblem p = drawn();
  MmaProblem later = p;
  for (int k = 0; k < 8; ++k) later.a[std::size_t(k)] = 0;
  const std::string zero_the_start_of_a =
      R"(tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r50];
    M: mbarrier.try_wait.parity.shared.b64 %p3, [%r50], 0; @!%p3 bra M;
    mov.b32 %r51, 0; st.shared.v4.b32 [%r3], {%r51, %r51, %r51, %r51}; fence.proxy.async.shared::cta;
)";
  for (u64 seed = 1; seed <= seeds; ++seed) {
    MmaMachine machine = p.machine();
    const Run r = machine.run(
        "{ .shared .align 8 .b64 between; mov.u32 %r50, between; mbarrier.init.shared.b64 [%r50], 1;\n"
        "fence.mbarrier_init.release.cluster; fence.proxy.async.shared::cta;\n" +
            p.instruction() + zero_the_start_of_a + once_more(p) + "}",
        seed);
    REQUIRE_MESSAGE(r.clean(), r.findings());
    for (const int row : {0, 1, 127})
      for (int column = 0; column < 32; ++column)
        CHECK(d_value(p, machine, row, column) == float(p.value(row, column) + later.value(row, column)));
  }
}

}  // namespace sim_mma_chain

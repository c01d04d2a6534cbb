// Grids whose clusters do as much as numbers in memory say, from a few of these clusters.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <functional>
#include <set>

#include "harness/problem/fill.hpp"
#include "ptx/parse/parse.hpp"
#include "tests/unit/timing/library.hpp"
#include "timing/dependence.hpp"
#include "timing/mixes.hpp"

namespace kiln::test::mixes_test {
namespace {

using timing::Mixes;
using timing::Tallies;
using timing::Work;

// Of 100 clusters: what all have, tiles, and rows of the tiles.
Tallies of_tiles() {
  Tallies t;
  for (std::uint32_t k = 0; k < 100; ++k) {
    const double tiles = 3 + k % 7, rows = 10 + k * 37 % 91;
    t.places.push_back(k), t.multiplies.push_back(k % 4 != 0);
    t.rows.push_back({500, tiles * 40, tiles * 8, rows * 2});
  }
  return t;
}

std::size_t run(Mixes& mixes, const std::function<double(std::uint32_t)>& cycles) {
  std::size_t ran = 0;
  for (; const auto place = mixes.next(); ++ran) mixes.add(*place, {cycles(*place), 1, 2, 3});
  return ran;
}

TEST_CASE("clusters whose time is made of what they do are known from one more than there are kinds of work") {
  const Tallies t = of_tiles();
  const auto cycles = [&](std::uint32_t k) { return 700 + 3 * t.rows[k][1] + 2 * t.rows[k][3]; };
  Mixes mixes(t, 32, true);
  CHECK(run(mixes, cycles) == 3 + 2);  // and two that show it
  double sum = 0;
  for (std::uint32_t k = 0; k < 100; ++k) {
    CHECK(mixes.of(k).cycles == doctest::Approx(cycles(k)).epsilon(1e-6));
    sum += cycles(k);
  }
  CHECK(mixes.mean_work().cycles == doctest::Approx(sum / 100));
  CHECK(mixes.mean_work().loaded == doctest::Approx(3));
  CHECK(mixes.multiplying() == doctest::Approx(0.75));
  Mixes unchecked(t, 2, false);
  CHECK(run(unchecked, cycles) == 2);
}

TEST_CASE("where time is not made of what they do more clusters run, the longest first") {
  const Tallies t = of_tiles();
  std::set<std::uint32_t> ran;
  const auto cycles = [&](std::uint32_t k) {
    ran.insert(k);
    return 700 + 3 * t.rows[k][1] + (k % 2 ? 900 : 0);
  };
  Mixes mixes(t, 32, true);
  CHECK(run(mixes, cycles) > 10);
  double longest = 0, known = 0;
  for (std::uint32_t k = 0; k < 100; ++k) longest = std::max(longest, cycles(k));
  for (std::uint32_t k = 0; k < 100; ++k) known = std::max(known, mixes.of(k).cycles);
  CHECK(known == doctest::Approx(longest).epsilon(0.02));
}

TEST_CASE("clusters that do the same are run once, and if there are few kinds all run") {
  Tallies t;
  for (std::uint32_t k = 0; k < 50; ++k) {
    t.places.push_back(2 * k), t.multiplies.push_back(true);
    t.rows.push_back({100, k % 3 == 0 ? 200.0 : 350.0, double(k % 5) * 70});
  }
  Mixes mixes(t, 32, true);
  CHECK(run(mixes, [](std::uint32_t) { return 1.0; }) == 10);
  CHECK(mixes.knows(98));
  CHECK_FALSE(mixes.knows(97));
}

ir::Module module_of(const std::string& ptx) {
  diag::Sink sink;
  ir::Module m = parse::parse(std::make_shared<const diag::Source>("test.ptx", ptx), sink);
  REQUIRE(!sink.has_errors());
  return m;
}

TEST_CASE(
    "what no branch, copy or barrier depends on can be left out, and so can stores that none of their loads reads") {
  const std::string text = kernel(
      "mov.u32 %r1, %tid.x; add.u32 %r2, %r1, 1; mul.f32 %f1, %f2, %f3; ld.global.u32 %r3, [%out];\n"
      "st.shared.u32 [used], %r1; st.shared.f32 [unused], %f1; ld.shared.u32 %r4, [used];\n"
      "setp.eq.u32 %p1, %r4, %r3; @%p1 bra END; st.global.u32 [%out+4], %r2; END:",
      ".shared .align 4 .b32 used; .shared .align 4 .b32 unused;\n");
  const ir::Module m = module_of(text);
  diag::Sink sink;
  for (const ir::Item& item : m.items) {
    const auto* f = std::get_if<ir::Function>(&item);
    if (!f || !f->body) continue;
    const std::vector<std::uint8_t> out = timing::decides_nothing(ir::decode(m, *f, sink));
    // The last store is to the buffer that a branch asks: it stays, with what it stores.
    CHECK(out == std::vector<std::uint8_t>{0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0});
  }
}

// Each CTA has as many tiles as its first number says; a tile has as many steps as the number says that it loads, and
// more in a CTA whose second number is not zero.
const std::string tiles_and_steps =
    "mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd1, %r1, 16; add.u64 %rd1, %rd1, %out;\n"
    "ld.global.u32 %r2, [%rd1]; ld.global.u32 %r3, [%rd1+4]; ld.global.u32 %r4, [%rd1+8];\n"
    "TILE: setp.eq.u32 %p1, %r2, 0; @%p1 bra END; mov.u32 %r5, %r3;\n"
    "STEP: mad.lo.u32 %r6, %r6, 3, 1; mad.lo.u32 %r6, %r6, 5, 1; sub.u32 %r5, %r5, 1; setp.gt.s32 %p1, %r5, 0;\n"
    "@%p1 bra STEP; setp.eq.u32 %p2, %r4, 0; @%p2 bra NEXT; sqrt.rn.f32 %f1, %f1; sqrt.rn.f32 %f1, %f1;\n"
    "NEXT: sub.u32 %r2, %r2, 1; bra TILE; END: st.global.u32 [%rd1+12], %r6;";

TEST_CASE("a grid of CTAs with nested loops as long as memory says is known from a few of them, within a percent") {
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t k = 0; k < 140; ++k)
    for (const std::uint32_t n : {5 + k * 7 % 11, 20 + k * 13 % 60, k % 3, 0u}) numbers.push_back(n);
  launch::Contract c = one_buffer(64, 140);
  c.buffers[0] = filled("out", numbers);
  diag::Sink sink;
  const ir::Module m = module_of(kernel(tiles_and_steps));
  const timing::Prediction p = timing::predict(m, c, b200(), {}, sink),
                           all = timing::predict(m, c, b200(), {.all = true}, sink);
  CHECK(all.launches.at(0).grid.ran == 140);
  CHECK(p.launches.at(0).grid.ran < 20);
  CHECK(p.launches.at(0).grid.mixed);
  CHECK(p.cycles.value == doctest::Approx(all.cycles.value).epsilon(0.01));
  CHECK(p.launches.at(0).grid.busy == doctest::Approx(all.launches.at(0).grid.busy).epsilon(0.01));
  CHECK_FALSE(sink.incomplete());
}

TEST_CASE("groups of rows as a list has them: a few CTAs tell what all do, within a percent") {
  struct Case {
    const char* name;
    std::uint64_t groups, m, n, k;
  };
  const timing::Chip h200 = harness::chip_of("h200");
  for (const Case& x :
       {Case{"gemm_grouped_wgmma", 5, 3000, 2048, 256}, Case{"gemm_e4m3_grouped_wgmma", 6, 3000, 1024, 384},
        Case{"attention_wgmma_varlen", 0, 900, 900, 0}}) {
    std::vector<std::pair<std::string, dsl::Size>> sizes{{"m", x.m}, {"n", x.n}};
    if (x.k) sizes.push_back({"k", x.k}), sizes.push_back({"groups", x.groups});
    if (!x.k) sizes.push_back({"batch", dsl::Size(std::uint64_t{7})});
    Subject s = subject_of(x.name, sizes, isa::sm_90a);
    for (launch::Buffer& b : s.contract.buffers)
      if (b.dtype == isa::ScalarType::u32) harness::fill(b);  // lists and where sequences begin
    const timing::Prediction p = prediction_of(s, h200), all = prediction_of(s, h200, {.all = true});
    const timing::GridWork &few = p.launches.at(0).grid, &every = all.launches.at(0).grid;
    INFO(fmt::format("{}: {} and {} clusters run, {} and {} cycles", x.name, few.ran, every.ran, few.cycles,
                     every.cycles));
    CHECK(few.ran * 3 < every.ran);
    CHECK(few.cycles == doctest::Approx(every.cycles).epsilon(0.01));
    CHECK(few.busy == doctest::Approx(every.busy).epsilon(0.01));
    CHECK(few.loaded == doctest::Approx(every.loaded).epsilon(0.01));
  }
}

}  // namespace
}  // namespace kiln::test::mixes_test

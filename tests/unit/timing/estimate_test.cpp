// The closed form that ranks strategies of GEMMs: it grows with the work, follows the chip, and chooses nearly as well
// as predictions of the kernels do.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "harness/chip/chip_json.hpp"
#include "tests/unit/timing/library.hpp"
#include "timing/estimate.hpp"

using namespace kiln;
using namespace kiln::timing;

namespace {

const dsl::Entry& row(std::string_view name) {
  for (const dsl::Entry& e : dsl::kernel_table())
    if (e.name == name) return e;
  FAIL("no kernel ", name);
  std::abort();
}

dsl::Sizes sizes_of(std::uint64_t m, std::uint64_t n, std::uint64_t k, std::uint64_t ctas = 148) {
  return {{"m", m}, {"n", n}, {"k", k}, {"ctas", ctas}};
}

std::vector<dsl::Candidate> all_of(std::string_view kernel, std::uint64_t m, std::uint64_t n, std::uint64_t k,
                                   isa::Target target = isa::sm_100a) {
  return row(kernel).candidates(target, sizes_of(m, n, k));
}

struct Choice {
  dsl::Candidate candidate{};
  double seconds = 0;
};

// A chip whose estimates are the closed form alone.
Chip uncorrected(const std::string& name) {
  Chip chip = harness::chip_of(name);
  chip.gemms.reset();
  return chip;
}

// The best first.
std::vector<Choice> ranked(std::string_view kernel, std::uint64_t m, std::uint64_t n, std::uint64_t k,
                           isa::Target target, const Chip& chip) {
  std::vector<Choice> all;
  for (dsl::Candidate& c : all_of(kernel, m, n, k, target)) {
    const double seconds = estimate(c.tiling, chip).seconds;
    all.push_back({std::move(c), seconds});
  }
  std::stable_sort(all.begin(), all.end(), [](const Choice& x, const Choice& y) { return x.seconds < y.seconds; });
  return all;
}

double predicted(std::string_view kernel, std::uint64_t m, std::uint64_t n, std::uint64_t k, const Choice& c,
                 isa::Target target, const Chip& chip) {
  dsl::Sizes sizes = sizes_of(m, n, k, resident_ctas(chip, c.candidate.tiling.ctas));
  for (const auto& [option, value] : c.candidate.strategy) sizes[std::string(option)] = value;
  std::vector<std::pair<std::string, dsl::Size>> listed(sizes.begin(), sizes.end());
  return test::prediction_of(test::subject_of(kernel, listed, target), chip).seconds.value;
}

}  // namespace

TEST_CASE("an estimate grows with every extent") {
  const Chip chip = test::b200();
  const auto small = all_of("gemm_f16", 512, 768, 1024);
  for (const auto& [m, n, k] : {std::array{1024, 768, 1024}, std::array{512, 1536, 1024}, std::array{512, 768, 2048}}) {
    // Larger ones have strategies of their own, too: bands of as many rows of tiles.
    std::map<std::string, launch::Tiling> large;
    for (const dsl::Candidate& c : all_of("gemm_f16", std::uint64_t(m), std::uint64_t(n), std::uint64_t(k)))
      large.emplace(dsl::text(c.strategy), c.tiling);
    for (const dsl::Candidate& c : small) {
      REQUIRE(large.contains(dsl::text(c.strategy)));
      const Estimate less = estimate(c.tiling, chip), more = estimate(large.at(dsl::text(c.strategy)), chip);
      CHECK(more.cycles >= less.cycles);
      if (k > 1024) CHECK(more.cycles > less.cycles);
    }
  }
}

TEST_CASE("an estimate is longer on a chip whose facts are at their slow end") {
  const Chip chip = test::b200(), slow = bent(chip, true), fast = bent(chip, false);
  for (const dsl::Candidate& c : all_of("gemm_f16", 4096, 4096, 4096)) {
    const double cycles = estimate(c.tiling, chip).cycles;
    CHECK(estimate(c.tiling, slow).cycles > cycles);
    CHECK(estimate(c.tiling, fast).cycles < cycles);
  }
}

TEST_CASE("an estimate is never below the tensor core's and HBM's own time") {
  const Chip chip = test::b200();
  for (const auto& [m, n, k] :
       {std::array{128, 4096, 4096}, std::array{4096, 4096, 4096}, std::array{8192, 8192, 8192}})
    for (const dsl::Candidate& c : all_of("gemm_f16", std::uint64_t(m), std::uint64_t(n), std::uint64_t(k))) {
      const launch::Tiling& t = c.tiling;
      const Estimate e = estimate(t, chip);
      const double mmas = double(t.m) * double(t.n) * double(t.k) / (double(t.rows) * t.columns * 16);
      const double interval = mma_time(chip, t.kind, false, t.ctas, t.rows, t.columns).interval;
      CHECK(e.cycles >= mmas * interval * t.ctas / chip[FactId::sms]);
      CHECK(e.seconds >= double(t.m + t.n) * double(t.k) * 2 / (chip[FactId::hbm_rate] * 1e9));
      CHECK(e.clock <= chip[FactId::load_clock]);
    }
}

TEST_CASE("persistent kernels are launched with as many CTAs as the chip holds") {
  CHECK(resident_ctas(test::b200(), 1) == 148);
  CHECK(resident_ctas(test::b200(), 2) == 148);
  CHECK(resident_ctas(test::b200(), 4) == 140);
  CHECK(resident_ctas(test::b200(), 8) == 136);  // no more than find room by fours
}

TEST_CASE("the strategy with the least estimate takes at most 8 % more than the best that is predicted") {
  struct Shape {
    std::uint64_t m, n, k;
    std::size_t beside;  // predictions: the first ones, and others spread over the better half
  };
  const Chip chip = test::b200();
  for (const Shape& s :
       {Shape{128, 4096, 1024, 8}, Shape{1000, 1000, 1000, 8}, Shape{256, 256, 4096, 8}, Shape{1024, 2048, 512, 8}}) {
    CAPTURE(s.m);
    CAPTURE(s.n);
    CAPTURE(s.k);
    const auto all = ranked("gemm_f16", s.m, s.n, s.k, isa::sm_100a, chip);
    const double chosen = predicted("gemm_f16", s.m, s.n, s.k, all.front(), isa::sm_100a, chip);
    double best = chosen;
    for (std::size_t i = 1; i <= s.beside; ++i) {
      const std::size_t near = i * 4, far = i * all.size() / (2 * s.beside);
      for (const std::size_t at : {near, far})
        best =
            std::min(best, predicted("gemm_f16", s.m, s.n, s.k, all[std::min(at, all.size() - 1)], isa::sm_100a, chip));
    }
    CHECK(chosen <= 1.08 * best);
    CHECK(all.front().seconds > 0.8 * chosen);  // and the estimate itself is near
    CHECK(all.front().seconds < 1.2 * chosen);
  }
}

TEST_CASE("on Hopper few CTAs with all their slots on the way do not get what HBM gives all of them") {
  const Chip chip = uncorrected("h200");
  const auto with_splits = [&](std::uint64_t splits) {
    dsl::Sizes sizes = sizes_of(16, 4096, 4096, 132);
    sizes.insert({{"tile", {128, 32, 128}}, {"swap-operands", 1}, {"splits", splits}, {"all-add", 0}});
    const auto all = row("gemm_bf16_kept").candidates(isa::sm_90a, sizes);
    REQUIRE_FALSE(all.empty());
    return estimate(all.front().tiling, chip).seconds;
  };
  CHECK(with_splits(4) < with_splits(1));  // 128 CTAs, and 32: measured 13.9 and 19.7 us
}

TEST_CASE("on Hopper the estimate orders strategies as an H200 did") {
  const Chip chip = uncorrected("h200");
  const auto seconds = [&](std::array<std::uint64_t, 3> shape, const dsl::Sizes& options) {
    dsl::Sizes sizes = sizes_of(shape[0], shape[1], shape[2], 132);
    sizes.insert(options.begin(), options.end());
    const auto all = row("gemm_bf16_kept").candidates(isa::sm_90a, sizes);
    REQUIRE_FALSE(all.empty());
    return estimate(all.front().tiling, chip).seconds;
  };
  const dsl::Sizes stored_by_multipliers{{"cta-group", 1}, {"tma-store", 1}, {"storers", 1}, {"rows-together", 0}};
  const auto with_tile = [](dsl::Sizes options, const dsl::Size& tile) {
    options.insert_or_assign("tile", tile);
    return options;
  };
  // Narrow tiles, of which all CTAs share A: HBM gives it once. Measured 22.9 and 26.0 us.
  CHECK(seconds({128, 4096, 7168}, with_tile(stored_by_multipliers, {128, 32, 64})) <
        seconds({128, 4096, 7168}, with_tile(stored_by_multipliers, {128, 64, 64})));
  // A tile's 32 rows of A that are not there, and none where operands are swapped. Measured 36.3 and 29.5 us.
  const dsl::Sizes swapped{{"tile", {128, 96, 64}}, {"cta-group", 1}, {"swap-operands", 1}};
  CHECK(seconds({96, 12288, 4096}, swapped) <
        seconds({96, 12288, 4096}, with_tile(stored_by_multipliers, {128, 128, 64})));
  // Two columns of tiles read each row of A: side by side, or 64 CTAs apart. Measured 22.8 and 28.6 us.
  const auto in_bands = [&](std::uint64_t rows) {
    dsl::Sizes options = with_tile(stored_by_multipliers, {128, 64, 64});
    options.insert_or_assign("rows-together", rows);
    return seconds({8192, 128, 4096}, options);
  };
  CHECK(in_bands(1) < 0.85 * in_bands(0));
  // The second column has 64 rows of B that are not there. Measured 24.6 and 39.4 us.
  const dsl::Sizes side_by_side{{"cta-group", 1}, {"tma-store", 1}, {"storers", 1}, {"rows-together", 1}};
  CHECK(seconds({8192, 192, 4096}, with_tile(side_by_side, {128, 96, 64})) <
        0.85 * seconds({8192, 192, 4096}, with_tile(side_by_side, {128, 128, 64})));
  // Every tile has rows of B that are not there: 28, and 92. Measured 29.2 and 42.7 us.
  const dsl::Sizes narrow{{"tile", {128, 32, 64}}, {"cta-group", 1}, {"swap-operands", 1}, {"splits", 1}};
  CHECK(seconds({4, 11008, 4096}, narrow) < 0.8 * seconds({4, 11008, 4096}, with_tile(narrow, {128, 96, 64})));
}

TEST_CASE("many parts that all CTAs add take less than those that the last one adds") {
  const Chip chip = uncorrected("h200");
  launch::Tiling t;
  t.m = t.n = 256, t.k = 65536, t.rows = 256, t.columns = 128, t.ctas = 2, t.stages = 6;
  t.slot_bytes = 24576, t.slot_rows = 192, t.most_ctas = 132, t.splits = 32;
  launch::Tiling all = t;
  all.all_add = true;
  CHECK(estimate(all, chip).seconds < 0.9 * estimate(t, chip).seconds);
}

TEST_CASE("CTAs that share the K of the last tiles gain what the last round leaves idle, less what parts take") {
  const Chip chip = uncorrected("h200");
  launch::Tiling t;
  t.m = 2816, t.n = 2048, t.k = 8192, t.rows = 128, t.columns = 256, t.stages = 4, t.accumulators = 2;
  t.slot_bytes = 49152, t.slot_rows = 384, t.most_ctas = 132, t.store_columns = 64;
  t.stores_by_copy = t.multipliers_store = true;  // 176 tiles: 1.33 rounds
  launch::Tiling shared = t;
  shared.stream_k = true;
  const double whole = estimate(t, chip).seconds, less = estimate(shared, chip).seconds;
  CHECK(less < 0.85 * whole);
  CHECK(less > 1.33 / 2 * whole);
  // A round that is full: nothing is shared.
  t.m = shared.m = 12 * 128, t.n = shared.n = 11 * 256;
  CHECK(estimate(shared, chip).seconds == doctest::Approx(estimate(t, chip).seconds));
}

TEST_CASE("a GPU that was measured corrects its estimates, and other chips have the closed form") {
  const Chip form = uncorrected("h200"), h200 = harness::chip_of("h200");
  for (const dsl::Candidate& c : row("gemm_bf16_kept").candidates(isa::sm_90a, sizes_of(256, 4096, 4096, 132))) {
    const Estimate plain = estimate(c.tiling, form), corrected = estimate(c.tiling, h200);
    CHECK(plain.seconds == plain.form_seconds());
    CHECK(corrected.form_seconds() == plain.form_seconds());
    CHECK(corrected.seconds == plain.seconds * h200.gemms->factor(plain.traits));
  }
  CHECK_FALSE(harness::chip_of("h100").gemms);
  CHECK_FALSE(harness::chip_of("b200").gemms);
}

TEST_CASE("strategies that no measurement had are not corrected") {
  dsl::Sizes sizes = sizes_of(2816, 2048, 8192, 132);
  sizes.insert({"stream-k", 1});
  for (const dsl::Candidate& c : row("gemm_bf16_kept").candidates(isa::sm_90a, sizes))
    CHECK(estimate(c.tiling, harness::chip_of("h200")).seconds == estimate(c.tiling, uncorrected("h200")).seconds);
}

// Whole grids from a few clusters, against runs of all of them.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>

#include "tests/unit/timing/library.hpp"
#include "timing/grid.hpp"

namespace kiln::test::grid_test {
namespace {

timing::Sample sampled(launch::Dim3 extents, double (*cycles)(std::uint32_t)) {
  timing::Sample s(extents, false);
  while (const auto next = s.next()) s.add(*next, {cycles(*next), 0});
  return s;
}

TEST_CASE("clusters that are alike are asked for four times on an axis") {
  const timing::Sample s = sampled({1000, 1, 1}, [](std::uint32_t) { return 500.0; });
  CHECK(s.size() == 4);
  CHECK(s.of(777).cycles == 500);
}

TEST_CASE("a step and a slope are found, and two axes combine") {
  const timing::Sample step = sampled({74, 1, 1}, [](std::uint32_t n) { return n < 34 ? 400.0 : 300.0; });
  double sum = 0;
  for (std::uint32_t k = 0; k < 74; ++k) sum += step.of(k).cycles;
  CHECK(sum == doctest::Approx(34 * 400 + 40 * 300).epsilon(0.01));
  const timing::Sample slope =
      sampled({64, 8, 1}, [](std::uint32_t n) { return (100.0 + n % 64) * (n >= 64 * 7 ? 0.5 : 1); });
  CHECK(slope.size() < 20);
  CHECK(slope.of(30).cycles == doctest::Approx(130));
  CHECK(slope.of(64 * 7 + 30).cycles == doctest::Approx(65));
}

TEST_CASE("where clusters count those before them, all of the axis that starts last run in their order") {
  timing::Sample s({3, 5, 8}, false);
  s.take_all_of_last_axis();
  std::vector<std::uint32_t> parts;
  while (const auto next = s.next()) {
    if (*next % 15 == 0) parts.push_back(*next);
    s.add(*next, {*next == 105 ? 900.0 : 100.0, 0});
  }
  CHECK(parts == std::vector<std::uint32_t>{0, 15, 30, 45, 60, 75, 90, 105});
  CHECK(s.of_last_wave() == parts);
  CHECK(s.of(7 + 105).cycles == doctest::Approx(900));  // the sums of the other tiles are the last parts' too
  CHECK(timing::Sample({3, 5, 8}, false).of_last_wave() == std::vector<std::uint32_t>{0});
}

TEST_CASE("of clusters that count none is left out on an axis of their own, or it is said") {
  timing::Sample many({2, 2, 64}, false);
  many.take_all_of_last_axis();
  // The last of them adds what the others have made.
  while (const auto next = many.next()) many.add(*next, {*next / 4 == 63 ? 900.0 : 200.0, 0});
  CHECK(many.of(63 * 4).cycles == 900);
  CHECK(many.of(62 * 4).cycles == 200);
  CHECK_FALSE(many.left_out());
  timing::Sample more({2, 2, 1000}, false);
  more.take_all_of_last_axis();
  CHECK(more.left_out());
}

TEST_CASE("where numbers in memory decide, all places of the axes that matter run, or so many, spread over all") {
  const auto work = [](std::uint32_t n) { return double(100 + 37 * (n % 10) * (n / 50) % 91); };
  timing::Sample s({10, 5, 4}, false);
  s.take_all_of({true, false, true}, 40);
  while (const auto next = s.next()) s.add(*next, {work(*next), 0});
  CHECK_FALSE(s.left_out());
  CHECK(s.size() >= 40);
  for (std::uint32_t z = 0; z < 4; ++z)
    for (std::uint32_t x = 0; x < 10; ++x) CHECK(s.of(x + 30 + 50 * z).cycles == doctest::Approx(work(x + 50 * z)));
  timing::Sample few({1000, 1, 1}, false);
  few.take_all_of({true, false, false}, 50);
  while (const auto next = few.next()) few.add(*next, {double(*next), 0});
  CHECK(few.left_out());
  CHECK(few.size() == 50);
  double sum = 0;
  for (std::uint32_t k = 0; k < 1000; ++k) sum += few.of(k).cycles;
  CHECK(sum / 1000 == doctest::Approx(499.5).epsilon(0.05));
}

TEST_CASE("the dispatcher starts a cluster where one has ended, so long ones at the end make a tail") {
  const timing::Sample rising = sampled({5, 1, 1}, [](std::uint32_t n) { return 100.0 * (n + 1); });
  // 0, 2 and 4 on one SM, 1 and 3 on the other
  CHECK(timing::dispatch(rising, 5, 2, 10, 1).cycles == doctest::Approx(100 + 300 + 500 + 2 * 10));
  CHECK(timing::dispatch(rising, 5, 2, 10, 0.5).cycles == doctest::Approx(100 + 300 + 250 + 2 * 10));
}

// A chip of few SMs has waves and a tail with little to run.
timing::Chip few_sms() {
  timing::Chip chip = b200();
  const auto set = [&](timing::FactId fact, double value) { chip.values[std::size_t(fact)].value = value; };
  set(timing::FactId::sms, 10), set(timing::FactId::clusters_of_2, 5);
  return chip;
}

TEST_CASE("a few clusters tell what all do within 2 percent: causal attention, ragged and persistent GEMMs") {
  const auto within = [](const std::string& name, std::initializer_list<std::pair<std::string, dsl::Size>> sizes) {
    const Subject s = subject_of(name, sizes);
    const timing::Prediction some = prediction_of(s, few_sms()), all = prediction_of(s, few_sms(), {.all = true});
    const timing::GridWork& grid = all.launches.at(0).grid;
    const double error = some.cycles.value / all.cycles.value - 1;
    MESSAGE(
        fmt::format("{}: {} of {} clusters run: {:+.2f} %", name, some.launches.at(0).grid.ran, grid.ran, 100 * error));
    CHECK(grid.ran == all.launches.at(0).cluster.clusters);
    CHECK(std::abs(error) <= 0.02);
  };
  within("attention_causal", {{"m", 4096}, {"n", 4096}});
  within("attention", {{"m", 3000}, {"n", 1024}});
  within("gemm_v4", {{"m", 3000}, {"n", 2904}, {"k", 512}});
  within("gemm_v6", {{"m", 2560}, {"n", 2048}, {"k", 1024}, {"ctas", 10}});
}

TEST_CASE("a causal mask makes clusters differ, the first the longest, and the grid is told by all of them") {
  const Subject s = subject_of("attention_causal", {{"m", 4096}, {"n", 4096}});
  const timing::LaunchTime wide = prediction_of(s).launches.at(0), few = prediction_of(s, few_sms()).launches.at(0);
  CHECK(wide.grid.kinds > 4);
  CHECK(wide.cycles.value < 1.1 * wide.cluster.cycles);  // all run at once, and the others end before the first
  CHECK(few.cycles.value > 1.5 * few.cluster.cycles);    // 32 on ten SMs, half as long on average: four waves of the
  CHECK(few.cycles.value < 2.5 * few.cluster.cycles);    // first would be twice that
}

}  // namespace
}  // namespace kiln::test::grid_test

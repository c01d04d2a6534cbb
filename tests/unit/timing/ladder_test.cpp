// The published ladder: predictions beside the figures of gau-nernst, "tcgen05 for dummies" (December 2025), for a B200
// in a cloud, bf16, M = N = K = 4096. Nothing in a chip file was fitted to them.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "tests/unit/timing/library.hpp"

namespace kiln::test::ladder_test {
namespace {

constexpr std::int64_t extent = 4096;
constexpr double operations = 2.0 * extent * extent * extent;

struct Rung {
  const char* kernel = "";
  double teraflops = 0;  // published
};
constexpr Rung rungs[] = {{"gemm_v1a", 254.62}, {"gemm_v1b", 252.81}, {"gemm_v2a", 681.20}, {"gemm_v2b", 695.43},
                          {"gemm_v3", 939.61},  {"gemm_v4", 1208.83}, {"gemm_v5", 1302.29}, {"gemm_v6", 1475.93}};

TEST_CASE("each rung of the published ladder is predicted within 10 percent, at the clock of the chip's law") {
  double sum = 0;
  std::vector<std::pair<double, double>> both;
  for (const Rung& rung : rungs) {
    const timing::Prediction p = prediction_of(subject_of(rung.kernel, {{"m", extent}, {"n", extent}, {"k", extent}}));
    const double teraflops = operations / p.seconds.value * 1e-12, error = rung.teraflops / teraflops - 1;
    MESSAGE(fmt::format(
        "{}: {:.0f} cycles at {:.2f} GHz, {:.0f} TFLOP/s predicted, {:.0f} published: the time is {:+.1f} %",
        rung.kernel, p.cycles.value, p.clock, teraflops, rung.teraflops, 100 * error));
    CHECK(std::abs(error) <= 0.10);
    sum += std::abs(error);
    both.emplace_back(teraflops, rung.teraflops);
  }
  MESSAGE(fmt::format("{:.1f} % off on average", 100 * sum / double(std::size(rungs))));
  // The order: where one was published as faster by 3 percent or more, it is predicted so. Less is no difference: the
  // same kernels ran 10 to 14 percent apart on two machines of that cloud.
  for (const auto& [x, published_x] : both)
    for (const auto& [y, published_y] : both)
      if (published_x > 1.03 * published_y) CHECK(x > y);
}

}  // namespace
}  // namespace kiln::test::ladder_test

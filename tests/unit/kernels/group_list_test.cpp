// In which order the list of groups' rows of tiles has them.
#include <doctest/doctest.h>

#include <vector>

#include "kernels/group_list.hpp"

using kiln::kernels::Dealt;
using kiln::kernels::group_list;
using kiln::kernels::GroupRows;

namespace {

// The group of each row of tiles, or another word of its entry.
std::vector<double> words(const std::vector<double>& list, std::size_t word) {
  std::vector<double> out;
  for (std::size_t i = word; i < list.size(); i += 3) out.push_back(list[i]);
  return out;
}

// Groups of that many rows, one after the other.
std::vector<GroupRows> after_another(const std::vector<double>& rows) {
  std::vector<GroupRows> out;
  for (double r : rows) out.push_back({out.empty() ? 0 : out.back().first + out.back().rows, r});
  return out;
}

}  // namespace

TEST_CASE("a list of rows of tiles has the rows of a group that are left from the tile's first on") {
  const std::vector<double> list = group_list(after_another({300, 0, 5}), 128);
  CHECK(words(list, 0) == std::vector<double>{0, 128, 256, 300});
  CHECK(words(list, 1) == std::vector<double>{300, 172, 44, 5});
  CHECK(words(list, 2) == std::vector<double>{0, 0, 0, 2});
}

TEST_CASE("rows of tiles are listed in bands of eight that are of few groups, what fills no band last") {
  // 1, 3, 10, 5 and 7 rows of tiles: eight of the third; 7 + 1; 5 + 3; what is left of the third.
  const std::vector<double> list = group_list(after_another({100, 384, 1280, 640, 800}), 128);
  CHECK(words(list, 2) == std::vector<double>{2, 2, 2, 2, 2, 2, 2, 2, 4, 4, 4, 4, 4, 4, 4, 0,
                                              3, 3, 3, 3, 3, 1, 1, 1, 2, 2});
}

TEST_CASE("groups may have room of their own: what follows their rows is in no list") {
  const std::vector<double> list = group_list({{0, 130}, {1000, 0}, {2000, 7}}, 128);
  CHECK(list == std::vector<double>{0, 130, 0, 128, 2, 0, 2000, 7, 2});
}

TEST_CASE("rows of tiles with few rows are spread over a band's places, those that are 4 apart together") {
  // Two bands of eight: a group of five rows of tiles and three small groups, twice. In order the small ones stand last.
  const auto groups = after_another({960, 20, 20, 20, 960, 20, 20, 20});
  const std::vector<double> in_order = words(group_list(groups, 192), 1);
  const Dealt dealt{132, 32};
  const std::vector<double> spread = words(group_list(groups, 192, &dealt), 1);
  const auto work = [](const std::vector<double>& rows, std::size_t place) {
    double sum = 0;
    for (std::size_t i = place; i < rows.size(); i += 4) sum += rows[i] > 128 ? 3 : rows[i] > 64 ? 2 : 1;
    return sum;
  };
  REQUIRE(spread.size() == 16);
  CHECK(work(in_order, 0) == 12);  // of 36, a quarter is 9
  CHECK(work(in_order, 3) == 8);
  for (std::size_t place = 0; place < 4; ++place) {
    CHECK(work(spread, place) >= 8);
    CHECK(work(spread, place) <= 10);
  }
}

TEST_CASE("what fills no band are rows of tiles with few rows where the CTA that copies the most has less so") {
  // 25 rows of tiles, of which one is left: with 32 columns some CTAs have a seventh tile.
  const auto groups = after_another({1024, 878, 732, 586, 439, 293, 147});
  const Dealt dealt{132, 32}, one_round{800, 32};
  CHECK(words(group_list(groups, 192, &dealt), 1).back() <= 64);
  CHECK(words(group_list(groups, 192, &one_round), 1).back() == 147);  // a tile a CTA: nothing is gained
}

TEST_CASE("no rows, no list") {
  CHECK(group_list({}, 128).empty());
  const Dealt dealt{132, 32};
  CHECK(group_list({}, 128, &dealt).empty());
  CHECK(group_list(after_another({0, 0}), 128).empty());
}

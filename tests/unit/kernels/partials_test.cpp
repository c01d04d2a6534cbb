// How many parts of a tile's K become one sum.
#include <doctest/doctest.h>

#include <vector>

#include "kernels/partials.hpp"
#include "launch/tiling.hpp"

using kiln::kernels::PartGroups;
using kiln::launch::shared_tiles;

TEST_CASE("few parts are added in a row, many in groups, of which each has a block and counters beside the parts") {
  const PartGroups few(8), many(33);
  CHECK(few.is_one());
  CHECK(few.blocks() == 8);
  CHECK(few.counters() == 1);
  CHECK(many.of_group == 6);
  CHECK(many.groups() == 6);
  CHECK(many.blocks() == 39);
  CHECK(many.counters() == 7);
}

TEST_CASE("parts that all CTAs add have no groups") {
  const PartGroups all(33, true);
  CHECK(all.is_one());
  CHECK(all.blocks() == 33);
  CHECK(all.counters() == 1);
}

TEST_CASE("every part is in one group, no group is empty, and no CTA reads nearly all") {
  for (int splits = 1; splits <= 200; ++splits) {
    CAPTURE(splits);
    const PartGroups of(splits);
    std::vector<int> parts(std::size_t(of.groups()));
    for (int part = 0; part < splits; ++part) ++parts.at(std::size_t(part / of.of_group));
    for (const int n : parts) CHECK(n > 0);
    if (splits > 8) CHECK(of.of_group + of.groups() <= 2 * splits / 3 + 1);
  }
}

TEST_CASE("CTAs share the K of the tiles that fill no whole round, and where these are few of a round more") {
  CHECK(shared_tiles(1, 132, 64) == 1);
  CHECK(shared_tiles(131, 132, 64) == 131);
  CHECK(shared_tiles(132, 132, 64) == 0);
  CHECK(shared_tiles(264, 132, 64) == 0);
  CHECK(shared_tiles(5 * 132 + 44, 132, 64) == 44);
  CHECK(shared_tiles(133, 132, 64) == 133);
  CHECK(shared_tiles(132 + 20, 132, 4) == 152);  // each CTA would have no block
}

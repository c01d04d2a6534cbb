#include "kernels/group_list.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>

namespace kiln::kernels {

namespace {

struct RowTile {
  double first, rows, group;
};
using RowTiles = std::vector<RowTile>;

constexpr std::size_t together = ListedTiles::together;

// Blocks of 64 rows that a tile multiplies.
double blocks(const RowTile& t, int tile_rows) { return std::ceil(std::min(t.rows, double(tile_rows)) / isa::wgmma_m); }

// Puts the rows of tiles of each band, those with the most blocks first, where CTAs have had the fewest. Of 132 CTAs, 4
// more than a multiple of a band's eight, each has the tiles of two places of a band by turns, which are 4 apart.
RowTiles spread(RowTiles list, int tile_rows) {
  std::array<double, together> had{};  // of each place
  const auto had_by_both = [&](std::size_t place) {
    return std::pair(had[place] + had[(place + together / 2) % together], had[place]);
  };
  for (std::size_t first = 0; first < list.size(); first += together) {
    const auto begin = list.begin() + std::ptrdiff_t(first);
    RowTiles band(begin, begin + std::ptrdiff_t(std::min(together, list.size() - first)));
    std::ranges::stable_sort(band, std::greater(), [&](const RowTile& t) { return blocks(t, tile_rows); });
    std::vector<std::size_t> free(band.size());
    std::iota(free.begin(), free.end(), 0u);
    for (const RowTile& tile : band) {
      const auto place = std::ranges::min_element(free, {}, had_by_both);
      list[first + *place] = tile;
      had[*place] += blocks(tile, tile_rows);
      free.erase(place);
    }
  }
  return list;
}

// The same rows of tiles; where the last band is not full, it has those with the fewest blocks.
RowTiles with_few_last(RowTiles list, int tile_rows) {
  const auto of = [&](const RowTile& t) { return blocks(t, tile_rows); };
  const auto last = list.end() - std::ptrdiff_t(list.size() % together);
  for (auto place = last; place != list.end(); ++place) {
    const auto fewest = std::min_element(std::reverse_iterator(last), list.rend(),
                                         [&](const RowTile& x, const RowTile& y) { return of(x) < of(y); });
    if (fewest != list.rend() && of(*fewest) < of(*place)) std::swap(*fewest, *place);
  }
  return list;
}

// Blocks of A and B that the CTA with the most copies for a block of K of its tiles. The B of a tile is two.
double longest(const RowTiles& list, int tile_rows, const Dealt& dealt) {
  const std::uint64_t tiles = list.size() * dealt.columns;
  std::vector<double> copied(std::max<std::uint64_t>(1, std::min(dealt.ctas, tiles)));
  std::uint64_t tile = 0;
  for (std::size_t first = 0; first < list.size(); first += together) {
    const std::size_t end = std::min(first + together, list.size());
    for (std::uint64_t column = 0; column < dealt.columns; ++column)
      for (std::size_t row = first; row < end; ++row)
        copied[tile++ % copied.size()] += blocks(list[row], tile_rows) + 2;
  }
  return *std::ranges::max_element(copied);
}

RowTiles in_bands(const std::vector<GroupRows>& groups, int tile_rows) {
  std::vector<RowTiles> bands, rests;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    RowTiles rest;
    for (double row = 0; row < groups[g].rows; row += tile_rows) {
      rest.push_back({groups[g].first + row, groups[g].rows - row, double(g)});
      if (rest.size() == together) bands.push_back(std::exchange(rest, {}));
    }
    if (!rest.empty()) rests.push_back(std::move(rest));
  }
  std::stable_sort(rests.begin(), rests.end(), [](const auto& x, const auto& y) { return x.size() > y.size(); });
  for (const RowTiles& rest : rests) {
    const auto has_room = [&](const RowTiles& band) { return band.size() + rest.size() <= together; };
    auto band = std::find_if(bands.begin(), bands.end(), has_room);
    if (band == bands.end()) band = bands.insert(band, RowTiles{});
    band->insert(band->end(), rest.begin(), rest.end());
  }
  // Those that are not full are the last: a kernel counts in eights.
  std::stable_partition(bands.begin(), bands.end(), [](const RowTiles& band) { return band.size() == together; });
  RowTiles list;
  for (const RowTiles& band : bands) list.insert(list.end(), band.begin(), band.end());
  return list;
}

}  // namespace

std::vector<double> group_list(const std::vector<GroupRows>& groups, int tile_rows, const Dealt* dealt) {
  RowTiles list = in_bands(groups, tile_rows);
  if (dealt) {
    RowTiles few_last = spread(with_few_last(list, tile_rows), tile_rows);
    list = spread(std::move(list), tile_rows);
    if (longest(few_last, tile_rows, *dealt) < longest(list, tile_rows, *dealt)) list = std::move(few_last);
  }
  std::vector<double> words;
  for (const RowTile& tile : list) words.insert(words.end(), {tile.first, tile.rows, tile.group});
  return words;
}

namespace {

// There may be `most` rows of tiles.
std::uint64_t add_list(launch::Contract& c, const std::vector<GroupRows>& groups, std::uint64_t most, int tile_rows,
                       const Dealt* dealt) {
  std::vector<double> tiles = group_list(groups, tile_rows, dealt);
  const double count = double(tiles.size() / ListedTiles::entry_words);
  tiles.resize(most * ListedTiles::entry_words);
  const auto add = [&](const char* name, const std::vector<double>& values) {
    add_workspace(c, name, isa::ScalarType::u32, values.size(), launch::Init::Kind::values).init.values = values;
  };
  add("tiles", tiles);
  add("count", {count});
  return most;
}

}  // namespace

std::uint64_t add_group_list(launch::Contract& c, std::uint64_t m, std::uint64_t groups, int tile_rows,
                             const Dealt* dealt) {
  std::vector<GroupRows> rows;
  for (double end : ends_of(m, groups)) {
    const double first = rows.empty() ? 0 : rows.back().first + rows.back().rows;
    rows.push_back({first, end - first});
  }
  return add_list(c, rows, most_row_tiles(m, groups, tile_rows), tile_rows, dealt);
}

std::uint64_t add_masked_list(launch::Contract& c, std::uint64_t m, std::uint64_t groups, int tile_rows,
                              const Dealt* dealt) {
  std::vector<GroupRows> rows;
  for (double length : lengths_of(m, groups)) rows.push_back({double(m * rows.size()), length});
  return add_list(c, rows, groups * pieces(m, std::uint64_t(tile_rows)), tile_rows, dealt);
}

}  // namespace kiln::kernels

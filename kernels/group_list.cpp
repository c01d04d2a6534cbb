#include "kernels/group_list.hpp"

#include <algorithm>
#include <utility>

namespace kiln::kernels {

namespace {

struct RowTile {
  double first, rows, group;
};
using RowTiles = std::vector<RowTile>;

}  // namespace

std::vector<double> group_list(const std::vector<GroupRows>& groups, int tile_rows) {
  constexpr std::size_t most = ListedTiles::together;
  std::vector<RowTiles> bands, rests;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    RowTiles rest;
    for (double row = 0; row < groups[g].rows; row += tile_rows) {
      rest.push_back({groups[g].first + row, groups[g].rows - row, double(g)});
      if (rest.size() == most) bands.push_back(std::exchange(rest, {}));
    }
    if (!rest.empty()) rests.push_back(std::move(rest));
  }
  std::stable_sort(rests.begin(), rests.end(), [](const auto& x, const auto& y) { return x.size() > y.size(); });
  for (const RowTiles& rest : rests) {
    const auto has_room = [&](const RowTiles& band) { return band.size() + rest.size() <= most; };
    auto band = std::find_if(bands.begin(), bands.end(), has_room);
    if (band == bands.end()) band = bands.insert(band, RowTiles{});
    band->insert(band->end(), rest.begin(), rest.end());
  }
  // Those that are not full are the last: a kernel counts in eights.
  std::stable_partition(bands.begin(), bands.end(), [](const RowTiles& band) { return band.size() == most; });
  std::vector<double> list;
  for (const RowTiles& band : bands)
    for (const RowTile& tile : band) list.insert(list.end(), {tile.first, tile.rows, tile.group});
  return list;
}

namespace {

// "tiles" and "count"; there may be so many rows of tiles.
void add_list(launch::Contract& c, const std::vector<GroupRows>& groups, std::uint64_t row_tiles, int tile_rows) {
  std::vector<double> tiles = group_list(groups, tile_rows);
  const double count = double(tiles.size() / ListedTiles::entry_words);
  tiles.resize(row_tiles * ListedTiles::entry_words);
  add_workspace(c, "tiles", isa::ScalarType::u32, tiles.size(), launch::Init::Kind::values).init.values = tiles;
  add_workspace(c, "count", isa::ScalarType::u32, 1, launch::Init::Kind::values).init.values = {count};
}

}  // namespace

std::uint64_t add_group_list(launch::Contract& c, std::uint64_t m, std::uint64_t groups, int tile_rows) {
  const std::vector<double> ends = ends_of(m, groups);
  std::vector<GroupRows> rows;
  for (double end : ends) {
    const double first = rows.empty() ? 0 : rows.back().first + rows.back().rows;
    rows.push_back({first, end - first});
  }
  const std::uint64_t row_tiles = most_row_tiles(m, groups, tile_rows);
  add_workspace(c, "ends", isa::ScalarType::u32, groups, launch::Init::Kind::values).init.values = ends;
  add_list(c, rows, row_tiles, tile_rows);
  return row_tiles;
}

std::uint64_t add_masked_list(launch::Contract& c, std::uint64_t m, std::uint64_t groups, int tile_rows) {
  const std::vector<double> lengths = lengths_of(m, groups);
  std::vector<GroupRows> rows;
  for (double length : lengths) rows.push_back({double(m * rows.size()), length});
  const std::uint64_t row_tiles = groups * pieces(m, std::uint64_t(tile_rows));
  add_workspace(c, "lengths", isa::ScalarType::u32, groups, launch::Init::Kind::values).init.values = lengths;
  add_list(c, rows, row_tiles, tile_rows);
  return row_tiles;
}

}  // namespace kiln::kernels

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

std::vector<double> group_list(const std::vector<double>& ends, int tile_rows) {
  constexpr std::size_t most = ListedTiles::together;
  std::vector<RowTiles> bands, rests;
  for (std::size_t g = 0; g < ends.size(); ++g) {
    RowTiles rest;
    for (double row = g == 0 ? 0 : ends[g - 1]; row < ends[g]; row += tile_rows) {
      rest.push_back({row, ends[g] - row, double(g)});
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

std::uint64_t add_group_list(launch::Contract& c, std::uint64_t m, std::uint64_t groups, int tile_rows) {
  const std::vector<double> ends = ends_of(m, groups);
  std::vector<double> tiles = group_list(ends, tile_rows);
  const std::uint64_t row_tiles = most_row_tiles(m, groups, tile_rows);
  const double count = double(tiles.size() / ListedTiles::entry_words);
  tiles.resize(row_tiles * ListedTiles::entry_words);
  const auto add = [&](const char* name, const std::vector<double>& values) {
    add_workspace(c, name, isa::ScalarType::u32, values.size(), launch::Init::Kind::values).init.values = values;
  };
  add("ends", ends);
  add("tiles", tiles);
  add("count", {count});
  return row_tiles;
}

}  // namespace kiln::kernels

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

// There may be `most` rows of tiles.
std::uint64_t add_list(launch::Contract& c, const std::vector<GroupRows>& groups, std::uint64_t most, int tile_rows) {
  std::vector<double> tiles = group_list(groups, tile_rows);
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

std::uint64_t add_group_list(launch::Contract& c, std::uint64_t m, std::uint64_t groups, int tile_rows) {
  std::vector<GroupRows> rows;
  for (double end : ends_of(m, groups)) {
    const double first = rows.empty() ? 0 : rows.back().first + rows.back().rows;
    rows.push_back({first, end - first});
  }
  return add_list(c, rows, most_row_tiles(m, groups, tile_rows), tile_rows);
}

std::uint64_t add_masked_list(launch::Contract& c, std::uint64_t m, std::uint64_t groups, int tile_rows) {
  std::vector<GroupRows> rows;
  for (double length : lengths_of(m, groups)) rows.push_back({double(m * rows.size()), length});
  return add_list(c, rows, groups * pieces(m, std::uint64_t(tile_rows)), tile_rows);
}

}  // namespace kiln::kernels

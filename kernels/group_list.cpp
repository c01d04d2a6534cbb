#include "kernels/group_list.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace kiln::kernels {

namespace {

struct RowTile {
  double first, rows, group;
};
using RowTiles = std::vector<RowTile>;

// Puts a band's rows of tiles, those with the most rows first, where CTAs have had the fewest.
class Spread {
 public:
  explicit Spread(int tile_rows) : tile_rows_(tile_rows) {}
  RowTiles operator()(RowTiles band) {
    const auto work = [&](const RowTile& t) { return std::ceil(std::min(t.rows, double(tile_rows_)) / isa::wgmma_m); };
    std::stable_sort(band.begin(), band.end(), [&](const auto& x, const auto& y) { return work(x) > work(y); });
    RowTiles out(band.size());
    std::vector<std::size_t> free(band.size());
    std::iota(free.begin(), free.end(), 0u);
    for (const RowTile& tile : band) {
      const auto had = [&](std::size_t place) {
        return std::pair(work_[place] + work_[(place + together / 2) % together], work_[place]);
      };
      const auto place = std::min_element(free.begin(), free.end(), [&](auto x, auto y) { return had(x) < had(y); });
      out[*place] = tile;
      work_[*place] += work(tile);
      free.erase(place);
    }
    return out;
  }

 private:
  static constexpr std::size_t together = ListedTiles::together;

  int tile_rows_;
  std::array<double, together> work_{};  // in blocks of 64 rows, of each place of a band
};

}  // namespace

std::vector<double> group_list(const std::vector<GroupRows>& groups, int tile_rows, Rests how) {
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
  Spread spread(tile_rows);
  std::vector<double> list;
  for (RowTiles& band : bands) {
    if (how == Rests::spread) band = spread(std::move(band));
    for (const RowTile& tile : band) list.insert(list.end(), {tile.first, tile.rows, tile.group});
  }
  return list;
}

namespace {

// There may be `most` rows of tiles.
std::uint64_t add_list(launch::Contract& c, const std::vector<GroupRows>& groups, std::uint64_t most, int tile_rows,
                       Rests how) {
  std::vector<double> tiles = group_list(groups, tile_rows, how);
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

std::uint64_t add_group_list(launch::Contract& c, std::uint64_t m, std::uint64_t groups, int tile_rows, Rests how) {
  std::vector<GroupRows> rows;
  for (double end : ends_of(m, groups)) {
    const double first = rows.empty() ? 0 : rows.back().first + rows.back().rows;
    rows.push_back({first, end - first});
  }
  return add_list(c, rows, most_row_tiles(m, groups, tile_rows), tile_rows, how);
}

std::uint64_t add_masked_list(launch::Contract& c, std::uint64_t m, std::uint64_t groups, int tile_rows, Rests how) {
  std::vector<GroupRows> rows;
  for (double length : lengths_of(m, groups)) rows.push_back({double(m * rows.size()), length});
  return add_list(c, rows, groups * pieces(m, std::uint64_t(tile_rows)), tile_rows, how);
}

}  // namespace kiln::kernels

#include "kernels/group_list.hpp"

namespace kiln::kernels {

std::uint64_t add_group_list(launch::Contract& c, std::uint64_t m, std::uint64_t groups, int tile_rows) {
  const std::vector<double> ends = ends_of(m, groups);
  std::vector<double> tiles;
  for (std::size_t g = 0; g < ends.size(); ++g)
    for (double row = g == 0 ? 0 : ends[g - 1]; row < ends[g]; row += tile_rows)
      tiles.insert(tiles.end(), {row, ends[g] - row, double(g)});
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

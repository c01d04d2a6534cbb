#include "kernels/group_list.hpp"

#include <array>

#include "kernels/by_hand.hpp"

namespace kiln::kernels {
namespace {

struct Rows {
  double begin, end;  // of a group
};

std::uint64_t add_list(launch::Contract& c, const std::vector<Rows>& groups, int tile_rows, std::uint64_t most) {
  std::vector<double> tiles;
  for (std::size_t g = 0; g < groups.size(); ++g)
    for (double row = groups[g].begin; row < groups[g].end; row += tile_rows)
      tiles.insert(tiles.end(), {row, groups[g].end - row, double(g)});
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
  std::vector<Rows> rows;
  for (const double end : ends_of(m, groups)) rows.push_back({rows.empty() ? 0 : rows.back().end, end});
  return add_list(c, rows, tile_rows, most_row_tiles(m, groups, tile_rows));
}

std::span<const dsl::SizeOption> masked_list_options() {
  const auto masked = masked_options(), grouped = grouped_options();
  static const std::array options{masked[0], masked[1], masked[2], masked[3], grouped[4]};
  return options;
}

std::uint64_t add_masked_list(launch::Contract& c, std::uint64_t m, std::uint64_t groups, int tile_rows) {
  std::vector<Rows> rows;
  for (const double length : lengths_of(m, groups)) {
    const double begin = double(m * rows.size());
    rows.push_back({begin, begin + length});
  }
  return add_list(c, rows, tile_rows, groups * pieces(m, std::uint64_t(tile_rows)));
}

}  // namespace kiln::kernels

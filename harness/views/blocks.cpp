#include "harness/views/blocks.hpp"

#include <map>

namespace kiln::harness {
namespace {

using Places = std::map<std::pair<int, int>, std::pair<int, int>>;

Held from(const Places& places) {
  return [&places](int row, int column) -> std::optional<std::pair<int, int>> {
    const auto found = places.find({row, column});
    if (found == places.end()) return std::nullopt;
    return found->second;
  };
}

constexpr int metadata_rows = 16, nibbles_per_cell = 8, nibble_bits = 4;

}  // namespace

std::vector<Block> blocks_of(int rows, int columns, const Held& held) {
  std::vector<bool> done(std::size_t(rows * columns));
  std::vector<Block> out;
  const auto fits = [&](const Block& b, int i, int j) {
    if (b.row + i >= rows || b.column + j >= columns || done[std::size_t((b.row + i) * columns + b.column + j)])
      return false;
    const auto h = held(b.row + i, b.column + j);
    return h && *h == std::pair{b.first + i, b.second + j};
  };
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column) {
      const auto h = held(row, column);
      if (!h || done[std::size_t(row * columns + column)]) continue;
      Block b{row, 1, column, 1, h->first, h->second};
      while (fits(b, 0, b.columns)) ++b.columns;
      const auto whole_row = [&](int i) {
        for (int j = 0; j < b.columns; ++j)
          if (!fits(b, i, j)) return false;
        return true;
      };
      while (whole_row(b.rows)) ++b.rows;
      for (int i = 0; i < b.rows; ++i)
        for (int j = 0; j < b.columns; ++j) done[std::size_t((row + i) * columns + column + j)] = true;
      out.push_back(b);
    }
  return out;
}

std::vector<Block> accumulator_blocks(isa::DataPath path, int m, int n, int cta) {
  Places places;
  for (int row = 0; row < m; ++row)
    for (int column = 0; column < n; ++column) {
      const isa::AccumulatorCell c = isa::accumulator_cell(path, row, column, n);
      if (c.cta == cta) places[{c.lane, c.column}] = {row, column};
    }
  return blocks_of(isa::tmem_lanes, isa::accumulator_columns(path, n), from(places));
}

std::vector<Block> scale_blocks(int rows, int scales) {
  Places places;
  const int group = isa::scale_columns(rows);
  for (int row = 0; row < rows; ++row)
    for (int k = 0; k < scales; ++k) {
      const isa::ScaleCell c = isa::scale_cell(row, k, group);
      places[{c.lane, c.column * isa::scales_per_cell + c.byte}] = {row, k};
    }
  const int cells = isa::scale_columns(scales, group, 1);
  return blocks_of(isa::tmem_lanes_per_warp, cells * isa::scales_per_cell, from(places));
}

std::vector<Block> metadata_blocks(isa::MmaKind kind) {
  Places places;
  for (int m = 0; m < metadata_rows; ++m)
    for (int chunk = 0; chunk < isa::mma_k(kind, true) / isa::metadata_chunk(kind); ++chunk) {
      const isa::MetadataCell c = isa::metadata_cell(kind, m, chunk);
      places[{c.row, c.column * nibbles_per_cell + c.bit / nibble_bits}] = {m, chunk};
    }
  return blocks_of(metadata_rows, isa::metadata_columns(kind) * nibbles_per_cell, from(places));
}

}  // namespace kiln::harness

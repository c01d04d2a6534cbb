// The blocks that pictures are drawn from say exactly what the ISA's functions say.
#include "harness/views/blocks.hpp"

#include <doctest/doctest.h>

#include <map>

namespace kiln::harness::blocks_tests {
namespace {

using Cell = std::pair<int, int>;

std::map<Cell, Cell> spread(const std::vector<Block>& blocks) {
  std::map<Cell, Cell> out;
  for (const Block& b : blocks)
    for (int i = 0; i < b.rows; ++i)
      for (int j = 0; j < b.columns; ++j) {
        const bool fresh = out.insert({{b.row + i, b.column + j}, {b.first + i, b.second + j}}).second;
        CHECK(fresh);
      }
  return out;
}

TEST_CASE("the blocks of an accumulator are the cells of its layout, for every data path") {
  using isa::DataPath;
  for (const auto& [path, m] : {std::pair{DataPath::A, 256},
                                {DataPath::B, 128},
                                {DataPath::C, 128},
                                {DataPath::D, 128},
                                {DataPath::E, 64},
                                {DataPath::F, 64},
                                {DataPath::G, 32}})
    for (const int n : {32, 64, 256}) {
      std::map<Cell, Cell> cells[2];
      for (int cta = 0; cta < 2; ++cta) cells[cta] = spread(accumulator_blocks(path, m, n, cta));
      CHECK(cells[0].size() + cells[1].size() == std::size_t(m * n));
      int wrong = 0;
      for (int row = 0; row < m; ++row)
        for (int column = 0; column < n; ++column) {
          const isa::AccumulatorCell c = isa::accumulator_cell(path, row, column, n);
          const auto found = cells[c.cta].find({c.lane, c.column});
          wrong += found == cells[c.cta].end() || found->second != Cell{row, column};
        }
      CHECK(wrong == 0);
    }
}

TEST_CASE("an accumulator needs no more blocks than its layout has parts") {
  CHECK(accumulator_blocks(isa::DataPath::D, 128, 256, 0) == std::vector<Block>{{0, 128, 0, 256, 0, 0}});
  CHECK(accumulator_blocks(isa::DataPath::B, 128, 64, 1) ==
        std::vector<Block>{{0, 64, 0, 32, 64, 0}, {64, 64, 0, 32, 64, 32}});
  CHECK(accumulator_blocks(isa::DataPath::F, 64, 8, 0).size() == 4);
  CHECK(accumulator_blocks(isa::DataPath::D, 128, 64, 1).empty());
}

TEST_CASE("the blocks of scale factors are the bytes of their cells") {
  for (const int scales : {1, 2, 3, 4, 6}) {
    const auto bytes = spread(scale_blocks(128, scales));
    CHECK(bytes.size() == std::size_t(128 * scales));
    for (int row = 0; row < 128; ++row)
      for (int k = 0; k < scales; ++k) {
        const isa::ScaleCell c = isa::scale_cell(row, k, 4);
        CHECK(bytes.at({c.lane, 4 * c.column + c.byte}) == Cell{row, k});
      }
  }
}

TEST_CASE("the blocks of metadata are the nibbles of their cells") {
  using isa::MmaKind;
  for (const auto& [kind, chunks] :
       {std::pair{MmaKind::f16, 8}, {MmaKind::tf32, 8}, {MmaKind::f8f6f4, 16}, {MmaKind::mxf4, 16}}) {
    const auto nibbles = spread(metadata_blocks(kind));
    CHECK(nibbles.size() == std::size_t(16 * chunks));
    for (int m = 0; m < 16; ++m)
      for (int chunk = 0; chunk < chunks; ++chunk) {
        const isa::MetadataCell c = isa::metadata_cell(kind, m, chunk);
        CHECK(nibbles.at({c.row, 8 * c.column + c.bit / 4}) == Cell{m, chunk});
      }
  }
}

}  // namespace
}  // namespace kiln::harness::blocks_tests

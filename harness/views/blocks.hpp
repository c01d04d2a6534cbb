// Layouts as few rectangles: where a function of (row, column) of a memory goes on evenly, one block says it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "ptx/isa/scales.hpp"
#include "ptx/isa/sparse.hpp"
#include "ptx/isa/tmem.hpp"

namespace kiln::harness {

/// Places [row, row + rows) x [column, column + columns) hold (first + i, second + j).
struct Block {
  int row = 0, rows = 0, column = 0, columns = 0;
  int first = 0, second = 0;
  bool operator==(const Block&) const = default;
};

/// What a place holds; nothing where nothing lies.
using Held = std::function<std::optional<std::pair<int, int>>(int row, int column)>;

/// The blocks of a memory of rows x columns places, by row and column; together they say all that `held` does.
std::vector<Block> blocks_of(int rows, int columns, const Held& held);

/// Whether an accumulator lies in both CTAs of a pair.
constexpr bool is_of_pair(isa::DataPath path) {
  return path == isa::DataPath::A || path == isa::DataPath::B || path == isa::DataPath::C;
}

/// Element (m, n) of an accumulator in the lanes and columns of one CTA of the pair. PTX ISA "Data Path Layout".
std::vector<Block> accumulator_blocks(isa::DataPath path, int m, int n, int cta);

/// Scale `k` of `row` of the operand in the first quarter of the lanes: block rows are lanes, block columns bytes, four
/// to a column of cells. PTX ISA "Scale Factor Layout".
std::vector<Block> scale_blocks(int rows, int scales);

/// Chunk `second` of row `first` of sparsity metadata: block rows are rows whose lane holds it, block columns nibbles,
/// eight to a column of cells. PTX ISA "Sparse matrices".
std::vector<Block> metadata_blocks(isa::MmaKind kind);

}  // namespace kiln::harness

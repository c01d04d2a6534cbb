// A part of one CTA's share of a product that lies in consecutive columns of its accumulator: its rows against some
// columns of B. Layouts B, E and G fold the columns, so that each part has its own lanes. PTX ISA "Data Path Layout
// Organization".
#pragma once

#include <vector>

#include "sim/tensor/task.hpp"

namespace kiln::sim {

/// A in tensor memory and the metadata of a sparse A lie in the lanes of the rows that they belong to.
struct Part {
  int rows = 0;
  int lane = 0;         // of row 0
  bool spread = false;  // sixteen rows to each quarter
  int first_n = 0, n = 0;

  int lane_of(int row) const { return lane + (spread ? 32 * (row / 16) + row % 16 : row); }
  /// Consecutive lanes: how many follow each other.
  int run() const { return spread ? 16 : rows; }
};

inline std::vector<Part> parts_of(const MmaTask& t) {
  using isa::DataPath;
  const DataPath path = t.path();
  const bool spread = isa::fills_half_the_lanes(path);
  const int count = t.shape.n / isa::accumulator_columns(path, t.shape.n), n = t.shape.n / count;
  std::vector<Part> parts;
  for (int k = 0; k < count; ++k)
    parts.push_back({t.rows(), spread ? int(t.d >> 16) & 16 : isa::tmem_lanes / count * k, spread, k * n, n});
  return parts;
}

}  // namespace kiln::sim

// Partial sums of tiles in global memory, where several CTAs share the K of a tile. A tile has 128 rows; its numbers
// lie such that the lanes of a warp, a row each, touch 512 bytes in a row.
#pragma once

#include <numeric>

#include "kernels/epilogue.hpp"

namespace kiln::kernels {

/// A tile of which several CTAs sum up a part of K each.
struct SharedTileOfD {
  dsl::U32 number;        // of the counters that it has: 128
  dsl::U32 first, count;  // of its parts, in the workspace
  dsl::U32 col;           // of its first column
};

/// Parts: blocks of 128 rows by some columns of f32 that follow one another.
class Partials {
 public:
  static constexpr std::uint64_t rows = 128;
  static constexpr std::uint64_t elements(int columns) { return rows * std::uint64_t(columns); }

  Partials(dsl::AnyPointer workspace, dsl::AnyPointer counters, int columns)
      : workspace_(std::move(workspace)), counters_(std::move(counters)), columns_(columns) {}

  /// Leaves this CTA's sums as the `part`-th of the tile.
  void leave(dsl::Warpgroup& g, const dsl::AnyTmem& sums, const dsl::U32& part, const SharedTileOfD& tile) const {
    const dsl::U64 to = row(g, tile.first + part);
    g.loop(columns_ / chunk(), [&](dsl::U32 c) {
      const dsl::AnyRegisters block = g.wait(g.load(sums.columns(c * chunk(), chunk())));
      for (int v = 0; v < chunk() / 4; ++v)
        g.st_global_v4(vector(to, c, v),
                       {word(block, 4 * v), word(block, 4 * v + 1), word(block, 4 * v + 2), word(block, 4 * v + 3)});
    });
  }

  /// After that: for each row, the CTA that comes last adds all parts in their order and stores the sum, so D does not
  /// depend on which CTA that is. The counters are zero before and after.
  void add_up(dsl::Warpgroup& g, const SharedTileOfD& tile, const StoreSums& store) const {
    const dsl::U64 counter = counters_.at(dsl::widen(tile.number * rows + g.row()));
    const dsl::U32 last = tile.count - 1, before = g.atom<dsl::RedOp::inc>(counter, last, dsl::acq_rel_gpu);
    g.when(before >= last, [&] {
      g.loop(columns_ / chunk(), [&](dsl::U32 c) { store(g, sum_chunk(g, c, tile), tile.col + c * chunk()); });
    });
  }

 private:
  static constexpr int vector_bytes = 16;

  // Columns that a thread has in flight.
  int chunk() const { return std::gcd(columns_, 32); }
  dsl::U64 row(dsl::Warpgroup& g, const dsl::U32& number) const {
    return workspace_.at(multiply_wide(number, elements(columns_))) + widen(g.row() * vector_bytes);
  }
  dsl::U64 vector(const dsl::U64& row, const dsl::U32& c, int v) const {
    return row + multiply_wide(c, chunk() / 4 * rows * vector_bytes) + v * int(rows) * vector_bytes;
  }
  static dsl::U32 word(const dsl::AnyRegisters& values, int i) {
    return {values.recorder(), values.operands()[std::size_t(i)]};
  }
  dsl::AnyRegisters sum_chunk(dsl::Warpgroup& g, const dsl::U32& c, const SharedTileOfD& tile) const {
    std::vector<dsl::Var<dsl::F32>> sums;
    for (int i = 0; i < chunk(); ++i) sums.push_back(g.var(0.0f));
    g.loop(tile.count, [&](dsl::U32 k) {
      const dsl::U64 from = row(g, tile.first + k);
      for (int v = 0; v < chunk() / 4; ++v) {
        const auto four = g.ld_global_v4_f32(vector(from, c, v));
        for (int i = 0; i < 4; ++i) sums[std::size_t(4 * v + i)] += four[i];
      }
    });
    return dsl::make_registers(chunk(), [&](int i) { return sums[std::size_t(i)].read(); });
  }

  dsl::AnyPointer workspace_, counters_;
  int columns_;
};

}  // namespace kiln::kernels

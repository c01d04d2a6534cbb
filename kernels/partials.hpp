// Partial sums of tiles in global memory, where several CTAs share the K of a tile. A tile has 128 rows; its numbers
// lie such that the lanes of a warp, a row each, touch 512 bytes in a row.
#pragma once

#include "kernels/epilogue.hpp"

namespace kiln::kernels {

/// A tile of which several CTAs sum up a part of K each.
struct SharedTileOfD {
  dsl::U32 number;        // of the counters that it has: 128
  dsl::U32 first, count;  // of its parts, in the workspace
  dsl::U32 row, col;      // in D
};

/// Parts: blocks of 128 rows by N columns of f32 that follow one another.
template <int N>
class Partials {
 public:
  static constexpr std::uint64_t elements = 128 * N;

  Partials(dsl::Pointer<dsl::f32> workspace, dsl::Pointer<dsl::u32> counters)
      : workspace_(std::move(workspace)), counters_(std::move(counters)) {}

  /// Leaves this CTA's sums as the `part`-th of the tile. For each row, the CTA that comes last adds all parts in their
  /// order and stores the sum, so D does not depend on which CTA that is. The counters are zero before and after.
  void add(dsl::Warpgroup& g, const dsl::Tmem<dsl::f32, 128, N>& sums, const dsl::U32& part, const SharedTileOfD& tile,
           const Result& d) const {
    store(g, sums, tile.first + part);
    const dsl::U64 counter = counters_.at(widen(tile.number * 128 + g.row()));
    const dsl::U32 last = tile.count - 1, before = g.atom<dsl::RedOp::inc>(counter, last, dsl::acq_rel_gpu);
    g.when(before >= last, [&] { sum(g, tile.first, tile.count, d, tile.row, tile.col); });
  }

 private:
  /// Writes this thread's row of the accumulator to the block with that number.
  void store(dsl::Warpgroup& g, const dsl::Tmem<dsl::f32, 128, N>& sums, const dsl::U32& number) const {
    const dsl::U64 to = row(g, number);
    g.loop(N / chunk, [&](dsl::U32 c) {
      const auto block = g.wait(g.load(sums.template columns<chunk>(c * chunk)));
      for (int v = 0; v < chunk / 4; ++v)
        g.st_global_v4(vector(to, c, v),
                       {word(block, 4 * v), word(block, 4 * v + 1), word(block, 4 * v + 2), word(block, 4 * v + 3)});
    });
  }

  /// Adds `count` blocks from `first` on, in the order of their numbers, and stores this thread's row of the sum, which
  /// belongs at (row, col) of the result.
  void sum(dsl::Warpgroup& g, const dsl::U32& first, const dsl::U32& count, const Result& d, const dsl::U32& row,
           const dsl::U32& col) const {
    const dsl::U32 my_row = row + g.row();
    const dsl::U32 left = left_in_row(d, my_row, col);
    g.loop(N / chunk, [&](dsl::U32 c) {
      const dsl::U32 before = c * chunk;
      const auto sums = sum_chunk(g, c, first, count);
      g.store_global(d.elements.at(multiply_wide(my_row, d.n) + widen(col + before)),
                     converted(sums, d.elements.element()), select(before < left, left - before, 0));
    });
  }

  static constexpr int chunk = 32, vector_bytes = 16;  // columns that a thread has in flight
  static_assert(N % chunk == 0);

  dsl::U64 row(dsl::Warpgroup& g, const dsl::U32& number) const {
    return workspace_.at(multiply_wide(number, elements)) + widen(g.row() * vector_bytes);
  }
  static dsl::U64 vector(const dsl::U64& row, const dsl::U32& c, int v) {
    return row + multiply_wide(c, chunk / 4 * 128 * vector_bytes) + v * 128 * vector_bytes;
  }
  template <class Registers>
  static dsl::U32 word(const Registers& values, int i) {
    return {values.recorder(), values.operands()[std::size_t(i)]};
  }
  dsl::AnyRegisters sum_chunk(dsl::Warpgroup& g, const dsl::U32& c, const dsl::U32& first,
                              const dsl::U32& count) const {
    auto sums = g.vars<chunk>(0.0f);
    g.loop(count, [&](dsl::U32 k) {
      const dsl::U64 from = row(g, first + k);
      for (int v = 0; v < chunk / 4; ++v) {
        const auto four = g.ld_global_v4_f32(vector(from, c, v));
        for (int i = 0; i < 4; ++i) sums[4 * v + i] += four[i];
      }
    });
    return dsl::make_registers(chunk, [&](int i) { return sums[i].read(); });
  }

  dsl::Pointer<dsl::f32> workspace_;
  dsl::Pointer<dsl::u32> counters_;
};

}  // namespace kiln::kernels

// Partial sums of tiles in global memory, where several CTAs share the K of a tile. A tile has 128 rows; its numbers
// lie such that the lanes of a warp, a row each, touch 512 bytes in a row.
#pragma once

#include <algorithm>
#include <numeric>

#include "dsl/register_sums.hpp"
#include "kernels/epilogue.hpp"

namespace kiln::kernels {

/// A tile of which several CTAs sum up a part of K each.
struct SharedTileOfD {
  dsl::U32 number;        // of the counters that it has: 128
  dsl::U32 first, count;  // of its parts, in the workspace
  dsl::U32 col;           // of its first column
};

/// How parts of a tile become its sum: all of them in a row, or where they are many, groups of them first, each by the
/// CTA of the group that comes last. One CTA alone would read all of them after the others are done.
struct PartGroups {
  int parts, of_group;

  /// `all_add`: the CTAs that have parts add a slice of the tile each, so there are no groups.
  explicit constexpr PartGroups(int splits, bool all_add = false) : parts(splits), of_group(splits) {
    constexpr int most_in_a_row = 8;
    if (splits <= most_in_a_row || all_add) return;
    for (of_group = 1; of_group * of_group < splits;) ++of_group;
  }
  constexpr int groups() const { return (parts + of_group - 1) / of_group; }
  constexpr bool is_one() const { return groups() == 1; }
  /// Blocks of the workspace that a tile has: its parts, and the sums of groups. And sets of counters.
  constexpr int blocks() const { return is_one() ? parts : parts + groups(); }
  constexpr int counters() const { return is_one() ? 1 : groups() + 1; }
};

/// Parts: blocks of 128 rows by some columns of f32, or of s32, that follow one another.
class Partials {
 public:
  static constexpr std::uint64_t rows = 128;
  static constexpr std::uint64_t elements(int columns) { return rows * std::uint64_t(columns); }

  Partials(dsl::AnyPointer workspace, dsl::AnyPointer counters, int columns, bool are_integers = false)
      : workspace_(std::move(workspace)),
        counters_(std::move(counters)),
        columns_(columns),
        are_integers_(are_integers) {}

  /// Leaves this CTA's sums as the `part`-th of the tile.
  void leave(dsl::Warpgroup& g, const dsl::AnyTmem& sums, const dsl::U32& part, const SharedTileOfD& tile) const {
    const dsl::U64 to = row(g, tile.first + part);
    g.loop(columns_ / chunk(), [&](dsl::U32 c) {
      store_chunk(g, to, c, g.wait(g.load(sums.columns(c * chunk(), chunk()))));
    });
  }

  /// After that: for each row, the CTA that comes last adds all parts in their order and stores the sum, so D does not
  /// depend on which CTA that is. The counters are zero before and after.
  void add_up(dsl::Warpgroup& g, const SharedTileOfD& tile, const StoreSums& store) const {
    when_last(g, tile, [&] {
      g.loop(columns_ / chunk(), [&](dsl::U32 c) { store(g, sum_chunk(g, c, tile), tile.col + c * chunk()); });
    });
  }
  /// The same in groups, after this CTA has left that part of a tile: the `index`-th that has so many blocks and
  /// counters. Of each row the CTA that comes last in a group adds the group's parts, the last one of those the sums.
  void add_up(dsl::Warpgroup& g, const PartGroups& of, const dsl::U32& index, const dsl::U32& part, const dsl::U32& col,
              const StoreSums& store) const {
    const dsl::U32 group = part / of.of_group, before = group * of.of_group, left = of.parts - before;
    const dsl::U32 first = index * of.blocks(), number = index * of.counters();
    const SharedTileOfD parts{number + group, first + before, min(left, of.of_group), col};
    const SharedTileOfD sums{number + of.groups(), first + of.parts, g.var(of.groups()).read(), col};
    when_last(g, parts, [&] {
      const dsl::U64 to = row(g, sums.first + group);
      g.loop(columns_ / chunk(), [&](dsl::U32 c) { store_chunk(g, to, c, sum_chunk(g, c, parts)); });
      add_up(g, sums, store);
    });
  }

  /// The same by all CTAs that have parts of the tile, `parts` of them, which run at once: each waits until all parts
  /// are there, adds those of some columns in their order, and stores these. Of the tile's first counter the lower 31
  /// bits are zero before and after.
  void add_slice(dsl::Warpgroup& g, const SharedTileOfD& tile, int parts, const dsl::U32& part,
                 const StoreSums& store) const {
    constexpr std::uint32_t turn = 1u << 31;
    const dsl::U64 counter = counters_.at(multiply_wide(tile.number, rows));
    g.sync();  // all warps have left their sums
    g.elect([&](dsl::Thread t) {
      // One adds what the others leave of 2^31: the highest bit turns when all have come.
      const dsl::U32 step = select(part == 0, turn - std::uint32_t(parts - 1), 1u);
      const dsl::U32 before = t.atom<dsl::RedOp::add>(counter, step, dsl::acq_rel_gpu);
      t.wait_while(counter, before, turn, dsl::acquire_gpu);
    });
    g.sync();
    const int vectors = columns_ / 4;
    const dsl::U32 turns = (vectors + parts - 1 - part) / parts;
    g.loop(turns, [&](dsl::U32 i) {
      const dsl::U32 v = i * parts + part;
      store(g, sum_vector(g, tile, parts, v), tile.col + v * 4);
    });
  }

  /// Where the sums are in the registers of a warpgroup that multiplies, 64 rows of the tile's: leaves them, adds all
  /// parts where this CTA comes last, and answers whether it does (1). Blocks have those 64 rows, and of the tile's
  /// counters there is one. Of two parts, the one whose CTA finds the other one there is not left.
  dsl::U32 add_up(dsl::Warpgroup& g, dsl::RegisterSums& sums, const SharedTileOfD& tile, const dsl::U32& part,
                  const dsl::WarpgroupScratch& scratch) const {
    const dsl::U64 counter = counters_.at(dsl::widen(tile.number));
    const dsl::U32 last = tile.count - 1;
    const dsl::Pred are_two = last == 1;
    auto seen = g.var(0), before = g.var(0);  // by the thread that asks
    g.elect([&](dsl::Thread t) { seen = t.ld_global(counter, dsl::relaxed_gpu); });
    const dsl::U32 there = g.warpgroup_reduce<dsl::RedOp::max>(seen.read(), scratch);
    g.when(!(are_two && there == 1), [&] {
      const dsl::U64 to = lane_sums(g, tile.first + part);
      for (int c = 0; c < columns_; c += lane_columns) {
        const dsl::AnyRegisters four = sums.columns(0, c, lane_columns);
        g.st_global_v4(lane_vector(to, c), {word(four, 0), word(four, 1), word(four, 2), word(four, 3)});
      }
    });
    g.sync();  // all warps have left their sums
    g.elect([&](dsl::Thread t) { before = t.atom<dsl::RedOp::inc>(counter, last, dsl::acq_rel_gpu); });
    const dsl::Pred is_last = g.warpgroup_reduce<dsl::RedOp::max>(before.read(), scratch) >= last;
    g.when(is_last, [&] {
      // The order of two does not matter: the own one is there.
      g.loop(tile.count, [&](dsl::U32 k) {
        g.when(!are_two || k != part, [&] {
          const dsl::U64 from = lane_sums(g, tile.first + k);
          for (int c = 0; c < columns_; c += lane_columns)
            sums.add(any_of(g.ld_global_v4_f32(lane_vector(from, c))), 0, c, are_two || k != 0);
        });
      });
    });
    return select(is_last, 1u, 0u);
  }

 private:
  // For each row, where this CTA comes last of those that share it.
  template <class Body>
  void when_last(dsl::Warpgroup& g, const SharedTileOfD& tile, Body body) const {
    const dsl::U64 counter = counters_.at(dsl::widen(tile.number * rows + g.row()));
    const dsl::U32 last = tile.count - 1, before = g.atom<dsl::RedOp::inc>(counter, last, dsl::acq_rel_gpu);
    g.when(before >= last, body);
  }
  void store_chunk(dsl::Warpgroup& g, const dsl::U64& to, const dsl::U32& c, const dsl::AnyRegisters& block) const {
    for (int v = 0; v < chunk() / 4; ++v)
      g.st_global_v4(vector(to, c, v),
                     {word(block, 4 * v), word(block, 4 * v + 1), word(block, 4 * v + 2), word(block, 4 * v + 3)});
  }
  static constexpr int vector_bytes = 16;

  // What a lane of a warpgroup that multiplies has of so many columns are four numbers; its rows are half of a tile's.
  static constexpr int lane_columns = 8, lanes = isa::threads_per_warp * isa::warps_per_warpgroup;
  dsl::U64 lane_sums(dsl::Warpgroup& g, const dsl::U32& number) const {
    return workspace_.at(multiply_wide(number, elements(columns_) / 2)) + widen(g.row() * vector_bytes);
  }
  static dsl::U64 lane_vector(const dsl::U64& sums, int column) {
    return sums + column / lane_columns * lanes * vector_bytes;
  }

  // Columns that a thread has in flight.
  int chunk() const { return std::gcd(columns_, 32); }
  dsl::U64 row(dsl::Warpgroup& g, const dsl::U32& number) const {
    return workspace_.at(multiply_wide(number, elements(columns_))) + widen(g.row() * vector_bytes);
  }
  dsl::U64 vector(const dsl::U64& row, const dsl::U32& c, int v) const {
    return row + multiply_wide(c, chunk() / 4 * rows * vector_bytes) + v * int(rows) * vector_bytes;
  }
  static dsl::AnyRegisters any_of(const dsl::Registers<dsl::f32, 4>& four) {
    return {four.recorder(), dsl::element_type<dsl::f32>, four.operands(), dsl::LdState::ready};
  }
  static dsl::U32 word(const dsl::AnyRegisters& values, int i) {
    return {values.recorder(), values.operands()[std::size_t(i)]};
  }
  // Sums of some columns, from zero on. Parts of integers come as the bits of floats.
  class Sums {
   public:
    Sums(dsl::Warpgroup& g, int columns, bool are_integers) {
      for (int i = 0; i < columns; ++i)
        if (are_integers)
          integers_.push_back(g.var(0u));
        else
          floats_.push_back(g.var(0.0f));
    }
    void add(int first, const dsl::Registers<dsl::f32, 4>& four) {
      for (int i = 0; i < 4; ++i)
        if (integers_.empty())
          floats_[std::size_t(first + i)] += four[i];
        else
          integers_[std::size_t(first + i)] += dsl::bit_cast<dsl::U32>(four[i]);
    }
    dsl::AnyRegisters read() const {
      if (integers_.empty())
        return dsl::make_registers(int(floats_.size()), [&](int i) { return floats_[std::size_t(i)].read(); });
      std::vector<ir::Operand> registers;
      for (const auto& sum : integers_) registers.push_back(sum.read().operand());
      return {integers_.front().read().recorder(), dsl::element_type<dsl::s32>, std::move(registers),
              dsl::LdState::ready};
    }

   private:
    std::vector<dsl::Var<dsl::F32>> floats_;
    std::vector<dsl::Var<dsl::U32>> integers_;
  };

  dsl::AnyRegisters sum_chunk(dsl::Warpgroup& g, const dsl::U32& c, const SharedTileOfD& tile) const {
    Sums sums(g, chunk(), are_integers_);
    g.loop(tile.count, [&](dsl::U32 k) {
      const dsl::U64 from = row(g, tile.first + k);
      for (int v = 0; v < chunk() / 4; ++v) sums.add(4 * v, g.ld_global_v4_f32(vector(from, c, v)));
    });
    return sums.read();
  }

  // Four columns of this thread's row: some parts are on their way at once.
  dsl::AnyRegisters sum_vector(dsl::Warpgroup& g, const SharedTileOfD& tile, int parts, const dsl::U32& v) const {
    // With wide tiles on sm_90a the warps that store have 88 registers.
    const int at_once = columns_ <= 128 ? 16 : 8;
    Sums sums(g, 4, are_integers_);
    const dsl::U64 first = row(g, tile.first) + multiply_wide(v, rows * vector_bytes);
    for (int begin = 0; begin < parts; begin += at_once) {
      std::vector<dsl::Registers<dsl::f32, 4>> loaded;
      for (int k = begin; k < std::min(parts, begin + at_once); ++k)
        loaded.push_back(g.ld_global_v4_f32(first + std::int64_t(k) * std::int64_t(elements(columns_) * 4)));
      for (const auto& four : loaded) sums.add(0, four);
    }
    return sums.read();
  }

  dsl::AnyPointer workspace_, counters_;
  int columns_;
  bool are_integers_;
};

}  // namespace kiln::kernels

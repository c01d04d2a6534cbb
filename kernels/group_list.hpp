// Rows in groups, as a list says where each row of tiles lies: what sorts rows by groups knows it. So no role searches,
// and no tile without rows is multiplied. For kernels on sm_90a whose warpgroups store what they multiply.
#pragma once

#include "kernels/groups.hpp"

namespace kiln::kernels {

/// A tile of the list.
struct ListedTile {
  dsl::U32 first, rows;  // its first row of A and D, and how many rows of its group there are from there on
  dsl::U32 group;
  dsl::U32 column;  // of tiles

  /// How many rows of the group there are from a block of 64 rows of the tile on, 0 or 1.
  dsl::U32 rows_from(int block) const {
    const int before = block * isa::wgmma_m;
    return block == 0 ? rows : select(rows > before, rows - before, 0);
  }
};

/// The tiles of a CTA: every `step`-th of all from `first` on, in bands of eight rows of tiles, column by column.
struct ListedTiles {
  static constexpr int together = 8;
  static constexpr int entry_words = 3;  // of a row of tiles: ListedTile's first three

  dsl::Pointer<dsl::u32> list, count;
  dsl::U32 columns, first, step;

  template <class S, class Body>
  void each(S& scope, const Body& body) const {
    const dsl::U32 rows = scope.ld_global(count.address());
    each_of(scope, rows, (rows * columns + (step - 1) - first) / step, body);
  }

  /// The same, but where the last round has tiles for half of the CTAs or fewer, two take half of the columns of each:
  /// `half(tile, which)`, once at most and last. They need half of the round's time.
  template <class S, class Body, class HalfBody>
  void each(S& scope, const Body& body, const HalfBody& half) const {
    const dsl::U32 rows = scope.ld_global(count.address()), all = rows * columns, rounds = all / step;
    const dsl::U32 left = all - rounds * step, halves = select(left * 2 <= step, left * 2, 0);
    each_of(scope, rows, rounds + select(halves == 0, select(first < left, 1, 0), 0), body);
    scope.when(first < halves, [&] {
      half(listed(scope, schedule(rows, rounds).place(rounds * step + first / 2)), first % 2);
    });
  }

 private:
  dsl::StaticTiles schedule(const dsl::U32& rows, const dsl::U32& trips) const {
    return {rows, columns, first, step, trips, together};
  }
  template <class S>
  ListedTile listed(S& scope, const dsl::TilePlace& at) const {
    const auto word = [&](int i) { return scope.ld_global(list.at(widen(at.row * entry_words + i))); };
    return {word(0), word(1), word(2), at.column};
  }
  // What the list says of a tile is loaded while the tile before it is multiplied.
  template <class S, class Body>
  void each_of(S& scope, const dsl::U32& rows, const dsl::U32& trips, const Body& body) const {
    const dsl::StaticTiles tiles = schedule(rows, trips);
    scope.when(trips != 0, [&] {
      const ListedTile begin = listed(scope, tiles.place(first));
      dsl::Var<dsl::U32> row = scope.var(begin.first), left = scope.var(begin.rows), group = scope.var(begin.group),
                         column = scope.var(begin.column);
      scope.loop(trips, [&](const dsl::U32& trip) {
        const ListedTile tile{row.read(), left.read(), group.read(), column.read()};
        const ListedTile next = listed(scope, tiles.place(min(trip + 1, trips - 1) * step + first));
        row = next.first, left = next.rows, group = next.group, column = next.column;
        body(tile);
      });
    });
  }
};

/// Brings the first `rows` of a block of 64 from shared memory to D, from `row` and `column` on, two threads a row.
/// `n`: D's columns.
template <class Tile>
void store_rows_of_block(dsl::Warpgroup& g, const dsl::Shared<Tile>& from,
                         const dsl::Pointer<typename Tile::element>& d, const dsl::U32& n, const dsl::U32& row,
                         const dsl::U32& rows, const dsl::U32& column) {
  static_assert(Tile::rows == isa::wgmma_m);
  constexpr int part = Tile::cols / 2;
  const dsl::U32 own = g.row() / 2, in_block = g.row() % 2 * part, first = column + in_block;
  const auto values = g.load_row<part>(from, own, in_block);
  const dsl::U32 left = select(first < n, n - first, 0);
  g.store_global(d.at(multiply_wide(row + own, n) + widen(first)), values, left, own < rows);
}

/// How results of listed tiles leave, in blocks of 64 rows: those that are whole in their group by TMA, others row by
/// row.
template <class Tile>
struct ListedResults {
  dsl::TensorMap<Tile> map;
  dsl::Pointer<typename Tile::element> d;
  dsl::U32 n;  // D's columns

  /// The tile's block of rows `which`, from `column` on. `write(tile)` writes it.
  template <int stages, class Write>
  void store(dsl::Warpgroup& g, dsl::StoreRing<stages, Tile>& out, const ListedTile& tile, int which,
             const dsl::U32& column, const Write& write) const {
    const dsl::U32 row = tile.first + which * Tile::rows, rows = tile.rows_from(which);
    const dsl::Pred whole = rows >= Tile::rows;
    const auto block = out.acquire(g);
    write(block);
    g.fence_proxy_async();
    g.sync();
    g.elect([&](dsl::Thread t) {
      t.when(whole, [&] { t.tma_store(map.at(row, column), block); });
      t.commit_stores();  // or of none: the ring counts blocks
    });
    g.when(!whole, [&] { store_rows_of_block(g, block, d, n, row, rows, column); });
  }
};

/// How a kernel deals out the tiles of a list, those of a row of tiles to so many columns.
struct Dealt {
  std::uint64_t ctas, columns;
};

/// Where a group's rows of A and D lie.
struct GroupRows {
  double first, rows;
};
/// The groups' rows of tiles: bands of eight are of as few groups as can be, so that what runs at the same time reads
/// few groups' B. What is left of a group goes to the first band that has room for it, the most rows of tiles first.
/// A kernel in which tiles with few rows take less time says how it deals them out: in a band these then stand where
/// CTAs have had the least, and they come last, where some CTAs have a tile more, if the CTA that has the most to copy
/// has less so.
std::vector<double> group_list(const std::vector<GroupRows>& groups, int tile_rows, const Dealt* = nullptr);

/// The list of groups that get larger one by one (add_ends), or of groups that have room for `m` rows each
/// (add_lengths): adds it as "tiles", and as "count" how long it is. Returns how long it may be.
std::uint64_t add_group_list(launch::Contract&, std::uint64_t m, std::uint64_t groups, int tile_rows,
                             const Dealt* = nullptr);
std::uint64_t add_masked_list(launch::Contract&, std::uint64_t m, std::uint64_t groups, int tile_rows,
                              const Dealt* = nullptr);

}  // namespace kiln::kernels

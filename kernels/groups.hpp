// Groups of rows whose sizes the device alone knows: which of them a tile is of, and problems of such.
#pragma once

#include <vector>

#include "kernels/gemm.hpp"

namespace kiln::kernels {

/// The groups' rows, group after group.
struct Groups {
  dsl::Pointer<dsl::u32> ends;
  dsl::U32 count;

  struct Tile {
    dsl::U32 group, first, rows;  // of the matrix of B; of the group's rows; no rows where there is no such tile
    dsl::U32 row;                 // of the tile, in the group
  };
  /// The tile that so many tiles of rows come before, each of `tile_rows` and of one group.
  Tile tile(dsl::Scope&, const dsl::U32& number, int tile_rows) const;
};

/// How many rows a group has, by a list. Ends the role where the tile that begins with that row has none of them.
template <class S>
dsl::U32 rows_or_exit(S& scope, const dsl::Pointer<dsl::u32>& lengths, const dsl::U32& group, const dsl::U32& row) {
  const dsl::U32 rows = scope.ld_global(lengths.at(widen(group)));
  scope.exit_when(row >= rows);
  return rows;
}

/// As many tiles as rows in groups may have, whatever their sizes are: the last tile of each may have one row.
constexpr std::uint64_t most_row_tiles(std::uint64_t rows, std::uint64_t groups, int tile_rows) {
  return (rows + groups * std::uint64_t(tile_rows - 1)) / std::uint64_t(tile_rows);
}

/// --groups. Throws diag::InputError for none, and for too many.
std::uint64_t groups_of(const dsl::Sizes&);
/// A buffer of which each group, or each matrix of a batch, has its own.
launch::Buffer of_each(launch::Buffer one, std::uint64_t groups);
/// A CTA for each tile that groups have room for. Throws diag::InputError where a grid has no such extent.
launch::Dim3 masked_grid(const GemmSizes&, std::uint64_t groups, int tile_rows, int tile_columns);
/// Where groups end that get larger one by one.
std::vector<double> ends_of(std::uint64_t m, std::uint64_t groups);
/// How many rows groups have that get smaller one by one, down to none: at most `most`.
std::vector<double> lengths_of(std::uint64_t most, std::uint64_t groups);
/// Adds "ends", such a list, by which D is judged.
void add_ends(launch::Contract&, std::uint64_t m, std::uint64_t groups);
/// The same of "lengths".
void add_lengths(launch::Contract&, std::uint64_t most, std::uint64_t groups);

}  // namespace kiln::kernels

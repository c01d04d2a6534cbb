// Which tiles of a problem a CTA, or a pair, works on when it does more than one: schedules of persistent kernels. All
// roles of a kernel loop over the same schedule and so agree on the order.
#pragma once

#include "dsl/value.hpp"

namespace kiln::dsl {

/// Where a tile lies, in tiles.
struct TilePlace {
  U32 row, column;
};

/// Tiles dealt out in turn: a CTA takes every n-th, n CTAs (or pairs) being launched.
struct StaticSchedule {
  int rows_together = 0;  // 0: all rows of a column of tiles, then the next column

  /// `rows` rows of tiles are walked together, column by column, so that what runs at the same time shares A and B in
  /// L2.
  constexpr StaticSchedule in_groups_of(int rows) const { return {rows}; }
};
inline constexpr StaticSchedule static_schedule{};

/// The tiles of one CTA or pair under a StaticSchedule.
struct StaticTiles {
  U32 rows, columns;  // of the problem, in tiles
  U32 first, step;    // numbers of tiles
  U32 trips;          // tiles of this CTA or pair
  int rows_together = 0;

  /// Every `of`-th of them from the one numbered `first` on, for one of `of` roles that take turns.
  StaticTiles turn(int first, int of, Here at = {}) const;
  /// Where the tile with that number lies.
  TilePlace place(const U32& number, Here at = {}) const;
};

/// Tiles handed out while the kernel runs: the grid has a CTA, or a pair, for every tile, and those that run take over
/// the work of those that have not started. PTX ISA "clusterlaunchcontrol.try_cancel".
struct LaunchControl : StaticSchedule {
  /// As StaticSchedule::in_groups_of.
  constexpr LaunchControl in_groups_of(int rows) const { return {{rows}}; }
};
inline constexpr LaunchControl launch_control{};

/// What launch control answers with.
inline constexpr int answer_bytes = isa::bits(ScalarType::b128) / 8;

struct RingState;

/// The tiles of one CTA or pair under LaunchControl, its own first: one role asks for more (Thread::hand_out), every
/// role that loops over them reads the answers.
struct LaunchControlTiles {
  StaticTiles grid;    // how numbers become places
  RingState* answers;  // 16 bytes a slot
  int ctas = 1;        // that share a tile
};

}  // namespace kiln::dsl

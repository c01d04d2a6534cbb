// Stream-K: where tiles do not fill whole rounds of a persistent grid, its CTAs share the steps of K of the last ones
// evenly, so that a CTA ends one tile's K and begins the next one's. Which CTA has what follows from its number.
#pragma once

#include "dsl/dsl.hpp"

namespace kiln::kernels {

/// Of so many tiles, dealt out to so many CTAs or pairs, those whose K is shared. Fewer than there are CTAs: all. Else
/// none where they fill whole rounds, or what fills none and a round more: then each CTA has a tile's K at least, and
/// no tile has more than two parts.
constexpr std::uint64_t shared_tiles(std::uint64_t tiles, std::uint64_t groups) {
  const std::uint64_t rest = tiles % groups;
  return rest == 0 ? 0 : tiles < groups ? tiles : rest + groups;
}

/// What a CTA or pair sums up of a tile.
struct ShareOfTile {
  dsl::U32 number;        // of the tile
  dsl::U32 first, count;  // blocks of K
};

/// What each CTA or pair has, one after the other: its range of the shared tiles' blocks of K, which lie in a row, and
/// then every n-th of the other tiles, n CTAs or pairs being launched. Of its range only the first and the last tile
/// can be a part: so the others' main loops hide how parts are added.
class StreamedTiles {
 public:
  /// `tiles`: all of them; the first `shared` of them are shared. The others fill whole rounds.
  StreamedTiles(const dsl::StaticTiles& tiles, const dsl::U32& shared, const dsl::U32& k_blocks)
      : tiles_(tiles), shared_(shared), k_blocks_(k_blocks), steps_(shared_ * k_blocks_),
        begin_(tiles_.first * steps_ / tiles_.step), end_((tiles_.first + 1) * steps_ / tiles_.step),
        first_(begin_ / k_blocks_),
        shares_(select(begin_ < end_, (end_ + k_blocks_ - 1) / k_blocks_ - first_, 0)),
        trips_(shares_ + (tiles_.rows * tiles_.columns - shared_) / tiles_.step) {}

  const dsl::U32& trips() const { return trips_; }
  /// What is summed up in that trip.
  ShareOfTile share(const dsl::U32& trip) const {
    const dsl::U32 whole = shared_ + tiles_.first + (trip - shares_) * tiles_.step;
    const dsl::U32 number = select(trip < shares_, first_ + trip, whole);
    const dsl::U32 from = select(trip == 0, begin_ - first_ * k_blocks_, 0);
    return {number, from, select(trip + 1 == shares_, end_ - number * k_blocks_, k_blocks_) - from};
  }
  /// The CTA or pair that has the first blocks of a shared tile's K, and how many have some.
  dsl::U32 first_of(const dsl::U32& tile) const { return owner(tile * k_blocks_); }
  dsl::U32 parts_of(const dsl::U32& tile) const { return owner(tile * k_blocks_ + k_blocks_ - 1) - first_of(tile) + 1; }
  /// Which one this is.
  const dsl::U32& own() const { return tiles_.first; }
  /// Parts of all shared tiles, if each CTA's and each tile's beginning began one: so the part of a CTA's has the sum
  /// of both numbers, and those of a tile lie in a row.
  dsl::U32 all_parts() const { return tiles_.step + shared_; }

 private:
  // The last one whose range begins at that block or before it.
  dsl::U32 owner(const dsl::U32& block) const { return ((block + 1) * tiles_.step - 1) / steps_; }

  dsl::StaticTiles tiles_;
  dsl::U32 shared_, k_blocks_, steps_;
  dsl::U32 begin_, end_, first_, shares_, trips_;
};

}  // namespace kiln::kernels

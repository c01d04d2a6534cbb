// Stream-K: where tiles do not fill whole rounds of a persistent grid, its CTAs share the steps of K of the last ones
// evenly, so that a CTA ends one tile's K and begins the next one's. Which CTA has what follows from its number.
#pragma once

#include "dsl/dsl.hpp"

namespace kiln::kernels {

/// What a CTA or pair sums up of a tile.
struct ShareOfTile {
  dsl::U32 tile;          // its number
  dsl::U32 shared;        // the same among the shared tiles, if it is one of them
  dsl::U32 first, count;  // blocks of K
};

/// What each CTA or pair has, one after the other: every n-th tile, n CTAs or pairs being launched, until whole rounds
/// are done, and then its range of the last tiles' blocks of K, which lie in a row. Only the first and the last tile of
/// its range can be a part. Whole rounds are first because then CTAs read the same rows of A and B at the same time:
/// those that have added parts are late.
class StreamedTiles {
 public:
  /// `tiles`: all of them, of which the last `shared` are shared. The others fill whole rounds.
  StreamedTiles(const dsl::StaticTiles& tiles, const dsl::U32& shared, const dsl::U32& k_blocks)
      : tiles_(tiles), shared_(shared), k_blocks_(k_blocks), steps_(shared_ * k_blocks_),
        whole_(tiles_.rows * tiles_.columns - shared_), rounds_(whole_ / tiles_.step),
        begin_(tiles_.first * steps_ / tiles_.step), end_((tiles_.first + 1) * steps_ / tiles_.step),
        first_(begin_ / k_blocks_),
        shares_(select(begin_ < end_, (end_ + k_blocks_ - 1) / k_blocks_ - first_, 0)) {}

  dsl::U32 trips() const { return rounds_ + shares_; }
  /// What is summed up in that trip.
  ShareOfTile share(const dsl::U32& trip) const {
    const dsl::Pred is_whole = trip < rounds_;
    const dsl::U32 nth = trip - rounds_, shared = first_ + nth;
    const dsl::U32 from = select(trip == rounds_, begin_ - first_ * k_blocks_, 0);
    const dsl::U32 until = select(nth + 1 == shares_, end_ - shared * k_blocks_, k_blocks_);
    const dsl::U32 tile = select(is_whole, tiles_.first + trip * tiles_.step, whole_ + shared);
    return {tile, shared, from, select(is_whole, k_blocks_, until - from)};
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
  dsl::U32 whole_, rounds_;                // tiles that no one shares, and those of them that this one has
  dsl::U32 begin_, end_, first_, shares_;  // of all blocks of shared tiles; its first tile, and how many
};

}  // namespace kiln::kernels

// Slices of A and B along an accumulation: MMAs that add up products of the same two tiles must go along K together.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ptx/tile/operand.hpp"

namespace kiln::tile {

/// Where an operand that is right begins.
struct Beginning {
  const Tile* tile = nullptr;
  std::uint32_t number = 0;  // of the tile
  TileOperand::Start start{};
};

/// The MMAs that have added products of one pair of tiles to one accumulator.
class Accumulation {
 public:
  struct Slice {
    rules::KSlices k{};
    const ir::Operation* operation = nullptr;
  };
  /// Slices that contradict those of another MMA.
  struct Apart {
    rules::KSlices now{};
    Slice other{};
  };

  /// Takes the next MMA, of `k` elements. `a_step`: elements along K to one that A stores.
  std::optional<Apart> add(const Beginning& a, const Beginning& b, int k, int a_step, const ir::Operation&);
  /// The accumulator begins again.
  void clear() { *this = {}; }
  bool uses(std::uint32_t tile_number) const { return !slices_.empty() && (a_ == tile_number || b_ == tile_number); }
  /// Calls f(number) for each number on which later verdicts depend.
  template <class F>
  void each(F f) const {
    for (const Tile::At* at : {&a_at_, &b_at_}) {
      f(at->piece), f(at->row);
      for (const std::uint32_t along : at->along) f(along);
    }
    f(a_), f(b_), f(slices_.size());
    for (const Slice& s : slices_) f(std::uint64_t(s.k.a)), f(std::uint64_t(s.k.b));
  }

 private:
  std::uint32_t a_ = 0, b_ = 0;  // numbers of the tiles
  Tile::At a_at_{}, b_at_{};     // where they are read, but for K
  std::vector<Slice> slices_{};
};

/// What the pair of slices is, and its repair, in words; `k` of the MMA.
std::string got(const Accumulation::Apart&);
std::string advance_repair(int k);

}  // namespace kiln::tile

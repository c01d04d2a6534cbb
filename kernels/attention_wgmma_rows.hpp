// CTAs of kernels of attention by wgmma that have 128 rows of a head: which keys these rows see, and how results that
// have a row for each leave.
#pragma once

#include <vector>

#include "kernels/attention_heads.hpp"
#include "kernels/attention_wgmma.hpp"

namespace kiln::kernels::by_wgmma {

using namespace heads;

// A kernel's warpgroups that multiply, and their rows; of a warp, which stores them by itself.
constexpr int groups = 2, rows = 64 * groups, store_rows = 16;

// Keys that come before a row's end. Both count from the lane's first column on.
struct KeysBefore {
  std::vector<S32> ends{};

  auto in(const U32& block) const {
    std::vector<S32> left;
    for (const S32& end : ends) left.push_back(end - bit_cast<S32>(block * keys));
    return [left](int r, int column) { return left[std::size_t(r)] > column; };
  }
};
// What the rows of a CTA see. others(scope, step): step(cut, block) for each block that some row sees, but the last;
// `cut`: some row does not see it all. Both roles go through them with the same words, so that they end together.
struct AllKeys {
  using Seen = KeysBefore;
  static constexpr auto parameter_list = parameters();
  Extents of;

  static auto maker(KernelBuilder&) {
    return [](const Extents& of) { return AllKeys{of}; };
  }
  U32 last() const { return (of.n - 1) / keys; }
  U32 first() const { return {of.n.recorder(), ir::Operand::number(0)}; }
  template <class S, class Step>
  void others(S& scope, Step step) const {
    const U32 whole = last();
    scope.loop(whole, [&](U32 i) { step(false, whole - 1 - i); });
  }
  Seen seen(const U32&, const U32& column) const {
    const S32 end = bit_cast<S32>(of.n - column);
    return {{end, end}};
  }
};
// The rows are the last of as many positions as there are keys, and see none that come later than their own. Where rows
// see different keys they do so in two blocks at most.
struct KeysSoFar {
  using Seen = KeysBefore;
  static constexpr auto parameter_list = parameters();
  static_assert(keys >= rows);
  Extents of;
  U32 block = (of.end(rows - 1) - 1) / keys, whole = min(end_of_first() / keys, block);
  Pred are_two_cut = whole < block;

  static auto maker(KernelBuilder&) {
    return [](const Extents& of) { return KeysSoFar{of}; };
  }
  // The first row's place is among the keys.
  U32 end_of_first() const { return of.n - of.m + of.row + 1; }
  U32 last() const { return block; }
  U32 first() const { return {of.n.recorder(), ir::Operand::number(0)}; }
  template <class S, class Step>
  void others(S& scope, Step step) const {
    scope.when(are_two_cut, [&] { step(true, block - 1); });
    scope.loop(whole, [&](U32 i) { step(false, whole - 1 - i); });
  }
  Seen seen(const U32& row, const U32& column) const {
    Seen seen;
    for (int r = 0; r < rows_of_lane; ++r) seen.ends.push_back(bit_cast<S32>(of.end(row + 8 * r) - column));
    return seen;
  }
};
// What of a tile no warp reads any more is the way out for 64 rows of a warpgroup: `value(i)` is this lane's element i,
// `first` this warp's first row of the tile.
template <class Tile, class Value>
void stage(Warpgroups<groups>& g, const Shared<Tile>& tile, const U32& first, const Value& value) {
  const auto out = cvt<bf16>(make_registers<WgmmaSums<head>::elements>(value));
  for (int c = 0; c < head; c += 16) {
    const auto at = out.operands().begin() + c / 4;
    g.stmatrix<Fragment<bf16, 16, 16>>(tile, first, c, Registers<bf16, 8>(g.recorder(), {at, at + 4}));
  }
}
// Then each warp stores its rows, which are those of a head from `row` on. `map`: makes the tensor map.
template <class Tile, class MapOf>
void store_staged(Warpgroups<groups>& g, const Shared<Tile>& tile, const U32& first, const MapOf& map, const U32& row,
                  const U32& of_head) {
  g.fence_proxy_async();
  g.each_warp([&](Warp w) {
    w.sync();
    w.elect([&](Thread t) {
      const HeadMap to = map(t);
      for (int c = 0; c < head; c += span)
        t.cp_async_bulk_tensor(to.at(0, row + first, c / span, of_head),
                               tile.template columns<span>(c).address + first * Tile::row_pitch);
      t.commit_stores();
      t.wait_stores_read(0);
    });
  });
}

}  // namespace kiln::kernels::by_wgmma

// A role of several warpgroups: all of them see the same rows of sums, and each takes its share of the columns.
#pragma once

#include "ptx/rules/require.hpp"  // first: a broken rule is then two includes away from the user's file

#include "dsl/warp.hpp"
#include "ptx/isa/wgmma.hpp"

namespace kiln::dsl {

/// `groups` warpgroups as one role. What a Warpgroup does for its threads, this does for all of them: sync, elect,
/// arrive, and waits for the slots of a ring. A thread's row is that of its own warpgroup.
template <int groups>
class Warpgroups : public Warpgroup {
 public:
  static_assert(groups >= 1);
  using Warpgroup::Warpgroup;

  /// Whether warpgroups have a part of a tile's columns each.
  template <class Tile>
  static constexpr bool shares =
      Tile::cols % groups == 0 && Shared<Tile>::template slices_columns<Tile::cols / groups>;

  /// The index of this thread's warpgroup in the role.
  U32 group(Here at = {}) const {
    return apply("sub", apply("shr", thread_index(), 7, at), role().first_warp / isa::warps_per_warpgroup, at);
  }
  /// The first of this warpgroup's columns, of `columns` that are shared.
  template <int columns>
  U32 share(Here at = {}) const {
    static_assert(columns % groups == 0, "every warpgroup takes the same number of columns");
    return apply("mul.lo", group(at), columns / groups, at);
  }
  /// This warpgroup's columns of sums.
  template <class T, int M, int N, SumsLayout layout>
    requires(N % groups == 0)
  Tmem<T, M, N / groups, layout> share(const Tmem<T, M, N, layout>& of, Here at = {}) const {
    return of.template columns<N / groups>(share<N>(at), at);
  }
  /// This warpgroup's columns of a tile: whole spans of the swizzle.
  template <class Tile>
    requires(shares<Tile>)
  auto share(const Shared<Tile>& of, Here at = {}) const {
    return of.template columns<Tile::cols / groups>(share<Tile::cols>(at), at);
  }
  // Here only to explain: columns that do not part so, or nothing that has columns.
  template <class T, int M, int N, SumsLayout layout>
    requires(N % groups != 0)
  KILN_REFUSED(arguments, "share(sums): every warpgroup of the role takes the same number of columns [dsl-arguments]")
  Tmem<T, M, N, layout> share(const Tmem<T, M, N, layout>&, Here = {}) const;
  template <class Tile>
    requires(!shares<Tile>)
  KILN_REFUSED(tile_slice, "share(tile): the columns of each warpgroup of the role are whole spans of the swizzle of a "
                           "K-major tile: 64 of bf16 with swizzle_128B, 32 with swizzle_64B [shared-tile-slice]")
  Shared<Tile> share(const Shared<Tile>&, Here = {}) const;
  KILN_OTHERWISE(arguments, "share(sums) or share(tile) of a role's warpgroups: of a slot slot.sums or "
                            "slot.get<Tile>() "
                            "[dsl-arguments]")
  U32 share(rules::Whatever, KILN_WHATEVER) const;
};

}  // namespace kiln::dsl

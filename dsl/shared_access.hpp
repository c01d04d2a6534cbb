// Tiles in shared memory as threads read and write them: rows of a K-major tile, wherever its swizzle puts their
// 16-byte pieces. A thread names its row; the tile's type knows the rest.
#pragma once

#include "dsl/atomics.hpp"
#include "dsl/memory.hpp"
#include "dsl/registers.hpp"

namespace kiln::dsl {

/// A scope whose threads read and write rows of tiles.
class SharedAccess : public Atomics {
 public:
  using Atomics::Atomics;

  /// Reads row `row` of a K-major tile, or `N` elements of it from element `first` on, 16 bytes at a time.
  /// PTX ISA "ld".
  template <class Tile>
  Registers<typename Tile::element, Tile::cols> load_row(const Shared<Tile>& from, const U32& row, Here at = {}) {
    return load_row<Tile::cols>(from, row, 0, at);
  }
  template <int N, class Tile>
  Registers<typename Tile::element, N> load_row(const Shared<Tile>& from, const U32& row, int first, Here at = {}) {
    return {*rec_, load_vectors(row_of(from, row), {begin<Tile, N>(first, at)}, N * Tile::element::bits / 128, at)};
  }
  /// The same from an element that the kernel computes: a multiple of 16 bytes, with N elements from there in the row.
  template <int N, class Tile>
  Registers<typename Tile::element, N> load_row(const Shared<Tile>& from, const U32& row, const U32& first,
                                                Here at = {}) {
    const U32 piece = piece_of<Tile, N>(first, at);
    return {*rec_, load_vectors(row_of(from, row), {0, &piece}, N * Tile::element::bits / 128, at)};
  }
  /// Writes row `row` of a K-major tile, or a part of it from element `first` on.
  template <class Tile, class T, int N, LdState s>
  void store_row(const Shared<Tile>& to, const U32& row, const Registers<T, N, s>& values, Here at = {}) {
    if constexpr (N != Tile::cols)
      (void)rules::refuse<rules::Rule::tile_type, Tile, Registers<T, N, s>>{};
    else
      store_row(to, row, 0, values, at);
  }
  template <class Tile, class T, int N, LdState s>
  void store_row(const Shared<Tile>& to, const U32& row, int first, const Registers<T, N, s>& values, Here at = {}) {
    if constexpr (!std::is_same_v<T, typename Tile::element> || (N > Tile::cols)) {
      (void)rules::refuse<rules::Rule::tile_type, Tile, Registers<T, N, s>>{};
    } else {
      rules::require<rules::step(s, LdEvent::read).verdict, Registers<T, N, s>>();
      store_vectors(row_of(to, row), {begin<Tile, N>(first, at)}, values.operands(at), at);
    }
  }
  template <class Tile, class T, int N, LdState s>
  void store_row(const Shared<Tile>& to, const U32& row, const U32& first, const Registers<T, N, s>& values,
                 Here at = {}) {
    if constexpr (!std::is_same_v<T, typename Tile::element> || (N > Tile::cols)) {
      (void)rules::refuse<rules::Rule::tile_type, Tile, Registers<T, N, s>>{};
    } else {
      rules::require<rules::step(s, LdEvent::read).verdict, Registers<T, N, s>>();
      const U32 piece = piece_of<Tile, N>(first, at);
      store_vectors(row_of(to, row), {0, &piece}, values.operands(at), at);
    }
  }
  /// Writes the row where the predicate holds: store_row(tile, g.row(), values, row < m).
  template <class Tile, class T, int N, LdState s>
  void store_row(const Shared<Tile>& to, const U32& row, const Registers<T, N, s>& values, const Pred& there,
                 Here at = {}) {
    if constexpr (!std::is_same_v<T, typename Tile::element> || N != Tile::cols) {
      (void)rules::refuse<rules::Rule::tile_type, Tile, Registers<T, N, s>>{};
    } else {
      rules::require<rules::step(s, LdEvent::read).verdict, Registers<T, N, s>>();
      store_vectors(row_of(to, row), {}, values.operands(at), at, &there);
    }
  }
  // Here only to explain: no predicate.
  template <class Tile, class T, int N, LdState s, class P>
    requires(ReadsAsValue<P> && !std::is_convertible_v<P, Pred>)
  KILN_REFUSED(value_kind, "store_row(tile, row, values, predicate): compare a value, as in row < m, to make one "
                           "[dsl-value-kind]")
  void store_row(const Shared<Tile>&, const U32& row, const Registers<T, N, s>&, const P&, Here at = {});
  // Here only to explain: other arguments.
  KILN_OTHERWISE(arguments, "load_row(tile, row) or load_row<N>(tile, row, first): a shared tile (of a slot: "
                            "slot.get<Tile>()), a U32, a host integer [dsl-arguments]")
  Registers<f32, 1> load_row(KILN_WHATEVER);
  KILN_OTHERWISE(arguments, "store_row(tile, row, registers) or store_row(tile, row, first, registers): a shared tile "
                            "(of a slot: slot.get<Tile>()), a U32, a host integer [dsl-arguments]")
  void store_row(KILN_WHATEVER);

 protected:
  // The bits that the swizzle exchanges in a line of a tile that lies at a multiple of the period.
  static U32 row_key(const U32& row, isa::Swizzle s, int pitch, Here at);

 private:
  // A row of a tile: where its 16-byte pieces lie follows from these.
  struct Row {
    const U32& tile;
    const U32& row;
    isa::Swizzle swizzle;
    int pitch, block_bytes, blocks;
  };
  // The first of a row's pieces that are moved: a number, or what the kernel computes.
  struct FirstPiece {
    int number = 0;
    const U32* computed = nullptr;
  };
  template <class Tile>
  static Row row_of(const Shared<Tile>& tile, const U32& row) {
    if constexpr (Tile::order != Major::K) (void)rules::refuse<rules::Rule::tile_type, Tile>{};
    return {tile.address, row, Tile::swizzle, Tile::row_pitch, Tile::block_bytes, Tile::blocks};
  }
  // The 16-byte piece in which element `first` stands; N elements from there lie in the row.
  template <class Tile, int N>
  int begin(int first, Here at) const {
    constexpr int piece = 128 / Tile::element::bits;
    static_assert(N % piece == 0, "16 bytes are moved at a time");
    rec_->require(rules::tile_slice(Tile::cols, first, N), at);
    return first / piece;
  }
  template <class Tile, int N>
  static U32 piece_of(const U32& first, Here at) {
    constexpr int piece = 128 / Tile::element::bits;
    static_assert(N % piece == 0, "16 bytes are moved at a time");
    rules::require<rules::tile_slice(Tile::cols, 0, N)>();
    return apply("div", first, piece, at);
  }
  // The address of each piece: `move(address, index)`.
  template <class Move>
  void each_piece(const Row& row, const FirstPiece& first, int count, Move move, Here at);
  std::vector<ir::Operand> load_vectors(const Row& from, const FirstPiece& first, int count, Here at);
  void store_vectors(const Row& to, const FirstPiece& first, const std::vector<ir::Operand>& values, Here at,
                     const Pred* there = nullptr);
};

}  // namespace kiln::dsl

// Asynchronous copies as one thread issues them: TMA tiles in and out, and the mbarriers that count their bytes.
#pragma once

#include "dsl/scope.hpp"

namespace kiln::dsl {

/// How TMA boxes make up a tile.
struct TilePieces {
  int blocks, row_pieces;       // boxes along and across the contiguous dimension
  int block_bytes, piece_bytes; // from one to the next in shared memory
  int box_inner, box_outer;     // and in the tensor, elements
};
template <class Tile>
inline constexpr TilePieces pieces_of{Tile::blocks,    Tile::box_rows_pieces, Tile::block_bytes, Tile::box_outer * Tile::row_pitch,
                                      Tile::box_inner, Tile::box_outer};

/// The copy engine's side of a thread.
class Copies : public Scope {
 public:
  using Scope::Scope;

  /// Copies a tile from a global tensor; its bytes count on `full` when they have arrived.
  template <class Tile>
  void tma_load(const Shared<Tile>& to, const Box<Tile>& from, const Mbarrier& full, Here at = {}) {
    copy_boxes(pieces_of<Tile>, to.address, from.map, from.inner, from.outer, &full, at);
  }
  /// Copies a tile to a global tensor; part of the next commit_stores() group.
  template <class Tile>
  void tma_store(const Box<Tile>& to, const Shared<Tile>& from, Here at = {}) {
    copy_boxes(pieces_of<Tile>, from.address, to.map, to.inner, to.outer, nullptr, at);
  }
  void commit_stores(Here at = {});
  /// Until at most `pending` groups may still read their shared source.
  void wait_stores_read(int pending, Here at = {});

  /// Arrives on an mbarrier and announces `bytes` of copies for its phase.
  void expect_tx(const Mbarrier& b, std::int64_t bytes, Here at = {});
  void arrive(const Mbarrier& b, Here at = {});

 private:
  // One copy for each box: loads that complete on `full`, stores where it is null.
  void copy_boxes(const TilePieces& pieces, const U32& shared, const ir::Operand& map, const U32& inner,
                  const U32& outer, const Mbarrier* full, Here at);
};

}  // namespace kiln::dsl

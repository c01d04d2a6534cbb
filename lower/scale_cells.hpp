// The cells of tensor memory's image that hold the scales of one warp's rows of A, or columns of B.
#pragma once

#include "lower/engine.hpp"

namespace kiln::lower {

/// Who scales, which decides the rows that a thread needs the scales of. `sums`: the thread itself, its own sums: those
/// of two rows or columns of a tile. `mma_sync`: the instruction, which takes the scales of a tile from all lanes, one
/// row or column from each.
enum class ScaledBy : std::uint8_t { sums, mma_sync };

/// Code that loads them, to %lw_s<letter>0 and on: 32 bits of each row, which are four scales. Uses %lw_x<3> and
/// %lw_cell, and %lw_image.
class ScaleCells {
 public:
  ScaleCells(Text&, const Plan&, const Form&, char letter, ScaledBy);

  void declare() const;
  /// What stays the same for all steps of a command.
  void begin() const;
  /// Those of a step, unless the last step's are in the same cells.
  void load(std::size_t step) const;

  int per_tile() const { return by_ == ScaledBy::sums ? 2 : 1; }
  /// The register of a tile's cell.
  std::string cell(int tile, int i = 0) const { return fmt::format("%lw_s{}{}", x_, per_tile() * tile + i); }
  /// The byte of the cell that has the first scale of a step.
  int first_byte(std::size_t step) const { return is_a() ? f_.steps[step].sfa_id : f_.steps[step].sfb_id; }

 private:
  bool is_a() const { return x_ == 'a'; }
  int tile_rows() const { return is_a() ? 16 : 8; }
  int tiles() const { return is_a() ? f_.share.row_tiles() : f_.share.column_tiles(); }
  std::int64_t column(std::size_t step) const { return is_a() ? f_.steps[step].sfa : f_.steps[step].sfb; }
  void find_row() const;

  Text& out_;
  ImageAccess image_;
  const Form& f_;
  char x_;
  ScaledBy by_;
};

}  // namespace kiln::lower

// The cells of tensor memory's image that hold the scales of one warp's rows of A, or columns of B.
#pragma once

#include "lower/engine.hpp"

namespace kiln::lower {

/// Who scales, which decides whose scales a thread holds. `sums`: the thread itself, its own sums. Those of two rows or
/// columns of a tile it needs, and so do others, each of other tiles too: so a lane holds two of every eighth row or
/// column of 64, and gives them to who asks. `mma_sync`: the instruction, which takes the scales of a tile from all
/// lanes, one row or column from each.
enum class ScaledBy : std::uint8_t { sums, mma_sync };

/// Code that loads them, to %lw_s<letter>0 and on: 32 bits of each row, which are four scales. Uses %lw_x<3> and
/// %lw_cell, %lw_l and %lw_image.
class ScaleCells {
 public:
  ScaleCells(Text&, const Plan&, const Form&, char letter, ScaledBy);

  void declare() const;
  /// What stays the same for all steps of a command.
  void begin() const;
  /// Those of a step, unless the last step's are in the same cells.
  void load(std::size_t step) const;

  /// The register that says where they are: so many times image_lane_bytes, below 2^place_bits, and 32 more of these
  /// for each column.
  std::string place() const { return fmt::format("%lw_s{}r", x_); }
  static constexpr int place_bits = 14;

  /// Registers that a lane holds.
  int held() const { return by_ == ScaledBy::sums ? 2 * ((tiles() + tiles_at_once() - 1) / tiles_at_once()) : tiles(); }
  std::string cell(int held) const { return fmt::format("%lw_s{}{}", x_, held); }
  /// Of `sums`: tiles of 64 rows or columns. Registers 2 (t / tiles_at_once()) and the next are for tile t, in the
  /// lanes l with l % 4 = t % 4 for A, and l / 4 = t % 8 for B.
  int tiles_at_once() const { return is_a() ? 4 : 8; }
  /// The byte of the cell that has the first scale of a step.
  int first_byte(std::size_t step) const { return is_a() ? f_.steps[step].sfa_id : f_.steps[step].sfb_id; }

 private:
  bool is_a() const { return x_ == 'a'; }
  int tile_rows() const { return is_a() ? 16 : 8; }
  int tiles() const { return is_a() ? f_.share.row_tiles() : f_.share.column_tiles(); }
  std::int64_t column(std::size_t step) const { return is_a() ? f_.steps[step].sfa : f_.steps[step].sfb; }
  void find_row() const;
  void find_tile(const char* to) const;
  void load_set(std::int64_t start, int set) const;
  void load_cells(std::int64_t further, int first, int count) const;
  void load_cells_at(const char* place, int first, int count) const;

  Text& out_;
  ImageAccess image_;
  const Form& f_;
  char x_;
  ScaledBy by_;
};

}  // namespace kiln::lower

// The cells of tensor memory's image that hold the scales of one warp's rows of A, or columns of B.
#pragma once

#include "lower/engine/form_code.hpp"
#include "lower/engine/image.hpp"

namespace kiln::lower {

/// What scales, which decides whose scales a thread holds. `sums`: the thread itself, its own sums. It needs those of
/// two rows or columns of each tile, and so do other threads: so a lane holds two of every eighth row or column of 64,
/// and gives them to those that need them. `mma_sync`: the instruction, which takes the scales of a tile from all
/// lanes, one row or column from each.
enum class ScaledBy : std::uint8_t { sums, mma_sync };

/// Code that loads them: 32 bits of each row, which are four scales.
class ScaleCells {
 public:
  ScaleCells(const FormCode&, const Image&, bool is_of_a, ScaledBy);

  /// What stays the same for all steps of a command.
  void begin() const;
  /// Those of a step, unless the last step's are in the same cells.
  void load(std::size_t step) const;

  /// The register that says where they are: so many times image_lane_bytes, below 2^place_bits, and 32 more of these
  /// for each column.
  Register place() const { return place_; }
  static constexpr int place_bits = 14;

  bool is_of_a() const { return is_of_a_; }
  /// Registers that a lane holds.
  int held() const { return by_ == ScaledBy::sums ? 2 * ((tiles() + tiles_at_once() - 1) / tiles_at_once()) : tiles(); }
  Register cell(int held) const { return cells_[std::size_t(held)]; }
  /// Of `sums`: tiles of 64 rows or columns. Registers 2 (t / tiles_at_once()) and the next are for tile t, in the
  /// lanes l with l % 4 = t % 4 for A, and l / 4 = t % 8 for B.
  int tiles_at_once() const { return is_of_a_ ? 4 : 8; }
  /// The byte of the cell that has the first scale of a step.
  int first_byte(std::size_t step) const { return is_of_a_ ? f_.steps[step].sfa_id : f_.steps[step].sfb_id; }

 private:
  int tile_rows() const { return is_of_a_ ? 16 : 8; }
  int tiles() const { return is_of_a_ ? f_.share.row_tiles() : f_.share.column_tiles(); }
  std::int64_t column(std::size_t step) const { return is_of_a_ ? f_.steps[step].sfa : f_.steps[step].sfb; }
  void find_row() const;
  Register find_tile() const;
  void load_set(std::int64_t start, int set) const;
  void load_cells(std::int64_t further, int first, int count) const;
  void load_cells_at(Register place, int first, int count) const;

  Builder& b_;
  const FormCode& code_;
  const Form& f_;
  const Image& image_;
  bool is_of_a_;
  ScaledBy by_;
  Registers cells_;
  Register place_;
};

}  // namespace kiln::lower

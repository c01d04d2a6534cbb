#include "lower/engine/scale_cells.hpp"

#include <bit>

#include "lower/engine/queue.hpp"
#include "ptx/isa/scales.hpp"

namespace kiln::lower {
namespace {

constexpr int column_bytes = isa::scale_column_rows * image_lane_bytes;

}  // namespace

ScaleCells::ScaleCells(const FormCode& c, const Image& image, bool is_of_a, ScaledBy by)
    : b_(c.b),
      code_(c),
      f_(c.form),
      image_(image),
      is_of_a_(is_of_a),
      by_(by),
      cells_(c.b.regs(ScalarType::b32, held())),
      place_(c.b.reg(ScalarType::b32)) {}

// The place of this thread's scales of the first tile, or of the first tiles at once, in bytes of columns one after the
// other, so that so many rows or columns further on are so many bytes more. Lanes beyond the last tile hold that one's
// too.
void ScaleCells::begin() const {
  const Register row = b_.reg(ScalarType::b32);
  const auto warps_n = std::uint32_t(f_.share.warps_n);
  is_of_a_ ? b_.quotient(row, code_.engine.warp, warps_n) : b_.rest(row, code_.engine.warp, warps_n);
  b_.op("mul.lo.u32", row, row, tiles() * tile_rows());
  if (by_ == ScaledBy::sums) {
    const Register tile = find_tile();
    if (tiles() < tiles_at_once()) b_.op("min.u32", tile, tile, tiles() - 1);
    b_.op("mad.lo.u32", row, tile, tile_rows(), row);
  }
  find_row();
  b_.op("add.u32", place_, place_, row);
  b_.op("bfe.u32", row, code_.engine.command[2], is_of_a_ ? start_of_sfa : start_of_sfb, tensor_column_bits);
  b_.op("mad.lo.u32", place_, row, isa::scale_column_rows, place_);
  b_.op("mul.lo.u32", place_, place_, image_lane_bytes);
}

// Sums: rows l / 4 and 8 further on, columns 2 (l % 4) and the next. For mma.sync with thread-id 0, lanes 4 r and 4 r +
// 1 have rows r and r + 8, and lane 4 c has column c; it ignores what the others have.
void ScaleCells::find_row() const {
  const Register lane = code_.engine.lane;
  if (is_of_a_ || by_ == ScaledBy::mma_sync)
    b_.op("shr.u32", place_, lane, 2);
  else
    b_.op("bfi.b32", place_, lane, 0, 1, 2);
  if (is_of_a_ && by_ == ScaledBy::mma_sync) b_.op("bfi.b32", place_, lane, place_, 3, 1);
}

// Of the tiles at once, the one whose scales this lane holds.
Register ScaleCells::find_tile() const {
  return is_of_a_ ? b_.b32("and.b32", code_.engine.lane, 3) : b_.b32("shr.u32", code_.engine.lane, 2);
}

void ScaleCells::load(std::size_t step) const {
  if (step && column(step) == column(step - 1)) return;
  const std::int64_t start = column(step) * column_bytes;
  if (by_ == ScaledBy::sums)
    for (int set = 0; 2 * set < held(); ++set) load_set(start, set);
  else
    for (int t = 0; t < tiles(); ++t) load_cells(start + t * tile_rows() * image_lane_bytes, t, 1);
}

// Lanes beyond the last tile hold those of the first set again.
void ScaleCells::load_set(std::int64_t start, int set) const {
  const int first = set * tiles_at_once();
  const std::int64_t further = start + first * tile_rows() * image_lane_bytes;
  if (set == 0 || first + tiles_at_once() <= tiles()) return load_cells(further, 2 * set, 2);
  const Register is_there = b_.pred("setp.lt.u32", find_tile(), tiles() - first);
  const Register place = b_.b32("selp.b32", further, start, is_there);
  b_.op("add.s32", place, place, place_);
  load_cells_at(place, 2 * set, 2);
}

void ScaleCells::load_cells(std::int64_t further, int first, int count) const {
  load_cells_at(b_.b32("add.s32", place_, further), first, count);
}

// Those of a row, and of the other one that this thread has of that tile.
void ScaleCells::load_cells_at(Register place, int first, int count) const {
  const Register lane = b_.b32("and.b32", place, column_bytes - 1);
  const Register column = b_.b32("shr.u32", place, std::countr_zero(unsigned(column_bytes)));
  const Register address = image_.address();
  image_.find_cell(address, column, lane);
  for (int i = 0; i < count; ++i)
    b_.op(image_.load(), cell(first + i), at(address, i * (is_of_a_ ? 8 : 1) * image_lane_bytes));
}

}  // namespace kiln::lower

#include "lower/scale_cells.hpp"

#include <bit>

#include "lower/queue.hpp"
#include "ptx/isa/scales.hpp"

namespace kiln::lower {
namespace {

constexpr int column_bytes = isa::scale_column_rows * image_lane_bytes;

}  // namespace

ScaleCells::ScaleCells(Text& out, const Plan& plan, const Form& form, char letter, ScaledBy by)
    : out_(out), image_(plan), f_(form), x_(letter), by_(by) {}

void ScaleCells::declare() const { out_.line(".reg .b32 %lw_s{0}<{1}>, %lw_s{0}r;", x_, held()); }

// %lw_s?r: where this thread's scales of the first tile are, or of the first tiles at once, in bytes of columns one
// after the other, so that so many rows or columns further on are so many bytes more. Lanes beyond the last tile hold
// that one's too.
void ScaleCells::begin() const {
  out_.line("{}.u32 %lw_x0, %lw_w, {};", is_a() ? "div" : "rem", f_.share.warps_n);
  out_.line("mul.lo.u32 %lw_x0, %lw_x0, {};", tiles() * tile_rows());
  if (by_ == ScaledBy::sums) {
    find_tile("%lw_x1");
    if (tiles() < tiles_at_once()) out_.line("min.u32 %lw_x1, %lw_x1, {};", tiles() - 1);
    out_.line("mad.lo.u32 %lw_x0, %lw_x1, {}, %lw_x0;", tile_rows());
  }
  find_row();
  out_.line("add.u32 %lw_s{0}r, %lw_s{0}r, %lw_x0;", x_);
  out_.line("bfe.u32 %lw_x0, %lw_c2, {}, {};", is_a() ? start_of_sfa : start_of_sfb, tensor_column_bits);
  out_.line("mad.lo.u32 %lw_s{0}r, %lw_x0, {1}, %lw_s{0}r;", x_, isa::scale_column_rows);
  out_.line("mul.lo.u32 %lw_s{0}r, %lw_s{0}r, {1};", x_, image_lane_bytes);
}

// Sums: rows l / 4 and 8 further on, columns 2 (l % 4) and the next. For mma.sync with thread-id 0, lanes 4 r and 4 r +
// 1 have rows r and r + 8, and lane 4 c has column c; what the others have, nobody reads.
void ScaleCells::find_row() const {
  if (is_a() || by_ == ScaledBy::mma_sync)
    out_.line("shr.u32 %lw_s{}r, %lw_l, 2;", x_);
  else
    out_.line("bfi.b32 %lw_sbr, %lw_l, 0, 1, 2;");
  if (is_a() && by_ == ScaledBy::mma_sync) out_.line("bfi.b32 %lw_sar, %lw_l, %lw_sar, 3, 1;");
}

// Of the tiles at once, the one whose scales this lane holds.
void ScaleCells::find_tile(const char* to) const {
  if (is_a())
    out_.line("and.b32 {}, %lw_l, 3;", to);
  else
    out_.line("shr.u32 {}, %lw_l, 2;", to);
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
  out_.line("{{");
  out_.line(".reg .pred %lw_sp;");
  find_tile("%lw_x0");
  out_.line("setp.lt.u32 %lw_sp, %lw_x0, {};", tiles() - first);
  out_.line("selp.b32 %lw_x1, {}, {}, %lw_sp;", further, start);
  out_.line("add.s32 %lw_x1, %lw_x1, %lw_s{}r;", x_);
  load_cells_at("%lw_x1", 2 * set, 2);
  out_.line("}}");
}

void ScaleCells::load_cells(std::int64_t further, int first, int count) const {
  out_.line("add.s32 %lw_x1, %lw_s{}r, {};", x_, further);
  load_cells_at("%lw_x1", first, count);
}

// Those of a row, and of the other one that this thread has of that tile.
void ScaleCells::load_cells_at(const char* place, int first, int count) const {
  out_.line("and.b32 %lw_x0, {}, {};", place, column_bytes - 1);
  out_.line("shr.u32 %lw_x1, {}, {};", place, std::countr_zero(unsigned(column_bytes)));
  write_cell_address(out_, image_, "%lw_cell", "%lw_x1", "%lw_x0", "%lw_x2");
  for (int i = 0; i < count; ++i)
    out_.line("ld.{}.b32 {}, [%lw_cell+{}];", image_.space(), cell(first + i), i * (is_a() ? 8 : 1) * image_lane_bytes);
}

}  // namespace kiln::lower

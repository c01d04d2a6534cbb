#include "lower/scale_cells.hpp"

#include "lower/queue.hpp"
#include "ptx/isa/scales.hpp"

namespace kiln::lower {

ScaleCells::ScaleCells(Text& out, const Plan& plan, const Form& form, char letter, ScaledBy by)
    : out_(out), image_(plan), f_(form), x_(letter), by_(by) {}

void ScaleCells::declare() const {
  out_.line(".reg .b32 %lw_s{0}<{1}>, %lw_s{0}w, %lw_s{0}l, %lw_s{0}c;", x_, per_tile() * tiles());
}

// %lw_s?w: the first row of this warp. %lw_s?l: this thread's first row in a tile, in bytes of the image. %lw_s?c: the
// column where the scales begin.
void ScaleCells::begin() const {
  out_.line("{}.u32 %lw_s{}w, %lw_w, {};", is_a() ? "div" : "rem", x_, f_.share.warps_n);
  out_.line("mul.lo.u32 %lw_s{0}w, %lw_s{0}w, {1};", x_, tiles() * tile_rows());
  find_row();
  out_.line("mul.lo.u32 %lw_s{0}l, %lw_s{0}l, {1};", x_, image_lane_bytes);
  out_.line("bfe.u32 %lw_s{}c, %lw_c2, {}, {};", x_, is_a() ? start_of_sfa : start_of_sfb, tensor_column_bits);
}

// Sums: rows l / 4 and 8 further on, columns 2 (l % 4) and the next. For mma.sync with thread-id 0, lanes 4 r and 4 r +
// 1 have rows r and r + 8, and lane 4 c has column c; what the others have, nobody reads.
void ScaleCells::find_row() const {
  if (is_a() || by_ == ScaledBy::mma_sync)
    out_.line("shr.u32 %lw_s{}l, %lw_l, 2;", x_);
  else
    out_.line("bfi.b32 %lw_sbl, %lw_l, 0, 1, 2;");
  if (is_a() && by_ == ScaledBy::mma_sync) out_.line("bfi.b32 %lw_sal, %lw_l, %lw_sal, 3, 1;");
}

void ScaleCells::load(std::size_t step) const {
  if (step && column(step) == column(step - 1)) return;
  for (int t = 0; t < tiles(); ++t) {
    out_.line("add.u32 %lw_x0, %lw_s{}w, {};", x_, t * tile_rows());
    out_.line("shr.u32 %lw_x1, %lw_x0, 5;");
    out_.line("add.u32 %lw_x1, %lw_x1, %lw_s{}c;", x_);
    if (column(step)) out_.line("add.s32 %lw_x1, %lw_x1, {};", column(step));
    out_.line("and.b32 %lw_x0, %lw_x0, {};", isa::scale_column_rows - 1);
    out_.line("mad.lo.u32 %lw_x0, %lw_x0, {}, %lw_s{}l;", image_lane_bytes, x_);
    write_cell_address(out_, image_, "%lw_cell", "%lw_x1", "%lw_x0", "%lw_x2");
    for (int i = 0; i < per_tile(); ++i)
      out_.line("ld.{}.b32 {}, [%lw_cell+{}];", image_.space(), cell(t, i), i * (is_a() ? 8 : 1) * image_lane_bytes);
  }
}

}  // namespace kiln::lower

#include "lower/mask.hpp"

#include <bit>

#include "lower/queue.hpp"

namespace kiln::lower {

// %lw_z2: the thread's first column in its part of the mask, from the start of the part's first run. %lw_z3: whether
// that run is of zeros. Each part has its start count and its first run.
void ColumnMask::find_place() const {
  const Share& s = form_.share;
  const int warps_of_part = s.warps_n / s.parts;
  out_.line("and.b32 %lw_z4, %lw_w, {};", s.warps_n - 1);
  out_.line("shr.u32 %lw_z5, %lw_z4, {};", std::countr_zero(unsigned(warps_of_part)));
  out_.line("shr.u32 %lw_z3, %lw_z1, %lw_z5;");
  out_.line("and.b32 %lw_z3, %lw_z3, 1;");
  out_.line("shl.b32 %lw_z5, %lw_z5, 3;");
  out_.line("bfe.u32 %lw_z2, %lw_z0, %lw_z5, 8;");
  out_.line("and.b32 %lw_z4, %lw_z4, {};", warps_of_part - 1);
  out_.line("mad.lo.u32 %lw_z2, %lw_z4, {}, %lw_z2;", 8 * s.column_tiles());
  out_.line("shr.u32 %lw_z4, %lw_l, 2;");
  out_.line("add.u32 %lw_z2, %lw_z2, %lw_z4;");
}

// %lw_z: a bit for each tile of 8 columns, in which this thread has one. Runs take turns, one long and the other.
void ColumnMask::begin() const {
  out_.line(".reg .b32 %lw_z, %lw_zs, %lw_z<8>;");
  out_.line(".reg .pred %lw_zp, %lw_zq;");
  out_.line("ld.shared.b32 %lw_z0, [%lw_at+{}];", slot_more);
  out_.line("ld.shared.b32 %lw_z1, [%lw_at+{}];", slot_more + 4);
  find_place();
  out_.line("bfe.u32 %lw_z4, %lw_z1, 8, 8;");
  out_.line("bfe.u32 %lw_z5, %lw_z1, 16, 8;");
  out_.line("add.u32 %lw_z4, %lw_z4, 1;");       // columns of a run of zeros
  out_.line("add.u32 %lw_z5, %lw_z5, 1;");       // and of the others
  out_.line("add.u32 %lw_z6, %lw_z4, %lw_z5;");  // of both
  out_.line("setp.ne.u32 %lw_zp, %lw_z3, 0;");
  out_.line("@!%lw_zp add.u32 %lw_z2, %lw_z2, %lw_z4;");  // as if a run of zeros were first
  out_.line("rem.u32 %lw_z2, %lw_z2, %lw_z6;");
  out_.line("rem.u32 %lw_z7, 8, %lw_z6;");
  out_.line("mov.b32 %lw_z, 0;");
  for (int tile = 0; tile < form_.share.column_tiles(); ++tile) {
    if (tile) {
      out_.line("add.u32 %lw_z2, %lw_z2, %lw_z7;");
      out_.line("setp.ge.u32 %lw_zp, %lw_z2, %lw_z6;");
      out_.line("@%lw_zp sub.u32 %lw_z2, %lw_z2, %lw_z6;");
    }
    out_.line("setp.lt.u32 %lw_zp, %lw_z2, %lw_z4;");
    out_.line("@%lw_zp or.b32 %lw_z, %lw_z, {};", 1u << tile);
  }
  out_.line("and.b32 %lw_z2, %lw_z1, 0x80;");  // whether there are zeros at all
  out_.line("setp.ne.u32 %lw_zp, %lw_z2, 0;");
  out_.line("selp.b32 %lw_z, %lw_z, 0, %lw_zp;");
  out_.line("bfe.u32 %lw_zs, %lw_z1, 24, 6;");
}

void ColumnMask::apply(int tile, const std::vector<std::string>& fragments) const {
  out_.line("and.b32 %lw_z2, %lw_z, {};", 1u << tile);
  out_.line("setp.ne.u32 %lw_zq, %lw_z2, 0;");
  for (const std::string& f : fragments) out_.line("selp.b32 {0}, 0, {0}, %lw_zq;", f);
}

}  // namespace kiln::lower

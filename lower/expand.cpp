// A sparse A of 8-bit floats with its zeros, in registers: sm_90 has no tensor core for these, and what ptxas makes of
// mma.sp converts and moves metadata for each one.
#include "lower/sparse.hpp"

namespace kiln::lower {

void ExpansionCode::declare() const {
  out_.line(".reg .b32 %lw_g<{}>, %lw_h<8>, %lw_hs, %lw_hw<4>, %lw_hl<4>;", 8 * form_.share.row_tiles());
}

// %lw_h0, %lw_h1: what makes byte 0 and 1 of a permutation's zero, for threads with an odd number byte 2 and 3. %lw_hs:
// how far to the right the thread's four bits of metadata are. %lw_hl: from which lanes the stored elements come.
void ExpansionCode::begin() const {
  out_.line("and.b32 %lw_hs, %lw_l, 1;");
  out_.line("mad.lo.u32 %lw_h0, %lw_hs, 2, 4;");
  out_.line("add.u32 %lw_h1, %lw_h0, 1;");
  out_.line("and.b32 %lw_hs, %lw_l, 3;");
  out_.line("shr.u32 %lw_hl0, %lw_hs, 1;");
  out_.line("shl.b32 %lw_hs, %lw_hs, 2;");
  out_.line("and.b32 %lw_hl2, %lw_l, 28;");
  out_.line("add.u32 %lw_hl0, %lw_hl0, %lw_hl2;");
  out_.line("add.u32 %lw_hl1, %lw_hl0, 2;");
}

void ExpansionCode::expand(int tile, const std::string& metadata) const {
  for (int lane = 0; lane < 4; ++lane) {
    out_.line("add.u32 %lw_hl3, %lw_hl2, {};", lane);
    out_.line("shfl.sync.idx.b32 %lw_hw{}, {}, %lw_hl3, 31, 0xffffffff;", lane, metadata);
    out_.line("shr.u32 %lw_hw{0}, %lw_hw{0}, %lw_hs;", lane);
  }
  for (int half = 0; half < 2; ++half)
    for (int row = 0; row < 2; ++row)
      for (int quarter = 0; quarter < 2; ++quarter) expand_register(tile, half, row, quarter);
}

// Each metadata's four bits say where in four bytes of zeros two stored ones belong.
void ExpansionCode::expand_register(int tile, int half, int row, int quarter) const {
  const std::string to = fmt::format("%lw_g{}", 8 * tile + 4 * half + 2 * quarter + row);
  out_.line("shfl.sync.idx.b32 {}, %lw_fa{}, %lw_hl{}, 31, 0xffffffff;", to, 2 * half + row, quarter);
  out_.line("bfe.u32 %lw_h2, %lw_hw{}, {}, 2;", 2 * half + row, 16 * quarter);
  out_.line("bfe.u32 %lw_h3, %lw_hw{}, {}, 2;", 2 * half + row, 16 * quarter + 2);
  out_.line("shl.b32 %lw_h2, %lw_h2, 2;");
  out_.line("shl.b32 %lw_h3, %lw_h3, 2;");
  out_.line("shl.b32 %lw_h2, %lw_h0, %lw_h2;");
  out_.line("shl.b32 %lw_h3, %lw_h1, %lw_h3;");
  out_.line("xor.b32 %lw_h2, %lw_h2, %lw_h3;");
  out_.line("xor.b32 %lw_h2, %lw_h2, 0x4444;");
  out_.line("prmt.b32 {0}, {0}, 0, %lw_h2;", to);
}

}  // namespace kiln::lower

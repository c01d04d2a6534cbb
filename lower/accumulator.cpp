// The accumulator of the engine's warps: in registers while MMAs add to it, in the image when somebody may read it.
#include "lower/engine.hpp"

namespace kiln::lower {

void ImageAccess::find(Text& out) const {
  out.line(".reg .{} %lw_image;", reg());
  if (!is_global) {
    out.line("mov.b32 %lw_image, {};", plan.dynamic_name.empty() ? "lw_dynamic" : plan.dynamic_name);
    return out.line("add.u32 %lw_image, %lw_image, {};", plan.image_offset);
  }
  out.line(".reg .b32 %lw_own;");
  out.line("ld.shared.b32 %lw_own, [lw_slot];");
  out.line("mov.b64 %lw_image, lw_memory;");
  out.line("mad.wide.u32 %lw_image, %lw_own, {}, %lw_image;", plan.image_bytes());
}

void ImageAccess::add(Text& out, const char* to, const char* offset) const {
  if (!is_global) return out.line("add.u32 {}, %lw_image, {};", to, offset);
  out.line("cvt.u64.u32 {}, {};", to, offset);
  out.line("add.u64 {0}, {0}, %lw_image;", to);
}

void write_cell_address(Text& out, const ImageAccess& image, const char* to, const char* column, const char* lane,
                        const char* scratch) {
  out.line("shr.u32 {}, {}, 3;", scratch, column);
  out.line("mad.lo.u32 {0}, {0}, {1}, {2};", scratch, image_group_bytes, lane);
  out.line("bfi.b32 {0}, {1}, {0}, 2, 3;", scratch, column);
  image.add(out, to, scratch);
}

namespace {

void move_pair(Text& out, const ImageAccess& image, int reg, int at, bool loads) {
  if (loads)
    out.line("ld.{}.v2.b32 {{%lw_d{}, %lw_d{}}}, [%lw_at+{}];", image.space(), reg, reg + 1, at);
  else
    out.line("st.{}.v2.b32 [%lw_at+{}], {{%lw_d{}, %lw_d{}}};", image.space(), at, reg, reg + 1);
}

// Two sums of 16 bits in a register, and each in the low half of a cell of its own.
void move_packed(Text& out, const ImageAccess& image, int reg, int at, bool loads) {
  if (loads) {
    out.line("ld.{}.v2.b32 {{%lw_x0, %lw_x1}}, [%lw_at+{}];", image.space(), at);
    return out.line("prmt.b32 %lw_d{}, %lw_x0, %lw_x1, 0x5410;", reg);
  }
  out.line("and.b32 %lw_x0, %lw_d{}, 0xffff;", reg);
  out.line("shr.u32 %lw_x1, %lw_d{}, 16;", reg);
  out.line("st.{}.v2.b32 [%lw_at+{}], {{%lw_x0, %lw_x1}};", image.space(), at);
}

// %lw_x0, %lw_x1: the lane and the column of this thread's first sum. Registers of m16n8: row t / 4 and, from the third
// on, 8 further down; columns 2 (t % 4) and the next.
void find_first_sum(Text& out, const Share& s) {
  const int warps_of_part = s.warps_n / s.parts;
  find_self(out);
  out.line("shr.u32 %lw_x0, %lw_held, 16;");
  out.line("div.u32 %lw_x1, %lw_w, {};", s.warps_n);
  out.line("mad.lo.u32 %lw_x0, %lw_x1, {}, %lw_x0;", s.row_tiles() * s.tile_lanes());
  out.line("shr.u32 %lw_x2, %lw_l, 2;");
  out.line("add.u32 %lw_x0, %lw_x0, %lw_x2;");
  out.line("rem.u32 %lw_x1, %lw_w, {};", s.warps_n);
  if (s.parts > 1 && s.halves == 1) {
    out.line("div.u32 %lw_x2, %lw_x1, {};", warps_of_part);
    out.line("mad.lo.u32 %lw_x0, %lw_x2, {}, %lw_x0;", s.m);
    out.line("rem.u32 %lw_x1, %lw_x1, {};", warps_of_part);
  }
  out.line("and.b32 %lw_x0, %lw_x0, 127;");
  out.line("and.b32 %lw_x2, %lw_held, {};", held_column);
  out.line("and.b32 %lw_x3, %lw_held, 1;");  // two columns are stored at a time
  out.line("setp.ne.u32 %lw_p3, %lw_x3, 0;");
  out.line("@%lw_p3 trap;");
  out.line("mad.lo.u32 %lw_x1, %lw_x1, {}, %lw_x2;", s.half_tiles() * 8);
  out.line("and.b32 %lw_x2, %lw_l, 3;");
  out.line("mad.lo.u32 %lw_x1, %lw_x2, 2, %lw_x1;");
}

// Columns of the half that this CTA has of B: to the right of the others, or below them, if the CTA is the odd one.
void find_own_half(Text& out, const Share& s) {
  out.line("mov.u32 %lw_odd, %cluster_ctarank;");
  out.line("and.b32 %lw_odd, %lw_odd, 1;");
  if (s.parts == 2)
    out.line("mad.lo.u32 %lw_x0, %lw_odd, {}, %lw_x0;", s.m);
  else
    out.line("mad.lo.u32 %lw_x1, %lw_odd, {}, %lw_x1;", s.n / 2);
}

// %lw_x1: the offset of lane %lw_x0 and column %lw_x1.
void find_cell(Text& out) {
  out.line("shr.u32 %lw_x2, %lw_x1, 3;");
  out.line("and.b32 %lw_x1, %lw_x1, 7;");
  out.line("shl.b32 %lw_x1, %lw_x1, 2;");
  out.line("mad.lo.u32 %lw_x1, %lw_x2, {}, %lw_x1;", image_group_bytes);
  out.line("mad.lo.u32 %lw_x1, %lw_x0, {}, %lw_x1;", image_lane_bytes);
}

// %lw_at: further by a half's distance, or back by it.
void find_other_half(Text& out, const ImageAccess& image, const Share& s) {
  const int distance = s.parts == 2 ? s.m * image_lane_bytes : s.n / 16 * image_group_bytes;
  out.line("mul.lo.u32 %lw_x0, %lw_odd, {};", 2 * distance);
  out.line("sub.u32 %lw_x0, {}, %lw_x0;", distance);
  if (image.is_global) {
    out.line("cvt.s64.s32 %lw_far, %lw_x0;");
    return out.line("add.s64 %lw_at, %lw_at, %lw_far;");
  }
  out.line("add.u32 %lw_at, %lw_at, %lw_x0;");
}

void move_tiles(Text& out, const ImageAccess& image, const Share& s, int half_of_b, bool loads) {
  const int first = half_of_b * s.half_tiles();
  for (int i = 0; i < s.row_tiles(); ++i)
    for (int j = 0; j < s.half_tiles(); ++j)
      for (int half = 0; half < 2; ++half) {
        const int at = (i * s.tile_lanes() + 8 * half) * image_lane_bytes + j * image_group_bytes;
        const int tile = i * s.column_tiles() + first + j;
        if (s.tile_registers() == 2)
          move_packed(out, image, tile * 2 + half, at, loads);
        else
          move_pair(out, image, tile * 4 + 2 * half, at, loads);
      }
}

}  // namespace

void write_transfer(Text& out, const Plan& plan, const Share& s, const char* way) {
  const ImageAccess image(plan);
  const bool loads = way[0] == 'l';
  out.line("{{");
  out.line(".reg .b32 %lw_x<4>;");
  out.line(".reg .{} %lw_at;", image.reg());
  if (s.halves == 2) out.line(".reg .b32 %lw_odd;");
  if (s.halves == 2 && image.is_global) out.line(".reg .b64 %lw_far;");
  image.find(out);
  find_first_sum(out, s);
  if (s.halves == 2) find_own_half(out, s);
  find_cell(out);
  image.add(out, "%lw_at", "%lw_x1");
  for (int half = 0; half < s.halves; ++half) {
    if (half == 1) find_other_half(out, image, s);
    move_tiles(out, image, s, half, loads);
  }
  out.line("}}");
}

}  // namespace kiln::lower

#include "lower/sparse.hpp"

#include <bit>

#include "lower/queue.hpp"
#include "ptx/isa/sparse.hpp"

namespace kiln::lower {

void MetadataCode::declare() const {
  out_.line(".reg .b32 %lw_m<{}>, %lw_mp, %lw_mn, %lw_mt<2>;", form_.share.row_tiles());
  out_.line(".reg .{} %lw_ml;", ImageAccess(plan_).reg());
}

// %lw_mp: the lane of the image that this one reads for the first tile, in bytes; %lw_mn: its column.
void MetadataCode::begin() const {
  const Share& s = form_.share;
  out_.line("shr.u32 %lw_mp, %lw_c1, 16;");
  out_.line("shr.u32 %lw_mt0, %lw_w, {};", std::countr_zero(unsigned(s.warps_n)));
  out_.line("mad.lo.u32 %lw_mp, %lw_mt0, {}, %lw_mp;", s.row_tiles() * s.tile_lanes());
  if (s.parts > 1) {
    out_.line("and.b32 %lw_mt0, %lw_w, {};", s.warps_n - 1);
    out_.line("shr.u32 %lw_mt0, %lw_mt0, {};", std::countr_zero(unsigned(s.warps_n / s.parts)));
    out_.line("mad.lo.u32 %lw_mp, %lw_mt0, {}, %lw_mp;", s.m);
  }
  out_.line("and.b32 %lw_mt0, %lw_l, 1;");
  out_.line("mad.lo.u32 %lw_mp, %lw_mt0, 8, %lw_mp;");
  out_.line("shr.u32 %lw_mt0, %lw_l, 2;");
  out_.line("add.u32 %lw_mp, %lw_mp, %lw_mt0;");
  out_.line("and.b32 %lw_mp, %lw_mp, 127;");
  out_.line("shl.b32 %lw_mp, %lw_mp, {};", std::countr_zero(unsigned(image_lane_bytes)));
  out_.line("shr.u32 %lw_mn, %lw_c2, {};", start_of_metadata);
  if (isa::metadata_columns(form_.kind) == 1) return;
  out_.line("shr.u32 %lw_mt0, %lw_l, 1;");
  out_.line("and.b32 %lw_mt0, %lw_mt0, 1;");
  out_.line("add.u32 %lw_mn, %lw_mn, %lw_mt0;");
}

void MetadataCode::address(std::size_t step) const {
  out_.line("add.s32 %lw_mt0, %lw_mn, {};", form_.steps[step].metadata);
  out_.line("shr.u32 %lw_mt1, %lw_mt0, 3;");
  out_.line("and.b32 %lw_mt0, %lw_mt0, 7;");
  out_.line("mad.lo.u32 %lw_mt1, %lw_mt1, {}, %lw_mp;", image_group_bytes);
  out_.line("mad.lo.u32 %lw_mt1, %lw_mt0, 4, %lw_mt1;");
  ImageAccess(plan_).add(out_, "%lw_ml", "%lw_mt1");
}

void MetadataCode::load(int tile) const {
  out_.line("ld.{}.b32 {}, [%lw_ml+{}];", ImageAccess(plan_).space(), fragment(tile),
            tile * form_.share.tile_lanes() * image_lane_bytes);
}

std::string MetadataCode::fragment(int tile) const { return fmt::format("%lw_m{}", tile); }

}  // namespace kiln::lower

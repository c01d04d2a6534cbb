#include "lower/engine/sparse.hpp"

#include <bit>

#include "lower/engine/queue.hpp"
#include "ptx/isa/sparse.hpp"

namespace kiln::lower {

MetadataCode::MetadataCode(const FormCode& c, const Image& image)
    : code_(c),
      image_(image),
      words_(c.b.regs(ScalarType::b32, c.form.share.row_tiles())),
      lane_(c.b.reg(ScalarType::b32)),
      column_(c.b.reg(ScalarType::b32)),
      address_(image.address()) {}

void MetadataCode::begin() const {
  Builder& b = code_.b;
  const Share& s = code_.form.share;
  const EngineRegisters& e = code_.engine;
  b.op("shr.u32", lane_, e.command[1], 16);
  const Register row = b.b32("shr.u32", e.warp, std::countr_zero(unsigned(s.warps_n)));
  b.op("mad.lo.u32", lane_, row, s.row_tiles() * s.tile_lanes(), lane_);
  if (s.parts > 1) {
    const Register part = b.b32("and.b32", e.warp, s.warps_n - 1);
    b.op("shr.u32", part, part, std::countr_zero(unsigned(s.warps_n / s.parts)));
    b.op("mad.lo.u32", lane_, part, s.m, lane_);
  }
  const Register odd = b.b32("and.b32", e.lane, 1);
  b.op("mad.lo.u32", lane_, odd, 8, lane_);
  b.op("shr.u32", odd, e.lane, 2);
  b.op("add.u32", lane_, lane_, odd);
  b.op("and.b32", lane_, lane_, 127);
  b.op("shl.b32", lane_, lane_, std::countr_zero(unsigned(image_lane_bytes)));
  b.op("shr.u32", column_, e.command[2], start_of_metadata);
  if (isa::metadata_columns(code_.form.kind) == 1) return;
  const Register second = b.b32("shr.u32", e.lane, 1);
  b.op("and.b32", second, second, 1);
  b.op("add.u32", column_, column_, second);
}

void MetadataCode::find_step(std::size_t step) const {
  Builder& b = code_.b;
  const Register column = b.b32("add.s32", column_, code_.form.steps[step].metadata);
  const Register group = b.b32("shr.u32", column, 3);
  b.op("and.b32", column, column, 7);
  b.op("mad.lo.u32", group, group, image_group_bytes, lane_);
  b.op("mad.lo.u32", group, column, 4, group);
  image_.add(address_, group);
}

void MetadataCode::load(int tile) const {
  code_.b.op(image_.load(), word(tile), at(address_, tile * code_.form.share.tile_lanes() * image_lane_bytes));
}

}  // namespace kiln::lower

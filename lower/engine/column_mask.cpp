#include "lower/engine/column_mask.hpp"

#include <bit>

#include "lower/engine/home.hpp"
#include "lower/engine/queue.hpp"

namespace kiln::lower {

// The thread's first column in its part of the mask, from the start of the part's first run, and whether that run is of
// zeros. Each part has its start count and its first run.
ColumnMask::Run ColumnMask::find_run(Register starts, Register rest) const {
  const Share& s = code_.form.share;
  const int warps_of_part = s.warps_n / s.parts;
  const Register warp = b_.b32("and.b32", code_.engine.warp, s.warps_n - 1);
  const Register part = b_.b32("shr.u32", warp, std::countr_zero(unsigned(warps_of_part)));
  const Register is_zeros = b_.b32("shr.u32", rest, part);
  b_.op("and.b32", is_zeros, is_zeros, 1);
  b_.op("shl.b32", part, part, 3);
  const Register place = b_.b32("bfe.u32", starts, part, 8);
  b_.op("and.b32", warp, warp, warps_of_part - 1);
  b_.op("mad.lo.u32", place, warp, 8 * s.column_tiles(), place);
  b_.op("shr.u32", warp, code_.engine.lane, 2);
  b_.op("add.u32", place, place, warp);
  return {place, is_zeros};
}

// Runs of zeros and of other columns take turns.
void ColumnMask::begin() {
  zeros_ = b_.reg(ScalarType::b32);
  shift_ = b_.reg(ScalarType::b32);
  const std::string load = Home(b_, code_.plan).access("ld", "b32");
  const Register starts = b_.b32(load, at(code_.engine.slot, slot_more));
  const Register rest = b_.b32(load, at(code_.engine.slot, slot_more + 4));
  const auto [place, is_zeros] = find_run(starts, rest);
  const Register zeros = b_.b32("bfe.u32", rest, 8, 8), others = b_.b32("bfe.u32", rest, 16, 8);
  b_.op("add.u32", zeros, zeros, 1);    // columns of a run of zeros
  b_.op("add.u32", others, others, 1);  // and of the others
  const Register both = b_.b32("add.u32", zeros, others);
  const Register first_is_zeros = b_.pred("setp.ne.u32", is_zeros, 0);
  b_.op_if(!first_is_zeros, "add.u32", place, place, zeros);  // as if a run of zeros were first
  b_.op("rem.u32", place, place, both);
  const Register step = b_.b32("rem.u32", 8, both);
  b_.op("mov.b32", zeros_, 0);
  for (int tile = 0; tile < code_.form.share.column_tiles(); ++tile) {
    if (tile) {
      b_.op("add.u32", place, place, step);
      b_.op_if(b_.pred("setp.ge.u32", place, both), "sub.u32", place, place, both);
    }
    b_.op_if(b_.pred("setp.lt.u32", place, zeros), "or.b32", zeros_, zeros_, 1u << tile);
  }
  b_.op("and.b32", place, rest, bits(0x80));  // whether there are zeros at all
  b_.op("selp.b32", zeros_, zeros_, 0, b_.pred("setp.ne.u32", place, 0));
  b_.op("bfe.u32", shift_, rest, 24, 6);
}

void ColumnMask::clear(int tile, const Registers& fragments) const {
  const Register bit = b_.b32("and.b32", zeros_, 1u << tile), is_zero = b_.pred("setp.ne.u32", bit, 0);
  for (const Register f : fragments) b_.op("selp.b32", f, 0, f, is_zero);
}

}  // namespace kiln::lower

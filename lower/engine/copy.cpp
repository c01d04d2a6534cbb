#include "lower/engine/image.hpp"

#include <bit>

#include "lower/engine/operand.hpp"
#include "ptx/isa/tmem.hpp"

namespace kiln::lower {
namespace {

using isa::DataShape;

// By 16 bytes: those of a row, and of how many lanes.
struct Extent {
  int lanes = 0;
  int pieces = 0;
};
Extent extent(DataShape s) {
  switch (s) {
    case DataShape::s128x256b: return {isa::tmem_lanes, 2};
    case DataShape::s4x256b: return {4, 2};
    default: return {isa::tmem_lanes, 1};
  }
}

// Each thread of the engine moves 16 bytes of one lane at a time, so that what is multicast is read as often as it is
// written.
class CopyCode {
 public:
  CopyCode(Builder& b, const Plan& p, const EngineRegisters& e, const Copy& copy)
      : b_(b), p_(p), e_(e), copy_(copy), image_(b, p), words_(b.regs(ScalarType::b32, 4)) {}

  void write() {
    const Extent e = extent(copy_.shape);
    const int threads = int(p_.engine_warps) * 32;
    image_.find();
    first_column_ = b_.b32("and.b32", e_.command[1], bits(0xffff));
    for (int first = 0; first < e.lanes * e.pieces; first += threads) {
      const Register lane = b_.b32("mov.b32", e_.thread);
      if (first) b_.op("add.u32", lane, lane, first);
      b_.op("setp.ge.u32", e_.condition, lane, e.lanes * e.pieces);
      b_.when(!e_.condition, [&] {
        const Register piece = b_.b32("shr.u32", lane, std::countr_zero(unsigned(e.lanes)));
        b_.op("and.b32", lane, lane, e.lanes - 1);
        load(lane, piece);
        store(lane, piece);
      });
    }
  }

 private:
  // The row that goes to a lane.
  Register find_row(Register lane) {
    if (copy_.shape == DataShape::s32x128b) return b_.b32("and.b32", lane, 31);
    if (copy_.shape != DataShape::s64x128b) return b_.b32("mov.b32", lane);
    if (copy_.multicast == isa::CpMulticast::warpx2_02_13) return b_.b32("and.b32", lane, 63);
    const Register row = b_.b32("and.b32", lane, 31), half = b_.b32("shr.u32", lane, 6);
    b_.op("mad.lo.u32", row, half, 32, row);
    return row;
  }

  void load(Register lane, Register piece) {
    const Layout& l = copy_.from;
    const Register row = find_row(lane), address = b_.b32("and.b32", e_.command[2], bits(0x3fff));
    b_.op("shl.b32", address, address, 4);
    if (p_.has_clusters) {  // a descriptor has an offset; an address in a cluster names the CTA too
      const Register rank = b_.b32("mov.u32", "%cluster_ctarank");
      b_.op("mapa.shared::cluster.u32", address, address, rank);
    }
    const Register scratch = b_.b32("and.b32", row, 7);
    b_.op("mad.lo.u32", address, scratch, isa::span_bytes(*l.swizzle), address);
    b_.op("shr.u32", scratch, row, 3);
    b_.op("mad.lo.u32", address, scratch, *l.stride, address);
    b_.op("mad.lo.u32", address, piece, *l.swizzle == isa::Swizzle::none ? *l.leading : 16, address);
    write_exchange(b_, l, address, scratch);
    b_.op("ld.shared.v4.b32", vec(words_, 0, 4), at(address));
  }

  // Four cells of a lane. Those whose column is a multiple of four lie in a row.
  void store(Register lane, Register column) {
    if (copy_.shape == DataShape::s4x256b) {
      b_.op("shl.b32", lane, lane, 5);
      const Register first = b_.b32("shr.u32", e_.command[1], 16);
      b_.op("add.u32", lane, lane, first);
      b_.op("and.b32", lane, lane, 127);
    }
    b_.op("mul.lo.u32", lane, lane, image_lane_bytes);
    b_.op("mad.lo.u32", column, column, 4, first_column_);
    const Register low = b_.b32("and.b32", column, 3), in_a_row = e_.condition;
    b_.op("setp.eq.u32", in_a_row, low, 0);
    const Register address = image_.address();
    for (int i = 0; i < 4; ++i) {
      image_.find_cell(address, column, lane);
      if (i == 0) b_.op_if(in_a_row, image_.store(4), at(address), vec(words_, 0, 4));
      b_.op_if(!in_a_row, image_.store(), at(address), words_[std::size_t(i)]);
      if (i != 3) b_.op("add.u32", column, column, 1);
    }
  }

  Builder& b_;
  const Plan& p_;
  const EngineRegisters& e_;
  const Copy& copy_;
  Image image_;
  Registers words_;
  Register first_column_{};
};

}  // namespace

void write_copy(Builder& b, const Plan& plan, const EngineRegisters& e, std::size_t number) {
  b.scope([&] { CopyCode(b, plan, e, plan.copies[number]).write(); });
}

}  // namespace kiln::lower

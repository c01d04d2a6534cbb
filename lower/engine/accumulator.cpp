#include "lower/engine/image.hpp"

namespace kiln::lower {
namespace {

class Transfer {
 public:
  Transfer(Builder& b, const Plan& p, const EngineRegisters& e, const Share& s, bool loads)
      : b_(b), e_(e), share_(s), image_(b, p), loads_(loads) {}

  void write() {
    image_.find();
    find_first_sum();
    if (share_.halves == 2) find_own_half();
    image_.find_offset(column_, lane_);
    address_ = image_.address();
    image_.add(address_, column_);
    for (int half = 0; half < share_.halves; ++half) {
      if (half == 1) find_other_half();
      move_tiles(half);
    }
  }

 private:
  // The lane and the column of this thread's first sum. Registers of m16n8: row t / 4 and, from the third on, 8 further
  // down; columns 2 (t % 4) and the next.
  void find_first_sum() {
    const auto warps_of_part = std::uint32_t(share_.warps_n / share_.parts);
    e_.find_self(b_);
    lane_ = b_.b32("shr.u32", e_.held, 16);
    const Register place = b_.reg(isa::ScalarType::b32);
    b_.quotient(place, e_.warp, std::uint32_t(share_.warps_n));
    b_.op("mad.lo.u32", lane_, place, share_.row_tiles() * share_.tile_lanes(), lane_);
    const Register more = b_.b32("shr.u32", e_.lane, 2);
    b_.op("add.u32", lane_, lane_, more);
    b_.rest(place, e_.warp, std::uint32_t(share_.warps_n));
    if (share_.parts > 1 && share_.halves == 1) {
      b_.quotient(more, place, warps_of_part);
      b_.op("mad.lo.u32", lane_, more, share_.m, lane_);
      b_.rest(place, place, warps_of_part);
    }
    b_.op("and.b32", lane_, lane_, 127);
    b_.op("and.b32", more, e_.held, held_column);
    const Register odd = b_.b32("and.b32", e_.held, 1);  // two columns are stored at a time
    b_.op_if(b_.pred("setp.ne.u32", odd, 0), "trap");
    b_.op("mad.lo.u32", place, place, share_.half_tiles() * 8, more);
    b_.op("and.b32", more, e_.lane, 3);
    b_.op("mad.lo.u32", place, more, 2, place);
    column_ = place;
  }

  // Columns of the half that this CTA has of B: to the right of the others, or below them, in the odd CTA.
  void find_own_half() {
    is_odd_ = b_.b32("mov.u32", "%cluster_ctarank");
    b_.op("and.b32", is_odd_, is_odd_, 1);
    if (share_.parts == 2)
      b_.op("mad.lo.u32", lane_, is_odd_, share_.m, lane_);
    else
      b_.op("mad.lo.u32", column_, is_odd_, share_.n / 2, column_);
  }

  // The address: further by a half's distance, or back by it.
  void find_other_half() {
    const int distance = share_.parts == 2 ? share_.m * image_lane_bytes : share_.n / 16 * image_group_bytes;
    const Register further = b_.b32("mul.lo.u32", is_odd_, 2 * distance);
    b_.op("sub.u32", further, distance, further);
    if (image_.is_global())
      b_.op("add.s64", address_, address_, b_.b64("cvt.s64.s32", further));
    else
      b_.op("add.u32", address_, address_, further);
  }

  void move_tiles(int half_of_b) {
    const int first = half_of_b * share_.half_tiles();
    const Registers words = b_.regs(ScalarType::b32, 2);
    for (int i = 0; i < share_.row_tiles(); ++i)
      for (int j = 0; j < share_.half_tiles(); ++j)
        for (int half = 0; half < 2; ++half) {
          const int offset = (i * share_.tile_lanes() + 8 * half) * image_lane_bytes + j * image_group_bytes;
          const int tile = i * share_.column_tiles() + first + j;
          if (share_.tile_registers() == 2)
            move_packed(e_.sums[std::size_t(tile * 2 + half)], offset, words);
          else
            move(vec(e_.sums, tile * 4 + 2 * half, 2), offset);
        }
  }

  void move(Term two, int offset) {
    if (loads_)
      b_.op(image_.load(2), two, at(address_, offset));
    else
      b_.op(image_.store(2), at(address_, offset), two);
  }

  // Two sums of 16 bits in a register, and each in the low half of a cell of its own.
  void move_packed(Register sums, int offset, const Registers& words) {
    if (loads_) {
      move(vec(words, 0, 2), offset);
      return b_.op("prmt.b32", sums, words[0], words[1], bits(0x5410));
    }
    b_.op("and.b32", words[0], sums, bits(0xffff));
    b_.op("shr.u32", words[1], sums, 16);
    move(vec(words, 0, 2), offset);
  }

  Builder& b_;
  const EngineRegisters& e_;
  const Share& share_;
  Image image_;
  bool loads_;
  Register lane_{}, column_{}, address_{}, is_odd_{};
};

}  // namespace

void load_sums(Builder& b, const Plan& p, const EngineRegisters& e, const Share& s) {
  b.scope([&] { Transfer(b, p, e, s, true).write(); });
}

void store_sums(Builder& b, const Plan& p, const EngineRegisters& e, const Share& s) {
  b.scope([&] { Transfer(b, p, e, s, false).write(); });
}

}  // namespace kiln::lower

#include "lower/engine/operand.hpp"

#include <algorithm>
#include <bit>

#include "lower/engine/queue.hpp"

namespace kiln::lower {
namespace {

using isa::Swizzle;

// The shift and the mask that make the bits to exchange out of an address.
struct Exchange {
  int shift = 0;
  unsigned mask = 0;
};
constexpr Exchange exchange(Swizzle s) {
  switch (s) {
    case Swizzle::b32: return {3, 0x10};
    case Swizzle::b64: return {3, 0x30};
    case Swizzle::b128: return {3, 0x70};
    case Swizzle::b128_atom32: return {2, 0x60};
    default: return {};
  }
}

// Bits that turn the sign of every element of a register.
std::uint32_t sign_bits(isa::MmaKind kind) {
  switch (kind) {
    case isa::MmaKind::tf32: return 0x80000000;
    case isa::MmaKind::f16: return 0x80008000;
    case isa::MmaKind::mxf4:
    case isa::MmaKind::mxf4nvf4: return 0x88888888;
    default: return 0x80808080;
  }
}

}  // namespace

OperandCode::OperandCode(const FormCode& c, const Image& image, Side side, int fragments)
    : b_(c.b), code_(c), form_(c.form), image_(image), side_(side), fragments_(b_.regs(ScalarType::b32, fragments)) {
  for (Register* r : {&warp_, &start_, &along_mn_, &along_k_, &key_}) *r = b_.reg(ScalarType::b32);
  tile_ = b_.regs(ScalarType::b32, std::max(tiles(), 2));
  if (!in_tmem()) return;
  low_ = image_.address();
  high_ = image_.address();
}

// There are powers of two of them.
void OperandCode::find_warp() {
  const unsigned n = unsigned(form_.share.warps_n);
  if (is_a())
    b_.op("shr.u32", warp_, code_.engine.warp, std::countr_zero(n));
  else
    b_.op("and.b32", warp_, code_.engine.warp, n - 1);
}

// The address that the descriptor begins with. It is an offset: an address in a cluster names the CTA too.
void OperandCode::find_start() {
  if (is_a())
    b_.op("shl.b32", start_, code_.engine.command[2], 4);
  else
    b_.op("shr.u32", start_, code_.engine.command[0], start_of_b - 4);
  b_.op("and.b32", start_, start_, 0x3fff << 4);
  if (!code_.plan.has_clusters) return;
  const Register rank = b_.b32("mov.u32", "%cluster_ctarank");
  b_.op("mapa.shared::cluster.u32", start_, start_, rank);
}

void OperandCode::begin() {
  code_.engine.find_self(b_);
  if (in_tmem()) {
    find_warp();
    return begin_image();
  }
  if (is_gathered()) return begin_gathering();
  if (!is_k_major()) return begin_columns();
  find_lane_offset();
  const Register offset = b_.b32("mov.b32", start_);
  find_start();
  b_.op("add.u32", start_, start_, offset);
}

// Lane l gives ldmatrix row l % 8 of matrix l / 8. Where each lane loads its own elements: row l / 4 of each matrix.
void OperandCode::find_lane_offset() {
  const Register lane = code_.engine.lane, row = tile_[0];
  find_warp();
  if (is_narrow()) {
    b_.op("shr.u32", row, lane, 2);
    b_.op("mov.b32", along_mn_, 0);
    b_.op("mov.b32", along_k_, 0);
  } else {
    find_matrix();
  }
  if (is_shifted()) {
    b_.op("add.u32", row, row, shift_);
    const Register group = b_.b32("shr.u32", row, 3);
    b_.op("and.b32", row, row, 7);
    b_.op("add.u32", along_mn_, along_mn_, group);
  }
  b_.op("mad.lo.u32", along_mn_, warp_, groups(), along_mn_);
  b_.op("mul.lo.u32", start_, row, isa::span_bytes(*layout().swizzle));
  b_.op("mad.lo.u32", start_, along_mn_, *layout().stride, start_);
  b_.op("mad.lo.u32", start_, along_k_, is_plain() ? *layout().leading : 16, start_);
  if (!is_narrow()) return;
  b_.op("and.b32", row, lane, 3);  // this thread's four elements, from the word of 16 bits they begin in
  b_.op("mul.lo.u32", row, row, isa::bits(type()) / 2);
  b_.op("and.b32", row, row, 14);
  b_.op("add.u32", start_, start_, row);
}

void OperandCode::find_matrix() {
  const Register lane = code_.engine.lane, first = is_a() ? along_k_ : along_mn_,
                 second = is_a() ? along_mn_ : along_k_;
  b_.op("shr.u32", first, lane, 4);
  b_.op("shr.u32", second, lane, 3);
  b_.op("and.b32", second, second, 1);
  b_.op("and.b32", tile_[0], lane, 7);
}

// A row of the matrix is a line of 8 elements along M or N; ldmatrix transposes it. Without a swizzle, the two offsets
// of the descriptor change places. along_mn_: the first element of this lane's line of the first tile.
void OperandCode::begin_columns() {
  find_warp();
  find_matrix();
  find_start();
  b_.op("mad.lo.u32", start_, tile_[0], isa::span_bytes(*layout().swizzle), start_);
  b_.op("mad.lo.u32", start_, along_k_, is_plain() ? *layout().leading : *layout().stride, start_);
  b_.op("mad.lo.u32", along_mn_, warp_, groups(), along_mn_);
  b_.op("shl.b32", along_mn_, along_mn_, 3);
}

// The lane of the image of this thread's first row, in bytes, and its first column.
void OperandCode::begin_image() {
  const Share& s = form_.share;
  const EngineRegisters& e = code_.engine;
  const Register lane = b_.b32("shr.u32", e.command[2], 16);
  b_.op("mad.lo.u32", warp_, warp_, s.row_tiles() * s.tile_lanes(), lane);
  if (s.parts > 1) {  // each part of N has rows of its own
    const Register part = b_.b32("and.b32", e.warp, s.warps_n - 1);
    b_.op("shr.u32", part, part, std::countr_zero(unsigned(s.warps_n / s.parts)));
    b_.op("mad.lo.u32", warp_, part, s.m, warp_);
  }
  b_.op("shr.u32", lane, e.lane, 2);
  b_.op("add.u32", warp_, warp_, lane);
  b_.op("and.b32", warp_, warp_, 127);
  b_.op("shl.b32", warp_, warp_, 5);
  b_.op("and.b32", start_, e.command[2], bits(0xffff));
  const Register column = b_.b32("and.b32", e.lane, 3);
  b_.op("add.u32", start_, start_, column);
}

// From the first 32 bytes of K to the second.
std::int64_t OperandCode::half_offset() const {
  if (side_ != Side::second_half_of_b) return 0;
  if (is_k_major()) return is_plain() ? 2 * *layout().leading : 32;
  return (isa::container_bits(form_.kind) == 8 ? 4 : 2) * group_offset();
}

void OperandCode::find_step(std::size_t step) {
  const std::int64_t offset = (is_a() ? form_.steps[step].a : form_.steps[step].b) + half_offset();
  if (in_tmem()) return find_image_step(offset);
  if (is_narrow() || is_gathered()) return b_.op("add.s32", tile_[0], start_, offset);
  for (int i = 0; i < (tiles_follow() ? 1 : tiles()); ++i) {
    if (is_k_major())
      b_.op("add.s32", tile_[std::size_t(i)], start_, offset + tile_offset(i));
    else
      find_tile_of_columns(i, offset);
    exchange_bits(tile_[std::size_t(i)]);
  }
}

// A word of each half of K for this thread.
void OperandCode::find_image_step(std::int64_t offset) {
  for (const int further : {0, 4}) {  // columns
    const Register column = b_.b32("add.s32", start_, offset + further), group = b_.b32("shr.u32", column, 3);
    b_.op("and.b32", column, column, 7);
    b_.op("mad.lo.u32", group, group, image_group_bytes, warp_);
    b_.op("mad.lo.u32", group, column, 4, group);
    image_.add(further ? high_ : low_, group);
  }
}

void OperandCode::find_tile_of_columns(int tile, std::int64_t offset) const {
  const int in_atom = isa::span_bytes(*layout().swizzle) / 2;  // elements
  const Register address = tile_[std::size_t(tile)], element = b_.b32("add.u32", along_mn_, 16 * tile);
  b_.op("shr.u32", address, element, std::countr_zero(unsigned(in_atom)));
  b_.op("and.b32", element, element, in_atom - 1);
  b_.op("mad.lo.u32", address, address, is_plain() ? *layout().stride : *layout().leading, start_);
  b_.op("mad.lo.u32", address, element, 2, address);
  b_.op("add.s32", address, address, offset);
}

void OperandCode::load(int tile, int first, bool half) const {
  if (in_tmem())
    load_image(tile, first);
  else if (is_gathered())
    load_gathered(tile, first, half);
  else if (is_narrow())
    load_narrow(tile, first, half);
  else
    load_matrices(tile, first, half);
  if (is_a() && form_.negates)
    for (int r = 0; r < 4; ++r) b_.op("xor.b32", fragment(first + r), fragment(first + r), bits(sign_bits(form_.kind)));
}

void OperandCode::load_image(int tile, int first) const {
  for (int r = 0; r < 4; ++r)
    b_.op(image_.load(), fragment(first + r),
          at(r < 2 ? low_ : high_, (tile * form_.share.tile_lanes() + 8 * (r % 2)) * image_lane_bytes));
}

void OperandCode::load_matrices(int tile, int first, bool half) const {
  const Term place = tiles_follow() ? at(tile_[0], tile_offset(tile)) : at(tile_[std::size_t(tile)]);
  b_.op(dotted({"ldmatrix.sync.aligned.m8n8", half ? "x2" : "x4", is_k_major() ? "" : "trans", "shared.b16"}),
        fragments(first, half ? 2 : 4), place);
}

// The exchanged bits of a row are those of the row 16 further on.
bool OperandCode::tiles_follow() const {
  return is_k_major() && 2 * *layout().stride % std::uint32_t(isa::period_bytes(*layout().swizzle)) == 0;
}

void write_exchange(Builder& b, const Layout& l, Register address, Register key) {
  const Exchange e = exchange(*l.swizzle);
  if (e.mask == 0) return;
  const bool has_offset = *l.base_offset != 0;
  if (has_offset) b.op("sub.u32", key, address, *l.base_offset * 128);
  b.op("shr.u32", key, has_offset ? key : address, e.shift);
  b.op("and.b32", key, key, e.mask);
  b.op("xor.b32", address, address, key);
}

}  // namespace kiln::lower

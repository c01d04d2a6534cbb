#include "lower/operand.hpp"

#include <bit>

#include "lower/queue.hpp"

namespace kiln::lower {
namespace {

using isa::Swizzle;

// The shift and the mask that make the bits to exchange out of an address.
struct Exchange {
  int shift = 0;
  int mask = 0;
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

OperandCode::OperandCode(Text& out, const Plan& plan, const Form& form, char letter)
    : out_(out), plan_(plan), form_(form), x_(letter) {}

void OperandCode::declare(int fragments) const {
  out_.line(".reg .b32 %lw_f{0}<{1}>, %lw_{0}n, %lw_{0}m, %lw_{0}k, %lw_{0}p, %lw_{0}t<{2}>;", x_, fragments,
            std::max(tiles(), 2) + 2);
  if (in_tmem()) out_.line(".reg .{} %lw_{}l, %lw_{}h;", ImageAccess(plan_).reg(), x_, x_);
}

// The row or the column of warps that this one is in. There are powers of two of them.
void OperandCode::find_warp(const char* to) const {
  const unsigned n = unsigned(form_.share.warps_n);
  if (is_a())
    out_.line("shr.u32 %lw_{}{}, %lw_w, {};", x_, to, std::countr_zero(n));
  else
    out_.line("and.b32 %lw_{}{}, %lw_w, {};", x_, to, n - 1);
}

void OperandCode::find_start() const {
  if (is_a())
    out_.line("shl.b32 %lw_an, %lw_c2, 4;");
  else
    out_.line("shr.u32 %lw_{}n, %lw_c0, {};", x_, start_of_b - 4);
  out_.line("and.b32 %lw_{0}n, %lw_{0}n, {1};", x_, 0x3fff << 4);
  // A descriptor has an offset, whose CTA an address in a cluster names.
  if (!plan_.has_clusters) return;
  out_.line("mov.u32 %lw_{}t1, %cluster_ctarank;", x_);
  out_.line("mapa.shared::cluster.u32 %lw_{0}n, %lw_{0}n, %lw_{0}t1;", x_);
}

// %lw_?p: the warp's place. %lw_?n: the address of this lane's row, less the step.
void OperandCode::begin() const {
  find_self(out_);
  if (in_tmem()) {
    find_warp("p");
    return begin_image();
  }
  if (is_gathered()) return begin_gathering();
  if (!is_k_major()) return begin_columns();
  find_lane_offset();
  out_.line("mov.b32 %lw_{0}m, %lw_{0}n;", x_);
  find_start();
  out_.line("add.u32 %lw_{0}n, %lw_{0}n, %lw_{0}m;", x_);
}

// Lane l gives ldmatrix row l % 8 of matrix l / 8. %lw_?m, %lw_?k: which of the two matrices along M or N and along K
// that is. Where each lane loads its own elements: row l / 4 of each matrix.
void OperandCode::find_lane_offset() const {
  const std::string to = fmt::format("%lw_{}n", x_);
  find_warp("p");
  if (is_narrow()) {
    out_.line("shr.u32 %lw_{}t0, %lw_l, 2;", x_);
    out_.line("mov.b32 %lw_{}m, 0;", x_);
    out_.line("mov.b32 %lw_{}k, 0;", x_);
  } else {
    find_matrix();
  }
  if (is_shifted()) {
    out_.line("add.u32 %lw_{0}t0, %lw_{0}t0, %lw_zs;", x_);
    out_.line("shr.u32 %lw_{0}t1, %lw_{0}t0, 3;", x_);
    out_.line("and.b32 %lw_{0}t0, %lw_{0}t0, 7;", x_);
    out_.line("add.u32 %lw_{0}m, %lw_{0}m, %lw_{0}t1;", x_);
  }
  out_.line("mad.lo.u32 %lw_{0}m, %lw_{0}p, {1}, %lw_{0}m;", x_, groups());
  out_.line("mul.lo.u32 {}, %lw_{}t0, {};", to, x_, isa::span_bytes(*layout().swizzle));
  out_.line("mad.lo.u32 {0}, %lw_{1}m, {2}, {0};", to, x_, *layout().stride);
  out_.line("mad.lo.u32 {0}, %lw_{1}k, {2}, {0};", to, x_, *layout().swizzle == Swizzle::none ? *layout().leading : 16);
  if (!is_narrow()) return;
  out_.line("and.b32 %lw_{}t0, %lw_l, 3;", x_);  // this thread's four elements, from the word of 16 bits they begin in
  out_.line("mul.lo.u32 %lw_{0}t0, %lw_{0}t0, {1};", x_, isa::bits(type()) / 2);
  out_.line("and.b32 %lw_{0}t0, %lw_{0}t0, 14;", x_);
  out_.line("add.u32 {0}, {0}, %lw_{1}t0;", to, x_);
}

void OperandCode::find_matrix() const {
  out_.line("shr.u32 %lw_{}{}, %lw_l, 4;", x_, is_a() ? 'k' : 'm');
  out_.line("shr.u32 %lw_{}{}, %lw_l, 3;", x_, is_a() ? 'm' : 'k');
  out_.line("and.b32 %lw_{0}{1}, %lw_{0}{1}, 1;", x_, is_a() ? 'm' : 'k');
  out_.line("and.b32 %lw_{}t0, %lw_l, 7;", x_);
}

// A row of the matrix is a line of 8 elements along M or N; ldmatrix turns it over. Without a swizzle, the offsets have
// changed places. %lw_?m: the first element of this lane's line of the first tile.
void OperandCode::begin_columns() const {
  const bool plain = *layout().swizzle == Swizzle::none;
  find_warp("p");
  find_matrix();
  find_start();
  out_.line("mad.lo.u32 %lw_{0}n, %lw_{0}t0, {1}, %lw_{0}n;", x_, isa::span_bytes(*layout().swizzle));
  out_.line("mad.lo.u32 %lw_{0}n, %lw_{0}k, {1}, %lw_{0}n;", x_, plain ? *layout().leading : *layout().stride);
  out_.line("mad.lo.u32 %lw_{0}m, %lw_{0}p, {1}, %lw_{0}m;", x_, groups());
  out_.line("shl.b32 %lw_{0}m, %lw_{0}m, 3;", x_);
}

// %lw_?p: the lane of the image of this thread's first row, in bytes; %lw_?n: its first column.
void OperandCode::begin_image() const {
  const int tile_lanes = form_.share.tile_lanes();
  out_.line("shr.u32 %lw_{}t0, %lw_c2, 16;", x_);
  out_.line("mad.lo.u32 %lw_{0}p, %lw_{0}p, {1}, %lw_{0}t0;", x_, form_.share.row_tiles() * tile_lanes);
  if (form_.share.parts > 1) {  // each part of N has rows of its own
    out_.line("and.b32 %lw_{}t0, %lw_w, {};", x_, form_.share.warps_n - 1);
    out_.line("shr.u32 %lw_{0}t0, %lw_{0}t0, {1};", x_,
              std::countr_zero(unsigned(form_.share.warps_n / form_.share.parts)));
    out_.line("mad.lo.u32 %lw_{0}p, %lw_{0}t0, {1}, %lw_{0}p;", x_, form_.share.m);
  }
  out_.line("shr.u32 %lw_{}t0, %lw_l, 2;", x_);
  out_.line("add.u32 %lw_{0}p, %lw_{0}p, %lw_{0}t0;", x_);
  out_.line("and.b32 %lw_{0}p, %lw_{0}p, 127;", x_);
  out_.line("shl.b32 %lw_{0}p, %lw_{0}p, 5;", x_);
  out_.line("and.b32 %lw_{}n, %lw_c2, 0xffff;", x_);
  out_.line("and.b32 %lw_{}t0, %lw_l, 3;", x_);
  out_.line("add.u32 %lw_{0}n, %lw_{0}n, %lw_{0}t0;", x_);
}

// From the first 32 bytes of K to the second.
std::int64_t OperandCode::half_offset() const {
  if (x_ != 'e') return 0;
  const bool plain = *layout().swizzle == Swizzle::none;
  if (is_k_major()) return plain ? 2 * *layout().leading : 32;
  return (isa::container_bits(form_.kind) == 8 ? 4 : 2) * group_offset();
}

void OperandCode::address(std::size_t step) const {
  const std::int64_t offset = (is_a() ? form_.steps[step].a : form_.steps[step].b) + half_offset();
  if (in_tmem()) {
    for (const int further : {0, 4}) {  // columns; a word of each for this thread
      out_.line("add.s32 %lw_{0}t0, %lw_{0}n, {1};", x_, offset + further);
      out_.line("shr.u32 %lw_{0}t1, %lw_{0}t0, 3;", x_);
      out_.line("and.b32 %lw_{0}t0, %lw_{0}t0, 7;", x_);
      out_.line("mad.lo.u32 %lw_{0}t1, %lw_{0}t1, {1}, %lw_{0}p;", x_, image_group_bytes);
      out_.line("mad.lo.u32 %lw_{0}t1, %lw_{0}t0, 4, %lw_{0}t1;", x_);
      ImageAccess(plan_).add(out_, fmt::format("%lw_{}{}", x_, further ? 'h' : 'l').c_str(),
                             fmt::format("%lw_{}t1", x_).c_str());
    }
    return;
  }
  if (is_narrow() || is_gathered()) return out_.line("add.s32 %lw_{0}t0, %lw_{0}n, {1};", x_, offset);
  for (int i = 0; i < (follow() ? 1 : tiles()); ++i) {
    if (is_k_major()) {
      out_.line("add.s32 %lw_{0}t{1}, %lw_{0}n, {2};", x_, i, offset + tile_offset(i));
    } else {
      const int in_atom = isa::span_bytes(*layout().swizzle) / 2;  // elements
      const std::uint32_t next = *layout().swizzle == Swizzle::none ? *layout().stride : *layout().leading;
      const std::string t = fmt::format("%lw_{}t{}", x_, i), u = fmt::format("%lw_{}t{}", x_, tiles() + 1);
      out_.line("add.u32 {}, %lw_{}m, {};", u, x_, 16 * i);
      out_.line("shr.u32 {}, {}, {};", t, u, std::countr_zero(unsigned(in_atom)));
      out_.line("and.b32 {0}, {0}, {1};", u, in_atom - 1);
      out_.line("mad.lo.u32 {0}, {0}, {1}, %lw_{2}n;", t, next, x_);
      out_.line("mad.lo.u32 {0}, {1}, 2, {0};", t, u);
      out_.line("add.s32 {0}, {0}, {1};", t, offset);
    }
    exchange_bits(i);
  }
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
    for (int r = 0; r < 4; ++r) out_.line("xor.b32 %lw_fa{0}, %lw_fa{0}, {1};", first + r, sign_bits(form_.kind));
}

void OperandCode::load_image(int tile, int first) const {
  for (int r = 0; r < 4; ++r)
    out_.line("ld.{}.b32 %lw_f{}{}, [%lw_{}{}+{}];", ImageAccess(plan_).space(), x_, first + r, x_, r < 2 ? 'l' : 'h',
              (tile * form_.share.tile_lanes() + 8 * (r % 2)) * image_lane_bytes);
}

void OperandCode::load_matrices(int tile, int first, bool half) const {
  const std::string place =
      follow() ? fmt::format("[%lw_{}t0+{}]", x_, tile_offset(tile)) : fmt::format("[%lw_{}t{}]", x_, tile);
  std::string to;
  for (int r = 0; r < (half ? 2 : 4); ++r) to += fmt::format("{}%lw_f{}{}", r ? ", " : "", x_, first + r);
  out_.line("ldmatrix.sync.aligned.m8n8.{}{}.shared.b16 {{{}}}, {};", half ? "x2" : "x4", is_k_major() ? "" : ".trans",
            to, place);
}

std::int64_t OperandCode::tile_offset(int tile) const { return std::int64_t(tile) * 2 * *layout().stride; }

// The exchanged bits of a row are those of the row 16 further on.
bool OperandCode::follow() const {
  return is_k_major() && 2 * *layout().stride % std::uint32_t(isa::period_bytes(*layout().swizzle)) == 0;
}

void OperandCode::exchange_bits(int tile) const {
  write_exchange(out_, layout(), fmt::format("%lw_{}t{}", x_, tile),
                 fmt::format("%lw_{}t{}", x_, std::max(tiles(), 2) + 1));
}

void write_exchange(Text& out, const Layout& l, const std::string& at, const std::string& key) {
  const Exchange e = exchange(*l.swizzle);
  if (e.mask == 0) return;
  const bool moved = *l.base_offset != 0;
  if (moved) out.line("sub.u32 {}, {}, {};", key, at, *l.base_offset * 128);
  out.line("shr.u32 {}, {}, {};", key, moved ? key : at, e.shift);
  out.line("and.b32 {0}, {0}, {1};", key, e.mask);
  out.line("xor.b32 {0}, {0}, {1};", at, key);
}

}  // namespace kiln::lower

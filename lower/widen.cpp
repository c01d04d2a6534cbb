// Elements of 4 and 6 bits that lie in the containers of 8-bit ones, and as which of these they are multiplied.
#include "lower/operand.hpp"

namespace kiln::lower {
namespace {

// The tables have the bytes of e4m3 for 0, 0.5, 1, 1.5, 2, 3, 4 and 6, and for a sign.
void widen_four_bits(Text& out, const std::string& to) {
  out.line("and.b32 %lw_u1, {}, 0x7777;", to);
  out.line("shr.u32 %lw_u0, {}, 3;", to);
  out.line("prmt.b32 {}, 0x3c383000, 0x4c484440, %lw_u1;", to);
  out.line("and.b32 %lw_u0, %lw_u0, 0x1111;");
  out.line("prmt.b32 %lw_u0, 0x8000, 0, %lw_u0;");
  out.line("or.b32 {0}, {0}, %lw_u0;", to);
}

// With zeros between sign and exponent, the bits are those of a number that is smaller by the difference of the
// exponents' biases. f16 has both, and what is multiplied in there.
void widen_six_bits(Text& out, isa::ScalarType type, const std::string& to) {
  const bool e2m3 = type == isa::ScalarType::e2m3;
  const auto spread = [&](unsigned stays, unsigned moves, int by) {
    out.line("and.b32 %lw_u0, {}, {};", to, moves);
    out.line("and.b32 {0}, {0}, {1};", to, stays);
    out.line("shl.b32 %lw_u0, %lw_u0, {};", by);
    out.line("or.b32 {0}, {0}, %lw_u0;", to);
  };
  spread(0xfff, 0xfff000, 4);
  spread(0x003f003f, 0x0fc00fc0, 2);
  spread(0x1f1f1f1f, 0x20202020, 2);
  out.line("mov.b32 {{%lw_y0, %lw_y1}}, {};", to);
  for (int half = 0; half < 2; ++half) {
    out.line("cvt.rn.f16x2.{}x2 %lw_u{}, %lw_y{};", e2m3 ? "e4m3" : "e5m2", half, half);
    out.line("mul.rn.f16x2 %lw_u{0}, %lw_u{0}, %lw_u2;", half);
    out.line("cvt.rn.satfinite.{}x2.f16x2 %lw_y{}, %lw_u{};", e2m3 ? "e4m3" : "e5m2", half, half);
  }
  out.line("mov.b32 {}, {{%lw_y0, %lw_y1}};", to);
}

}  // namespace

void write_widening(Text& out, isa::ScalarType type, const std::string& to) {
  out.line("{{");
  out.line(".reg .b32 %lw_u<3>;");
  out.line(".reg .b16 %lw_y<2>;");
  if (isa::bits(type) == 4) {
    widen_four_bits(out, to);
  } else {
    // 2 to the 6 or 12, twice.
    out.line("mov.b32 %lw_u2, {};", type == isa::ScalarType::e2m3 ? 0x54005400 : 0x6c006c00);
    widen_six_bits(out, type, to);
  }
  out.line("}}");
}

// Behind the elements of 16 bytes lies what nobody has written: the bytes from that of this thread's first element on,
// and for 6 bits the one before it where that is even, are within.
void OperandCode::load_narrow(int tile, int first, bool half) const {
  const std::uint32_t further = *layout().swizzle == isa::Swizzle::none ? *layout().leading : 16;
  for (int r = 0; r < (half ? 2 : 4); ++r) {
    const int row = is_a() ? r % 2 : r / 2, chunk = is_a() ? r / 2 : r % 2;
    const std::string to = fmt::format("%lw_f{}{}", x_, first + r);
    const std::int64_t behind = tile_offset(tile) + row * std::int64_t(*layout().stride);
    const bool follows = *layout().stride % std::uint32_t(isa::period_bytes(*layout().swizzle)) == 0;
    out_.line("add.s32 %lw_{0}t1, %lw_{0}t0, {1};", x_, chunk * std::int64_t(further) + (follows ? 0 : behind));
    exchange_bits(1);
    const std::int64_t at = follows ? behind : 0;
    out_.line("ld.shared.u16 {}, [%lw_{}t1+{}];", to, x_, at);
    if (isa::bits(type()) == 6) {  // every other thread's begin in the middle of a word
      out_.line("{{");
      out_.line(".reg .b32 %lw_u<2>;");
      out_.line("ld.shared.u16 %lw_u1, [%lw_{}t1+{}];", x_, at + 2);
      out_.line("bfi.b32 {0}, %lw_u1, {0}, 16, 16;", to);
      out_.line("bfi.b32 %lw_u0, %lw_l, 0, 3, 1;");
      out_.line("shr.u32 {0}, {0}, %lw_u0;", to);
      out_.line("}}");
    }
    write_widening(out_, type(), to);
  }
}

}  // namespace kiln::lower

// Elements of 4 and 6 bits that lie in the containers of 8-bit ones, and as which of these they are multiplied.
#include "lower/engine/operand.hpp"

namespace kiln::lower {
namespace {

// The tables have the bytes of e4m3 for 0, 0.5, 1, 1.5, 2, 3, 4 and 6, and for a sign.
void widen_four_bits(Builder& b, Register to) {
  const Register values = b.b32("and.b32", to, bits(0x7777)), signs = b.b32("shr.u32", to, 3);
  b.op("prmt.b32", to, bits(0x3c383000), bits(0x4c484440), values);
  b.op("and.b32", signs, signs, bits(0x1111));
  b.op("prmt.b32", signs, bits(0x8000), 0, signs);
  b.op("or.b32", to, to, signs);
}

// With zeros between sign and exponent, the bits are those of a number that is smaller by the difference of the
// exponents' biases. f16 has both numbers, and is multiplied by that factor, in two steps.
void widen_six_bits(Builder& b, isa::ScalarType type, Register to) {
  const bool e2m3 = type == isa::ScalarType::e2m3;
  const Registers pair = b.regs(ScalarType::b32, 2), halves = b.regs(ScalarType::b16, 2);
  const Register factor = b.b32("mov.b32", bits(e2m3 ? 0x54005400 : 0x6c006c00));  // 2 to the 6 or 12, twice
  const auto spread = [&](unsigned stays, unsigned moves, int by) {
    b.op("and.b32", pair[0], to, bits(moves));
    b.op("and.b32", to, to, bits(stays));
    b.op("shl.b32", pair[0], pair[0], by);
    b.op("or.b32", to, to, pair[0]);
  };
  spread(0xfff, 0xfff000, 4);
  spread(0x003f003f, 0x0fc00fc0, 2);
  spread(0x1f1f1f1f, 0x20202020, 2);
  b.op("mov.b32", vec(halves, 0, 2), to);
  for (std::size_t half = 0; half < 2; ++half) {
    b.op(e2m3 ? "cvt.rn.f16x2.e4m3x2" : "cvt.rn.f16x2.e5m2x2", pair[half], halves[half]);
    b.op("mul.rn.f16x2", pair[half], pair[half], factor);
    b.op(e2m3 ? "cvt.rn.satfinite.e4m3x2.f16x2" : "cvt.rn.satfinite.e5m2x2.f16x2", halves[half], pair[half]);
  }
  b.op("mov.b32", to, vec(halves, 0, 2));
}

}  // namespace

void write_widening(Builder& b, isa::ScalarType type, Register to) {
  if (isa::bits(type) == 4)
    widen_four_bits(b, to);
  else
    widen_six_bits(b, type, to);
}

void write_half(Builder& b, const Registers& fragments, isa::ScalarType type, int from, int to, int count, int half) {
  const std::string convert = "cvt.rn.f16x2." + std::string(isa::spelling(type)) + "x2";
  for (int r = 0; r < count; ++r) {
    const Registers pairs = b.regs(ScalarType::b16, 2);
    b.op("mov.b32", vec(pairs, 0, 2), fragments[std::size_t(from + r)]);
    b.op(convert, fragments[std::size_t(to + r)], pairs[std::size_t(half)]);
  }
}

// What lies after the elements of 16 bytes was never written: the bytes from that of this thread's first element on,
// and for 6 bits the one before it where that is even, are within.
void OperandCode::load_narrow(int tile, int first, bool half) const {
  const std::uint32_t further = is_plain() ? *layout().leading : 16;
  for (int r = 0; r < (half ? 2 : 4); ++r) {
    const int row = is_a() ? r % 2 : r / 2, chunk = is_a() ? r / 2 : r % 2;
    const Register to = fragment(first + r), address = tile_[1];
    const std::int64_t from_tile = tile_offset(tile) + row * std::int64_t(*layout().stride);
    const bool follows = *layout().stride % std::uint32_t(isa::period_bytes(*layout().swizzle)) == 0;
    b_.op("add.s32", address, tile_[0], chunk * std::int64_t(further) + (follows ? 0 : from_tile));
    exchange_bits(address);
    const std::int64_t offset = follows ? from_tile : 0;
    b_.op("ld.shared.u16", to, at(address, offset));
    if (isa::bits(type()) == 6) {  // every other thread's elements begin in the middle of a word
      const Register next = b_.b32("ld.shared.u16", at(address, offset + 2));
      b_.op("bfi.b32", to, next, to, 16, 16);
      const Register shift = b_.b32("bfi.b32", code_.engine.lane, 0, 3, 1);
      b_.op("shr.u32", to, to, shift);
    }
    write_widening(b_, type(), to);
  }
}

}  // namespace kiln::lower

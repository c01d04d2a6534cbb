// Video instructions: arithmetic on bytes, half-words and words of 32-bit registers, followed by a second operation.
// PTX ISA "Video Instructions", whose pseudocode this is; that a saturating shift judges all bits of its result, and
// that SIMD comparisons keep elements of c, is what ptxas 13.0 makes of them for sm_90.
#include <algorithm>
#include <bit>

#include "sim/ops/alu.hpp"

namespace kiln::sim {
namespace {

using isa::Compare;
using Exact = __int128;  // holds every product and shifted value

enum class Video : u8 { add, sub, absdiff, min, max, avrg, set, shl, shr, mad };

// Inst: d, a, b, c; flags as below; value: one of the two structs that follow.
enum : u8 {
  a_signed = 1,
  b_signed = 2,
  d_signed = 4,
  saturates = 8,
  wraps = 16,
  minus_product = 32,
  minus_c = 64,
  plus_one = 128
};

// Which part of a register: bits and the first of them.
struct BitField {
  u8 bits = 32, first = 0;
};
struct Scalar {
  Video op = Video::add;
  Combine second = Combine::none;
  Compare compare = Compare::none;
  u8 shift = 0;  // of the result of mad
  BitField a{}, b{};
};
// Elements of both sources by number, the lowest in the low four bits; mask: elements of the result that count.
struct Simd {
  Video op = Video::add;
  Compare compare = Compare::none;
  u8 elements = 4, mask = 15;
  u16 a = 0x3210, b = 0x7654;
};
static_assert(sizeof(Scalar) == sizeof(std::int64_t) && sizeof(Simd) == sizeof(std::int64_t));

Exact extended(u32 v, BitField p, bool is_signed) {
  const u32 up = v << (32 - p.bits - p.first);
  return is_signed ? Exact(std::int32_t(up) >> (32 - p.bits)) : Exact(up >> (32 - p.bits));
}

Exact clamped(Exact v, int bits, bool is_signed) {
  const Exact least = is_signed ? -(Exact(1) << (bits - 1)) : 0;
  return std::clamp(v, least, least + (Exact(1) << bits) - 1);
}

bool holds(Compare c, Exact a, Exact b) {
  switch (c) {
    case Compare::eq: return a == b;
    case Compare::ne: return a != b;
    case Compare::lt: return a < b;
    case Compare::le: return a <= b;
    case Compare::gt: return a > b;
    default: return a >= b;
  }
}

// Two's complement either way: an average of a negative sum rounds down, of another up.
Exact average(Exact sum) { return (sum + (sum >= 0 ? 1 : 0)) >> 1; }

Exact video_result(Video op, Compare compare, Exact a, Exact b) {
  switch (op) {
    case Video::add: return a + b;
    case Video::sub: return a - b;
    case Video::absdiff: return a < b ? b - a : a - b;
    case Video::min: return std::min(a, b);
    case Video::max: return std::max(a, b);
    case Video::avrg: return average(a + b);
    case Video::set: return holds(compare, a, b) ? 1 : 0;
    case Video::shl: return a << int(b);
    default: return a >> int(b);
  }
}

Exact second(Combine op, Exact v, Exact c) {
  switch (op) {
    case Combine::add: return v + c;
    case Combine::min: return std::min(v, c);
    case Combine::max: return std::max(v, c);
    default: return v;
  }
}

u32 merged(u32 into, BitField p, u32 v) {
  const u32 mask = (p.bits == 32 ? ~0u : (1u << p.bits) - 1) << p.first;
  return (into & ~mask) | (v << p.first & mask);
}

// space, width: first bit and bits of the part of d that is written.
void scalar(Context& c, const Inst& i, Mask lanes) {
  const auto v = std::bit_cast<Scalar>(i.value);
  const BitField to{i.width, i.space};
  auto *d = c.lanes<u32>(i.d), *a = c.lanes<u32>(i.a), *b = c.lanes<u32>(i.b), *e = c.lanes<u32>(i.c);
  const bool shifts = v.op == Video::shl || v.op == Video::shr, is_signed = (i.flags & d_signed) != 0;
  for_lanes(lanes, [=](int l) {
    const Exact x = extended(a[l], v.a, (i.flags & a_signed) != 0);
    Exact y = extended(b[l], v.b, (i.flags & b_signed) != 0);
    if (shifts) y = i.flags & wraps ? y & 31 : std::min<Exact>(y, 32);
    Exact r = video_result(v.op, v.compare, x, y);
    if (i.flags & saturates) r = clamped(r, to.bits, is_signed);
    r = second(v.second, r, extended(e[l], {}, is_signed));
    d[l] = merged(e[l], to, u32(r));
  });
}

void multiply_add(Context& c, const Inst& i, Mask lanes) {
  const auto v = std::bit_cast<Scalar>(i.value);
  auto *d = c.lanes<u32>(i.d), *a = c.lanes<u32>(i.a), *b = c.lanes<u32>(i.b), *e = c.lanes<u32>(i.c);
  const bool is_signed = (i.flags & (a_signed | b_signed | minus_product | minus_c)) != 0;
  for_lanes(lanes, [=](int l) {
    const Exact product =
        extended(a[l], v.a, (i.flags & a_signed) != 0) * extended(b[l], v.b, (i.flags & b_signed) != 0);
    const bool one = (i.flags & (minus_product | minus_c | plus_one)) != 0;
    const Exact sum = (i.flags & minus_product ? ~product : product) +
                      extended(i.flags & minus_c ? ~e[l] : e[l], {}, is_signed) + (one ? 1 : 0);
    Exact r = sum >> v.shift;
    if (i.flags & saturates) r = clamped(r, 32, is_signed);
    d[l] = u32(r);
  });
}

// wide: adds up.
void simd(Context& c, const Inst& i, Mask lanes) {
  const auto v = std::bit_cast<Simd>(i.value);
  const int bits = 32 / v.elements;
  auto *d = c.lanes<u32>(i.d), *a = c.lanes<u32>(i.a), *b = c.lanes<u32>(i.b), *e = c.lanes<u32>(i.c);
  for_lanes(lanes, [=](int l) {
    const auto element = [&](u16 choice, int k, bool is_signed) {
      const int n = choice >> 4 * k & 15;
      const BitField p{u8(bits), u8(n % v.elements * bits)};
      return extended(n < v.elements ? a[l] : b[l], p, is_signed);
    };
    u32 r = e[l];
    for (int k = 0; k < v.elements; ++k) {
      if (!(v.mask >> k & 1)) continue;
      Exact one = video_result(v.op, v.compare, element(v.a, k, (i.flags & a_signed) != 0),
                               element(v.b, k, (i.flags & b_signed) != 0));
      if (i.flags & saturates) one = clamped(one, bits, (i.flags & d_signed) != 0);
      r = i.wide ? r + u32(one) : merged(r, {u8(bits), u8(k * bits)}, u32(one));
    }
    d[l] = r;
  });
}

struct VideoRow {
  Opcode opcode;
  Video op;
  u8 elements;  // 1: scalar
};
constexpr VideoRow rows[] = {
    {Opcode::vadd, Video::add, 1},          {Opcode::vadd2, Video::add, 2},
    {Opcode::vadd4, Video::add, 4},         {Opcode::vsub, Video::sub, 1},
    {Opcode::vsub2, Video::sub, 2},         {Opcode::vsub4, Video::sub, 4},
    {Opcode::vabsdiff, Video::absdiff, 1},  {Opcode::vabsdiff2, Video::absdiff, 2},
    {Opcode::vabsdiff4, Video::absdiff, 4}, {Opcode::vmin, Video::min, 1},
    {Opcode::vmin2, Video::min, 2},         {Opcode::vmin4, Video::min, 4},
    {Opcode::vmax, Video::max, 1},          {Opcode::vmax2, Video::max, 2},
    {Opcode::vmax4, Video::max, 4},         {Opcode::vavrg2, Video::avrg, 2},
    {Opcode::vavrg4, Video::avrg, 4},       {Opcode::vset, Video::set, 1},
    {Opcode::vset2, Video::set, 2},         {Opcode::vset4, Video::set, 4},
    {Opcode::vshl, Video::shl, 1},          {Opcode::vshr, Video::shr, 1},
    {Opcode::vmad, Video::mad, 1},
};

// What follows a register's name: "h1", "b3210"; empty for a whole register or a number.
std::string_view selector(const ir::Argument& a) {
  if (a.kind != ir::Argument::Kind::reg) return {};
  const std::string_view text = a.operand->text;
  const std::size_t dot = text.rfind('.');
  return dot == text.npos ? std::string_view{} : text.substr(dot + 1);
}

BitField part(const ir::Argument& a) {
  const std::string_view text = selector(a);
  if (text.size() != 2) return {};
  const u8 bits = text[0] == 'h' ? 16 : 8;
  return {bits, u8(bits * (text[1] - '0'))};
}

// The digits of a selector, the last one for the lowest element; `otherwise` when nothing is written.
u16 choice(const ir::Argument& a, u16 otherwise) {
  const std::string_view text = selector(a);
  if (text.empty()) return otherwise;
  u16 r = 0;
  for (const char digit : text.substr(1)) r = u16(r << 4 | (digit - '0'));
  return r;
}

u8 mask_of(const ir::Argument& d, int elements) {
  const std::string_view text = selector(d);
  if (text.empty()) return u8((1 << elements) - 1);
  u8 r = 0;
  for (const char digit : text.substr(1)) r = u8(r | 1 << (digit - '0'));
  return r;
}

void bind_simd(const ir::Operation& op, const ops::Alu& alu, Inst& inst, const VideoRow& row) {
  const bool two = row.elements == 2;
  inst.wide = op.modifiers.combine == Combine::add;
  inst.value =
      std::bit_cast<std::int64_t>(Simd{row.op, op.modifiers.compare, row.elements, mask_of(alu.d, row.elements),
                                       choice(alu.a, two ? 0x10 : 0x3210), choice(alu.b, two ? 0x32 : 0x7654)});
  inst.run = goes_on<simd>;
}

void bind_scalar(const ir::Operation& op, const ops::Alu& alu, Inst& inst, const VideoRow& row) {
  u8 shift = 0;
  for (const std::string& word : op.modifiers.others) {
    if (word == "po") inst.flags |= plus_one;
    if (word == "shr7") shift = 7;
    if (word == "shr15") shift = 15;
  }
  if (alu.a->negated != alu.b->negated) inst.flags |= minus_product;
  if (alu.c->negated) inst.flags |= minus_c;
  const BitField to = part(alu.d);
  inst.width = to.bits;
  inst.space = to.first;
  inst.value = std::bit_cast<std::int64_t>(
      Scalar{row.op, op.modifiers.combine, op.modifiers.compare, shift, part(alu.a), part(alu.b)});
  inst.run = row.op == Video::mad ? goes_on<multiply_add> : goes_on<scalar>;
}

}  // namespace

void bind_video(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst) {
  const auto* row =
      std::find_if(std::begin(rows), std::end(rows), [&](const VideoRow& r) { return r.opcode == op.opcode; });
  if (row == std::end(rows)) return;
  const isa::Modifiers& m = op.modifiers;
  const int first = row->op == Video::set ? 0 : 1;  // a comparison gives 0 or 1, whatever it compares
  const auto flag = [](bool is, u8 f) { return is ? f : u8(0); };
  inst.flags = u8(flag(first && isa::is_signed(m.types[0]), d_signed) | flag(isa::is_signed(m.types[first]), a_signed) |
                  flag(isa::is_signed(m.types[first + 1]), b_signed) | flag(m.sat, saturates) |
                  flag(m.shift_mode == isa::ShiftMode::wrap, wraps));
  operands(binder, alu, inst, ScalarType::b32, 2);
  inst.c = alu.c ? binder.source(alu.c, ScalarType::b32).offset : binder.constant(0, 4).offset;
  row->elements == 1 ? bind_scalar(op, alu, inst, *row) : bind_simd(op, alu, inst, *row);
}

}  // namespace kiln::sim

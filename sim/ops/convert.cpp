// cvt and cvt.pack. PTX ISA "cvt". One general path that rounds exactly once, and loops for what kernels use most.
#include <algorithm>
#include <cmath>

#include "sim/ops/alu.hpp"
#include "sim/ops/float_value.hpp"

namespace kiln::sim {
namespace {

// Inst: d, a (and b for two sources); width the source type, count the result type, mode the PTX rounding,
// flags as below; space: bytes of the result register.
enum : u8 {
  flag_ftz = 1,
  flag_sat = 2,
  flag_relu = 4,
  flag_satfinite = 8,
  flag_wide_a = 16,
  flag_positive_zero = 32,
  flag_one_factor = 64  // of all elements, else each has its own
};

bool is_real(ScalarType t) { return isa::is_floating(t); }

u64 ones(int bits) { return bits >= 64 ? ~u64{0} : (u64{1} << bits) - 1; }

std::int64_t sign_extended(u64 v, int bits) { return std::int64_t(v << (64 - bits)) >> (64 - bits); }

// The integer range of a type as doubles that bound it exactly. A NaN of f64 (`wide`) gives the sign bit of every type,
// another that of 64-bit types alone.
u64 real_to_integer(double v, ScalarType d, bool wide) {
  const int bits = isa::bits(d);
  const bool is_signed = isa::is_signed(d);
  if (std::isnan(v)) return wide || bits == 64 ? u64{1} << (bits - 1) : 0;
  const double limit = std::ldexp(1.0, is_signed ? bits - 1 : bits);
  if (v >= limit) return is_signed ? ones(bits - 1) : ones(bits);
  if (is_signed && v < -limit) return u64{1} << (bits - 1);
  if (!is_signed && v <= 0) return 0;
  return is_signed ? u64(std::int64_t(v)) : u64(v);
}

double to_whole(double v, isa::Rounding r) {
  switch (r) {
    case isa::Rounding::rni: return std::nearbyint(v);
    case isa::Rounding::rzi: return std::trunc(v);
    case isa::Rounding::rmi: return std::floor(v);
    case isa::Rounding::rpi: return std::ceil(v);
    default: return v;
  }
}

u64 integer_to_integer(u64 a, ScalarType s, ScalarType d, bool sat) {
  const int from = isa::bits(s), to = isa::bits(d);
  const bool negative = isa::is_signed(s) && a >> (from - 1) & 1;
  const u64 v = isa::is_signed(s) ? u64(sign_extended(a, from)) : a & ones(from);
  if (!sat) return v;
  if (isa::is_signed(d)) {
    const u64 most = ones(to - 1);
    if (!negative) return std::min(v, most);
    return std::int64_t(v) < -std::int64_t(most) - 1 ? ~most : v;
  }
  return negative ? 0 : std::min(v, ones(to));
}

u64 integer_to_real(u64 a, ScalarType s, ScalarType d, num::Rounding r) {
  const bool negative = isa::is_signed(s) && a >> (isa::bits(s) - 1) & 1;
  const u64 v = isa::is_signed(s) ? u64(sign_extended(a, isa::bits(s))) : a & ones(isa::bits(s));
  return num::encode_exact(d, negative, negative ? 0 - v : v, 0, r, false);
}

// A NaN keeps sign and as much of its payload as fits, quiet, where one side is f64; f32 that is only moved stays as it
// is, and so does what bf16 has of one. All others become the canonical NaN. As an H200 does.
u64 nan_to_nan(u64 a, ScalarType s, ScalarType d, const Inst& i) {
  if (i.flags & flag_sat) return 0;
  const bool ftz = (i.flags & flag_ftz) != 0, whole = to_whole(0.5, isa::Rounding(i.mode)) != 0.5;
  if (s == ScalarType::bf16 && d == ScalarType::f32 && !ftz) return a << 16;
  if (s == ScalarType::f32 && d == ScalarType::f32 && !ftz && !whole) return a;
  const bool wide = s == ScalarType::f64 || d == ScalarType::f64;
  if (!wide) return num::canonical_nan(d);
  const int from = num::format_of(s).fraction_bits, to = num::format_of(d).fraction_bits;
  if (s == ScalarType::f64 && d == ScalarType::f64) return whole ? quiet_f64(a) : a;
  const u64 word = ftz && s == ScalarType::f32 ? num::canonical_nan(s) : a;
  const u64 payload = from < to ? (word & ones(from)) << (to - from) : (word & ones(from)) >> (from - to);
  const u64 exponent = ones(num::format_of(d).exponent_bits) << to;
  return word >> (isa::bits(s) - 1) << (isa::bits(d) - 1) | exponent | payload | u64{1} << (to - 1);
}

// .pzo: a zero has no sign.
u64 zero_made_positive(u64 word, ScalarType d) {
  const num::Format f = num::format_of(d);
  return (word >> f.ignored_bits & f.magnitude_mask()) == 0 ? 0 : word;
}

u64 real_to_real(u64 a, ScalarType s, ScalarType d, const Inst& i) {
  const auto rounding = isa::Rounding(i.mode);
  const bool to_f16 = d == ScalarType::f16 && s == ScalarType::f32;  // keeps subnormals under .ftz too, on an H200
  a &= ones(isa::bits(s));
  double v = value_of(s, a, (i.flags & flag_ftz) != 0 && s == ScalarType::f32 && !to_f16);
  const bool satfinite = (i.flags & flag_satfinite) != 0;
  const auto signed_or_not = [&](u64 word) {
    return i.flags & flag_positive_zero ? zero_made_positive(word, d) : word;
  };
  if (d == ScalarType::tf32 && s == ScalarType::f32 && !(i.flags & flag_relu))
    return signed_or_not(num::f32_to_tf32(u32(a), rounding_of(rounding), satfinite));
  const bool full = (s == ScalarType::f64 || s == ScalarType::f32 || s == ScalarType::f16 || s == ScalarType::bf16) &&
                    (d == ScalarType::f64 || d == ScalarType::f32 || s == ScalarType::f64);
  if (std::isnan(v) && full) return nan_to_nan(a, s, d, i);
  v = to_whole(v, rounding);
  if (i.flags & flag_sat) v = v > 1 ? 1 : v > 0 ? v : 0;
  if (i.flags & flag_relu && !(v > 0) && !std::isnan(v)) v = 0;
  u64 word = num::encode(d, v, rounding_of(rounding), satfinite);
  if (i.flags & flag_ftz && d == ScalarType::f32 && !(word & 0x7F800000u)) word &= 0x80000000u;
  return signed_or_not(word);
}

u64 converted(u64 a, ScalarType s, ScalarType d, const Inst& i) {
  if (!is_real(s) && !is_real(d)) return integer_to_integer(a, s, d, (i.flags & flag_sat) != 0);
  if (!is_real(s)) {
    const u64 w = integer_to_real(a, s, d, rounding_of(isa::Rounding(i.mode)));
    return i.flags & flag_sat ? round_to(d, num::to_double(d, w), {num::Rounding::rn, false, true, false}) : w;
  }
  if (is_real(d)) return real_to_real(a, s, d, i);
  const bool ftz = (i.flags & flag_ftz) != 0 && s == ScalarType::f32;
  return real_to_integer(to_whole(value_of(s, a & ones(isa::bits(s)), ftz), isa::Rounding(i.mode)), d,
                         s == ScalarType::f64);
}

// A narrow result fills its register by sign or zero extension.
u64 fill(u64 v, ScalarType d) {
  const int bits = isa::bits(d);
  if (bits >= 64) return v;
  return isa::is_signed(d) ? u64(sign_extended(v & ones(bits), bits)) : v & ones(bits);
}

void convert(Context& c, const Inst& i, Mask lanes) {
  const auto s = ScalarType(i.width), d = ScalarType(i.count);
  const Slot from{i.a, u8(i.flags & flag_wide_a ? 8 : 4), false}, to{i.d, i.space, false};
  for (const int l : each_lane(lanes)) {
    u64 r = fill(converted(c.read(from, l), s, d, i), d);
    if (i.space == 4 && isa::is_signed(d) && isa::bits(d) == 16 && i.wide) r &= 0xFFFF;
    c.write(to, l, r);
  }
}

template <class S, class D>
struct Widen {
  D operator()(S a) const { return D(a); }
};
using F32ToBf16x2 = decltype([](u32 a, u32 b) { return u32(num::f32_to_bf16_rn(a)) << 16 | num::f32_to_bf16_rn(b); });
using F32ToF16x2 = decltype([](u32 a, u32 b) { return u32(num::f32_to_f16_rn(a)) << 16 | num::f32_to_f16_rn(b); });
using F32ToBf16 = decltype([](u32 a) { return num::f32_to_bf16_rn(a); });
using F32ToF16 = decltype([](u32 a) { return num::f32_to_f16_rn(a); });
using F16ToF32 = decltype([](u32 a) { return num::f16_to_f32(u16(a)); });
using Bf16ToF32 = decltype([](u32 a) { return num::bf16_to_f32(u16(a)); });

// .s2f6: an 8-bit integer in units of 2^-6. PTX ISA "Fixed-point Data format".
constexpr double s2f6_unit = 0x1p-6;

double element_value(const PackedType& t, u64 word) {
  return t.is_fixed() ? double(std::int8_t(word)) * s2f6_unit : num::to_double(t.element, word);
}

u64 fixed_word(double v, isa::Rounding rounding) {
  if (std::isnan(v)) unmodelled("a NaN that becomes .s2f6");  // the format has none, and the ISA does not say
  const double units = v / s2f6_unit;
  const double whole = rounding == isa::Rounding::rz ? std::trunc(units) : std::nearbyint(units);
  return u8(std::int8_t(std::clamp(whole, -128.0, 127.0)));
}

u64 element_word(const PackedType& t, double v, const Inst& i) {
  if (i.flags & flag_relu && !(v > 0) && !std::isnan(v)) v = 0;
  if (t.is_fixed()) return fixed_word(v, isa::Rounding(i.mode));
  const u64 word = num::encode(t.element, v, rounding_of(isa::Rounding(i.mode)), (i.flags & flag_satfinite) != 0);
  return i.flags & flag_positive_zero ? zero_made_positive(word, t.element) : word;
}

// A conversion to a narrower type divides by the factor first, one to a wider type multiplies. With one factor for all
// elements (.n1), subnormal sources are zeros; which sign they then have is not published.
double scaled(double v, const PackedType& from, const PackedType& to, u64 factor, const Inst& i) {
  const double by = num::to_double(ScalarType::ue8m0, factor);
  if (to.pitch > from.pitch) return v * by;
  if (i.flags & flag_one_factor && v != 0 && std::fabs(v) < std::ldexp(1.0, num::format_of(from.element).emin())) {
    const bool has_sign = num::format_of(to.element).has_sign && !(i.flags & (flag_positive_zero | flag_relu));
    if (v < 0 && has_sign) unmodelled("the sign of a subnormal that .scaled::n1 flushes");
    v = 0;
  }
  return v / by;
}

// Two f32 sources (the first becomes the upper element) or one packed source. more[0]: the factors, if there are any.
void convert_packed(Context& c, const Inst& i, Mask lanes) {
  const PackedType from = packed_type(ScalarType(i.width)), to = packed_type(ScalarType(i.count));
  auto *out = c.lanes<u32>(i.d), *a = c.lanes<u32>(i.a), *b = c.lanes<u32>(i.b);
  for (const int l : each_lane(lanes)) {
    const u64 factors = i.more_count ? c.value(i, 0, l) : 0;
    u32 r = 0;
    for (int k = 0; k < 2; ++k) {
      const u64 word = from.count == 2 ? u64(a[l]) >> k * from.pitch & ones(from.pitch) : k == 1 ? a[l] : b[l];
      double v = element_value(from, word);
      if (i.more_count) v = scaled(v, from, to, factors >> (i.flags & flag_one_factor ? 0 : 8 * k) & 0xFF, i);
      r |= u32(element_word(to, v, i) & ones(to.pitch)) << k * to.pitch;
    }
    out[l] = r;
  }
}

// One f32 rounded by random bits: they are added to the bits of the fraction that the result has no room for, and a
// carry moves the result away from zero. PTX ISA "Rounding Modifiers", .rs.
u32 stochastic(u32 word, ScalarType d, u32 random, bool satfinite) {
  const num::Format f = num::format_of(d), from = num::format_of(ScalarType::f32);
  const int cut = from.fraction_bits - f.fraction_bits;
  const u32 magnitude = word & 0x7FFFFFFFu;
  const double v = std::fabs(num::to_double(ScalarType::f32, word));
  if (!std::isfinite(v))
    return u32(num::encode(d, num::to_double(ScalarType::f32, word), num::Rounding::rz, satfinite));
  if (v != 0 && f.exponent_bits < from.exponent_bits && v < std::ldexp(1.0, f.emin()))
    unmodelled("stochastic rounding to a subnormal");
  const u32 moved = (magnitude + (random & u32(ones(cut)))) >> cut << cut;  // exact in d, or beyond its range
  const double r = moved >= 0x7F800000u ? std::ldexp(1.0, 128) : num::to_double(ScalarType::f32, moved);
  const auto mode = satfinite ? num::Rounding::rz : num::Rounding::rn;
  return u32(num::encode(d, word >> 31 ? -r : r, mode, satfinite));
}

// more[0]: random bits, the upper half for the first source. width: unused, count: the element type.
void convert_stochastic(Context& c, const Inst& i, Mask lanes) {
  const auto d = ScalarType(i.count);
  auto *out = c.lanes<u32>(i.d), *a = c.lanes<u32>(i.a), *b = c.lanes<u32>(i.b);
  for (const int l : each_lane(lanes)) {
    const auto random = u32(c.value(i, 0, l));
    const auto one = [&](u32 word, u32 bits) {
      const bool negative = word >> 31 && (word & 0x7FFFFFFFu) <= 0x7F800000u;
      return i.flags & flag_relu && negative ? 0 : stochastic(word, d, bits, (i.flags & flag_satfinite) != 0);
    };
    out[l] = one(a[l], random >> 16) << 16 | one(b[l], random & 0xFFFF);
  }
}

void bind_stochastic(Binder& binder, const ops::Alu& alu, Inst& inst, ScalarType d) {
  // Of the formats of four elements, which bits go to which is only in pictures (PTX ISA "cvt", random bits layout).
  // The machine code of ptxas 13.0 converts a and b first, then e and f, and each pair uses up half of the register.
  if (d != ScalarType::f16x2 && d != ScalarType::bf16x2) throw Gap{"stochastic rounding to this format"};
  inst.d = binder.any_result(alu.d, ScalarType::b32).offset;
  inst.a = binder.source(alu.a, ScalarType::f32).offset;
  inst.b = binder.source(alu.b, ScalarType::f32).offset;
  inst.count = u8(packed_type(d).element);
  binder.append(inst, binder.any_width(alu.c, ScalarType::b32));
  inst.run = goes_on<convert_stochastic>;
}

// cvt.pack: two saturated integers, the second one lower; the other bits are the low ones of c. width: bits of one;
// flags: signed; more[0]: c.
void pack_saturated(Context& c, const Inst& i, Mask lanes) {
  const int bits = i.width;
  const std::int64_t least = i.flags ? -(std::int64_t{1} << (bits - 1)) : 0;
  const auto most = std::int64_t(ones(i.flags ? bits - 1 : bits));
  auto *d = c.lanes<u32>(i.d), *a = c.lanes<u32>(i.a), *b = c.lanes<u32>(i.b);
  for (const int l : each_lane(lanes)) {
    const auto one = [&](u32 v) { return u64(std::clamp<std::int64_t>(std::int32_t(v), least, most)) & ones(bits); };
    d[l] = u32(one(b[l]) | one(a[l]) << bits | c.value(i, 0, l) << 2 * bits);
  }
}

void bind_pack(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst) {
  const isa::Modifiers& m = op.modifiers;
  const bool two_bits = !m.others.empty();  // .u2 and .s2 are no types of anything else
  inst.width = u8(two_bits ? 2 : isa::bits(m.types[0]));
  inst.flags = two_bits ? m.others.front() == "s2" : isa::is_signed(m.types[0]);
  operands(binder, alu, inst, ScalarType::b32, {ScalarType::s32, ScalarType::s32});
  binder.append(inst, alu.c ? binder.source(alu.c, ScalarType::b32) : binder.constant(0, 4));
  inst.run = goes_on<pack_saturated>;
}

void bind_packed(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst, ScalarType d, ScalarType s) {
  const bool pair = packed_type(s).count == 1;
  const isa::ScaleFactor factors = op.modifiers.scale_factor;
  const ops::Operand& factor = pair ? alu.c : alu.b;
  if ((pair && !alu.b) || bool(factor) != (factors != isa::ScaleFactor::none)) throw Gap{"this packed conversion"};
  inst.d = binder.any_result(alu.d, ScalarType::b32).offset;
  inst.a = binder.any_width(alu.a, s).offset;
  inst.b = pair ? binder.any_width(alu.b, s).offset : inst.a;
  if (factor) binder.append(inst, binder.any_width(factor, ScalarType::b16));
  if (factors == isa::ScaleFactor::n1_ue8m0) inst.flags |= flag_one_factor;
  const bool plain = s == ScalarType::f32 && inst.flags == 0 && !factor && op.modifiers.rounding == isa::Rounding::rn;
  if (plain && d == ScalarType::bf16x2)
    inst.run = binary<F32ToBf16x2, u32>;
  else if (plain && d == ScalarType::f16x2)
    inst.run = binary<F32ToF16x2, u32>;
  else
    inst.run = goes_on<convert_packed>;
}

Handler fast(ScalarType d, ScalarType s, const Inst& inst, u8 d_bytes, u8 s_bytes) {
  if (inst.flags & ~flag_wide_a) return nullptr;
  const auto rounding = isa::Rounding(inst.mode);
  if (d == ScalarType::bf16 && s == ScalarType::f32 && rounding == isa::Rounding::rn) return unary<F32ToBf16, u32>;
  if (d == ScalarType::f16 && s == ScalarType::f32 && rounding == isa::Rounding::rn) return unary<F32ToF16, u32>;
  if (d == ScalarType::f32 && s == ScalarType::f16 && rounding == isa::Rounding::none) return unary<F16ToF32, u32>;
  if (d == ScalarType::f32 && s == ScalarType::bf16 && rounding == isa::Rounding::none) return unary<Bf16ToF32, u32>;
  if (d_bytes == 8 && s_bytes == 4 && isa::bits(d) == 64) {
    if (s == ScalarType::u32) return isa::is_integer(d) ? unary<Widen<u32, u64>, u32, u64> : nullptr;
    if (s == ScalarType::s32)
      return isa::is_integer(d) ? unary<Widen<std::int32_t, std::int64_t>, std::int32_t, std::int64_t> : nullptr;
  }
  if (d_bytes == 4 && s_bytes == 8 && isa::is_integer(d) && isa::bits(d) == 32 && isa::is_integer(s))
    return unary<Widen<u64, u32>, u64, u32>;
  if (d == ScalarType::f32 && s == ScalarType::s32 && rounding == isa::Rounding::rn)
    return unary<Widen<std::int32_t, float>, std::int32_t, float>;
  if (d == ScalarType::f32 && s == ScalarType::u32 && rounding == isa::Rounding::rn)
    return unary<Widen<u32, float>, u32, float>;
  return nullptr;
}

}  // namespace

void bind_convert(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst) {
  if (op.opcode == Opcode::cvt_pack) return bind_pack(binder, op, alu, inst);
  const isa::Modifiers& m = op.modifiers;
  const ScalarType d = m.types[0], s = m.types[1];
  if (is_clock(alu.a) && isa::is_integer(d) && isa::is_integer(s)) return bind_clock(binder, op, alu, inst);
  inst.mode = u8(m.rounding);
  inst.flags = u8((m.ftz ? flag_ftz : 0) | (m.sat ? flag_sat : 0) | (m.relu ? flag_relu : 0) |
                  (m.satfinite ? flag_satfinite : 0) | (m.positive_zero ? flag_positive_zero : 0));
  inst.width = u8(s);
  inst.count = u8(d);
  if (m.rounding == isa::Rounding::rs) return bind_stochastic(binder, alu, inst, d);
  if (packed_type(d).count == 2) return bind_packed(binder, op, alu, inst, d, s);
  if (isa::type_class(d) == isa::TypeClass::packed || isa::type_class(s) == isa::TypeClass::packed)
    throw Gap{"this packed conversion"};
  const Slot to = binder.any_result(alu.d, d), from = binder.any_width(alu.a, s);
  inst.d = to.offset;
  inst.a = from.offset;
  inst.space = to.bytes;
  if (from.bytes == 8) inst.flags |= flag_wide_a;
  // A 16-bit register holds its value zero extended; a 32-bit register takes the sign.
  if (alu.d->kind == ir::Argument::Kind::reg) inst.wide = isa::bits(binder.code().registers[alu.d->id].type) == 16;
  inst.run = fast(d, s, inst, to.bytes, from.bytes);
  if (!inst.run) inst.run = goes_on<convert>;
}

}  // namespace kiln::sim

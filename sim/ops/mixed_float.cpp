// Floating-point arithmetic whose operands have different types. PTX ISA "Mixed Precision Floating-Point Instructions",
// "Half Precision Floating-Point Instructions" and mul of packed 8-, 6- and 4-bit floats.
//
// A source is exact in a double, and so is a product of two; a sum is rounded to odd there. So each element is rounded
// once.
#include <array>
#include <cmath>

#include "sim/ops/alu.hpp"
#include "sim/ops/float_value.hpp"

namespace kiln::sim {
namespace {

// Inst: width, count: the result's type and its elements; space, wide, target: the sources' types; mode: rounding;
// flags: below; value: bytes of the result's register; more: the sources.
enum : u8 { mixed_ftz = 1, mixed_sat = 2, mixed_satfinite = 4 };

double source_value(const Context& c, const Inst& i, unsigned source, ScalarType type, int element, int lane) {
  const PackedType t = packed_type(type);
  const u64 word = c.value(i, source, lane) >> element * t.pitch;
  const u64 part = t.pitch == 64 ? word : word & ((u64{1} << t.pitch) - 1);
  return value_of(t.element, part, i.flags & mixed_ftz && t.element == ScalarType::f32);
}

double combined_values(const Inst& i, double a, double b, double e) {
  const auto rounding = num::Rounding(i.mode);
  switch (i.operation->opcode) {
    case Opcode::mul: return a * b;
    case Opcode::fma: return signed_zero(a * b, e, add_to_odd(a * b, e), rounding);
    case Opcode::sub: b = -b; [[fallthrough]];
    default: return signed_zero(a, b, add_to_odd(a, b), rounding);
  }
}

u64 mixed_element(const Inst& i, ScalarType t, double v) {
  const auto rounding = num::Rounding(i.mode);
  if (i.flags & mixed_satfinite) return num::encode(t, v, rounding, true);
  // The manual speaks of .ftz with f32 alone.
  if (i.flags & mixed_ftz && t != ScalarType::f32 && v != 0 && std::fabs(v) < std::ldexp(1.0, num::format_of(t).emin()))
    unmodelled("a subnormal half under .ftz");
  return round_to(t, v, {rounding, (i.flags & mixed_ftz) != 0, (i.flags & mixed_sat) != 0, false});
}

void mixed_float(Context& c, const Inst& i, Mask lanes) {
  const PackedType to = packed_type(ScalarType(i.width));
  const Slot d{i.d, u8(i.value), false};
  for (const int l : each_lane(lanes)) {
    u64 r = 0;
    for (int k = 0; k < to.count; ++k) {
      const double a = source_value(c, i, 0, ScalarType(i.space), k, l);
      const double b = source_value(c, i, 1, ScalarType(i.wide), k, l);
      const double e = i.more_count > 2 ? source_value(c, i, 2, ScalarType(i.target), k, l) : 0;
      const u64 word = mixed_element(i, to.element, combined_values(i, a, b, e));
      r |= (to.pitch == 64 ? word : word & ((u64{1} << to.pitch) - 1)) << k * to.pitch;
    }
    c.write(d, l, r);
  }
}

using SourceTypes = std::array<ScalarType, 3>;

// Where the instruction names two types, the second is that of the factors, or of the first summand.
SourceTypes source_types(const isa::TypeList& written, unsigned sources) {
  SourceTypes out{};
  for (unsigned k = 0; k < sources; ++k)
    out[k] = written.count > 2 ? written[k + 1] : k + 1 < sources ? written[1] : written[0];
  return out;
}

bool is_float_type(ScalarType t) {
  const PackedType p = packed_type(t);
  return isa::is_floating(p.element) && p.element != ScalarType::f64;
}

}  // namespace

void bind_mixed_float(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst) {
  const isa::Modifiers& m = op.modifiers;
  const bool adds = op.opcode == Opcode::add || op.opcode == Opcode::sub;
  if (!adds && op.opcode != Opcode::mul && op.opcode != Opcode::fma) return;
  const unsigned sources = op.opcode == Opcode::fma ? 3 : 2;
  const ScalarType d = m.type();
  const SourceTypes types = source_types(m.types, sources);
  const PackedType to = packed_type(d);
  for (unsigned k = 0; k < sources; ++k)
    if (!is_float_type(types[k]) || packed_type(types[k]).count != to.count) return;
  if (!is_float_type(d)) return;
  // Which rounding is meant where a result is narrower than its sources and none is written, and what a product beyond
  // the range of an 8-bit float becomes without .satfinite, is not published.
  if (to.pitch == 16 && m.rounding == isa::Rounding::none) throw Gap{"a narrower result without a rounding"};
  if (to.pitch == 8 && !m.satfinite) throw Gap{"an 8-bit result without .satfinite"};
  const Slot result = binder.any_result(alu.d, d);
  inst.d = result.offset;
  inst.value = result.bytes;
  binder.append(inst, binder.any_width(alu.a, types[0]));
  binder.append(inst, binder.any_width(alu.b, types[1]));
  if (sources > 2) binder.append(inst, binder.any_width(alu.c, types[2]));
  inst.width = u8(d);
  inst.space = u8(types[0]);
  inst.wide = u8(types[1]);
  inst.target = u32(types[2]);
  inst.mode = u8(rounding_of(m.rounding));
  inst.flags = u8((m.ftz ? mixed_ftz : 0) | (m.sat ? mixed_sat : 0) | (m.satfinite ? mixed_satfinite : 0));
  inst.run = goes_on<mixed_float>;
}

}  // namespace kiln::sim

// Comparison and selection. PTX ISA "Comparison and Selection Instructions", "Half Precision Comparison Instructions".
#include <cmath>
#include <limits>

#include "sim/ops/alu.hpp"
#include "sim/ops/float_value.hpp"

namespace kiln::sim {
namespace {

using isa::Compare;

// setp's unsigned spellings lo and hi are read as half-selects by the modifier tables.
Compare compare_of(const isa::Modifiers& m) {
  if (m.compare == Compare::ls) return Compare::le;
  if (m.compare == Compare::hs) return Compare::ge;
  if (m.compare != Compare::none) return m.compare;
  return m.half == isa::HalfSelect::lo ? Compare::lt : m.half == isa::HalfSelect::hi ? Compare::gt : Compare::none;
}

template <class T>
Mask compare_lanes(Compare op, const Word<T>* a, const Word<T>* b, Mask lanes) {
  const auto with = [&](auto f) {
    return lanes_where(lanes, [=](int l) { return f(from_word<T>(a[l]), from_word<T>(b[l])); });
  };
  switch (op) {
    case Compare::eq: return with([](T x, T y) { return x == y; });
    case Compare::ne: return with([](T x, T y) { return x != y; });
    case Compare::lt: return with([](T x, T y) { return x < y; });
    case Compare::le: return with([](T x, T y) { return x <= y; });
    case Compare::gt: return with([](T x, T y) { return x > y; });
    default: return with([](T x, T y) { return x >= y; });
  }
}

bool compare_real(Compare op, double a, double b) {
  const bool unordered = std::isnan(a) || std::isnan(b);
  switch (op) {
    case Compare::eq: return a == b;
    case Compare::ne: return !unordered && a != b;
    case Compare::lt: return a < b;
    case Compare::le: return a <= b;
    case Compare::gt: return a > b;
    case Compare::ge: return a >= b;
    case Compare::equ: return unordered || a == b;
    case Compare::neu: return unordered || a != b;
    case Compare::ltu: return unordered || a < b;
    case Compare::leu: return unordered || a <= b;
    case Compare::gtu: return unordered || a > b;
    case Compare::geu: return unordered || a >= b;
    case Compare::num: return !unordered;
    default: return unordered;
  }
}

// Inst: a, b sources; mode the comparison; width the element type; flags bit 0 ftz; more: p, q, combining predicate.
Mask compared(Context& c, const Inst& i, Mask lanes, int part = 0) {
  const auto op = Compare(i.mode);
  const auto t = ScalarType(i.width);
  switch (t) {
    case ScalarType::u16:
    case ScalarType::b16: return compare_lanes<u16>(op, c.lanes<u32>(i.a), c.lanes<u32>(i.b), lanes);
    case ScalarType::s16: return compare_lanes<std::int16_t>(op, c.lanes<u32>(i.a), c.lanes<u32>(i.b), lanes);
    case ScalarType::u32:
    case ScalarType::b32: return compare_lanes<u32>(op, c.lanes<u32>(i.a), c.lanes<u32>(i.b), lanes);
    case ScalarType::s32: return compare_lanes<std::int32_t>(op, c.lanes<u32>(i.a), c.lanes<u32>(i.b), lanes);
    case ScalarType::u64:
    case ScalarType::b64: return compare_lanes<u64>(op, c.lanes<u64>(i.a), c.lanes<u64>(i.b), lanes);
    case ScalarType::s64: return compare_lanes<std::int64_t>(op, c.lanes<u64>(i.a), c.lanes<u64>(i.b), lanes);
    default: break;
  }
  if (t == ScalarType::f32 && !(i.flags & 1) && op != Compare::ne && op <= Compare::ge)
    return compare_lanes<float>(op, c.lanes<u32>(i.a), c.lanes<u32>(i.b), lanes);
  const bool wide = t == ScalarType::f64, ftz = (i.flags & 1) != 0;
  const u64 ones = t == ScalarType::f16 || t == ScalarType::bf16 ? 0xFFFF : ~u64{0};
  const auto word = [&](u32 at, int l) {
    return (wide ? c.lanes<u64>(at)[l] : u64(c.lanes<u32>(at)[l]) >> 16 * part) & ones;
  };
  return lanes_where(
      lanes, [&](int l) { return compare_real(op, value_of(t, word(i.a, l), ftz), value_of(t, word(i.b, l), ftz)); });
}

Mask combined_masks(Combine how, Mask a, Mask b) {
  return how == Combine::and_ ? a & b : how == Combine::or_ ? a | b : how == Combine::xor_ ? a ^ b : a;
}

template <bool combined>
void setp(Context& c, const Inst& i, Mask lanes) {
  const Mask r = compared(c, i, lanes);
  if constexpr (!combined) {
    c.write_mask(i.d, lanes, r);
  } else {
    const Mask with = c.read_mask(c.slot(i, 1));
    const auto how = Combine(i.count);
    c.write_mask(i.d, lanes, combined_masks(how, r, with));
    c.write_mask(c.slot(i, 0).offset, lanes, combined_masks(how, ~r, with));
  }
}

// setp on packed halves: p from the low, q from the high half.
void setp_halves(Context& c, const Inst& i, Mask lanes) {
  const Mask with = c.read_mask(c.slot(i, 1));
  const Mask low = compared(c, i, lanes, 0), high = compared(c, i, lanes, 1);
  c.write_mask(i.d, lanes, combined_masks(Combine(i.count), low, with));
  c.write_mask(c.slot(i, 0).offset, lanes, combined_masks(Combine(i.count), high, with));
}

bool comparable(ScalarType t) {
  return isa::is_integer(t) || t == ScalarType::b16 || t == ScalarType::b32 || t == ScalarType::b64 ||
         t == ScalarType::f16 || t == ScalarType::bf16 || t == ScalarType::f32 || t == ScalarType::f64;
}

void compare_form(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst, ScalarType t,
                  ScalarType element) {
  const Compare how = compare_of(op.modifiers);
  if (how == Compare::none || !comparable(element)) throw Gap{"this comparison"};
  inst.a = binder.source(alu.a, t).offset;
  inst.b = binder.source(alu.b, t).offset;
  inst.mode = u8(how);
  inst.width = u8(element);
  inst.flags = op.modifiers.ftz;
  inst.count = u8(op.modifiers.combine);
}

void bind_setp(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst) {
  const ScalarType t = op.modifiers.type();
  const bool halves = half_of(t) != ScalarType::none;
  compare_form(binder, op, alu, inst, t, halves ? half_of(t) : t);
  const ir::Argument& result = alu.d;
  const bool pair = result.kind == ir::Argument::Kind::pair;
  const auto parts = binder.code().components(result);
  inst.d = binder.any_result(pair ? parts[0] : result, ScalarType::pred).offset;
  const bool combined = op.modifiers.combine != Combine::none;
  if (!pair && !combined) {
    inst.run = goes_on<setp<false>>;
    return;
  }
  binder.append(inst, pair ? binder.any_result(parts[1], ScalarType::pred) : binder.scratch(0));
  binder.append(inst, combined ? binder.predicate(alu.c) : binder.constant(0, 0));
  inst.run = halves ? goes_on<setp_halves> : goes_on<setp<true>>;
}

// set: the result is all ones or 1.0 by its type. more[0]: the combining predicate.
template <class W>
void set(Context& c, const Inst& i, Mask lanes) {
  const Mask r = combined_masks(Combine(i.count), compared(c, i, lanes), c.read_mask(c.slot(i, 0)));
  auto* d = c.lanes<W>(i.d);
  const auto truth = W(i.value);
  for_lanes(lanes, [=](int l) { d[l] = r >> l & 1 ? truth : 0; });
}

// The same on both halves of a pair.
void set_halves(Context& c, const Inst& i, Mask lanes) {
  const Mask with = c.read_mask(c.slot(i, 0));
  const Mask low = combined_masks(Combine(i.count), compared(c, i, lanes, 0), with);
  const Mask high = combined_masks(Combine(i.count), compared(c, i, lanes, 1), with);
  auto* d = c.lanes<u32>(i.d);
  const auto truth = u32(i.value);
  for_lanes(lanes, [=](int l) { d[l] = (low >> l & 1 ? truth : 0) | (high >> l & 1 ? truth << 16 : 0); });
}

template <class P>
void set_parts(Context& c, const Inst& i, Mask lanes) {
  auto *d = c.lanes<u32>(i.d), *a = c.lanes<u32>(i.a), *b = c.lanes<u32>(i.b);
  for (const int l : each_lane(lanes)) {
    u32 r = 0;
    for (unsigned at = 0; at < 32; at += 8 * sizeof(P)) {
      const bool holds = compare_real(Compare(i.mode), P(a[l] >> at), P(b[l] >> at));
      if (holds) r |= ((1u << 8 * sizeof(P)) - 1) << at;
    }
    d[l] = r;
  }
}

// Integers of 8 or 16 bits in one register: all ones or all zeros in the place of each.
void bind_set_parts(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst) {
  const Compare how = compare_of(op.modifiers);
  if (how == Compare::none || op.modifiers.combine != Combine::none) throw Gap{"this comparison"};
  operands(binder, alu, inst, ScalarType::b32, 2);
  inst.mode = u8(how);
  switch (op.modifiers.type()) {
    case ScalarType::u8x4: inst.run = goes_on<set_parts<u8>>; break;
    case ScalarType::s8x4: inst.run = goes_on<set_parts<std::int8_t>>; break;
    case ScalarType::u16x2: inst.run = goes_on<set_parts<u16>>; break;
    case ScalarType::s16x2: inst.run = goes_on<set_parts<std::int16_t>>; break;
    default: break;
  }
}

void bind_set(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst) {
  if (op.modifiers.types.count == 1) return bind_set_parts(binder, op, alu, inst);
  const ScalarType d = op.modifiers.types[0], t = op.modifiers.types[1];
  const ScalarType half = half_of(t);
  compare_form(binder, op, alu, inst, t, half == ScalarType::none ? t : half);
  inst.d = binder.result(alu.d, d).offset;
  binder.append(inst, op.modifiers.combine == Combine::none ? binder.constant(0, 0) : binder.predicate(alu.c));
  if (half != ScalarType::none) {
    const ScalarType of = half_of(d);  // an integer result is a mask for each half: measured on an H200
    inst.value = of == ScalarType::none ? 0xFFFF : std::int64_t(num::encode(of, 1.0));
    inst.run = goes_on<set_halves>;
    return;
  }
  inst.value = isa::is_floating(d) ? std::int64_t(num::encode(d, 1.0)) : isa::bits(d) == 16 ? 0xFFFF : -1;
  inst.run = register_bytes(d) == 8 ? goes_on<set<u64>> : goes_on<set<u32>>;
}

template <class W>
void selp(Context& c, const Inst& i, Mask lanes) {
  auto* d = c.lanes<W>(i.d);
  const auto *a = c.lanes<W>(i.a), *b = c.lanes<W>(i.b);
  const Mask p = c.mask(i.c) ^ Mask(i.value);
  for_lanes(lanes, [=](int l) { d[l] = p >> l & 1 ? a[l] : b[l]; });
}

// The f32 zero that ftz makes of a subnormal is not negative, whatever its sign.
inline float flushed(float v) { return std::fabs(v) < std::numeric_limits<float>::min() ? 0.0f : v; }

template <class W, class S, bool ftz = false>
void slct(Context& c, const Inst& i, Mask lanes) {
  auto* d = c.lanes<W>(i.d);
  const auto *a = c.lanes<W>(i.a), *b = c.lanes<W>(i.b);
  const auto* s = c.lanes<u32>(i.c);
  for_lanes(lanes, [=](int l) {
    S by = from_word<S>(s[l]);
    if constexpr (ftz) by = flushed(by);
    d[l] = by >= 0 ? a[l] : b[l];
  });
}

}  // namespace

void bind_select(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst) {
  const ScalarType t = op.modifiers.type();
  const bool wide = register_bytes(t) == 8;
  operands(binder, alu, inst, t, 2);
  if (op.opcode == Opcode::selp) {
    const Slot p = binder.predicate(alu.c);
    inst.c = p.offset;
    inst.value = p.negated ? -1 : 0;
    inst.run = wide ? goes_on<selp<u64>> : goes_on<selp<u32>>;
    return;
  }
  const ScalarType by = op.modifiers.types[1];
  inst.c = binder.source(alu.c, by).offset;
  if (by == ScalarType::f32 && op.modifiers.ftz)
    inst.run = wide ? goes_on<slct<u64, float, true>> : goes_on<slct<u32, float, true>>;
  else if (by == ScalarType::f32)
    inst.run = wide ? goes_on<slct<u64, float>> : goes_on<slct<u32, float>>;
  else
    inst.run = wide ? goes_on<slct<u64, std::int32_t>> : goes_on<slct<u32, std::int32_t>>;
}

void bind_compare(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst) {
  op.opcode == Opcode::setp ? bind_setp(binder, op, alu, inst) : bind_set(binder, op, alu, inst);
}

}  // namespace kiln::sim

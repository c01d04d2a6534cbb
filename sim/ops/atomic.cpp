// Atomics and reductions on memory. PTX ISA "atom", "red". Lanes of a warp take turns in lane order.
#include <array>
#include <cstring>

#include "sim/core/atomics.hpp"
#include "sim/core/memory_access.hpp"
#include "sim/core/polling.hpp"
#include "sim/ops/alu.hpp"
#include "sim/ops/float_value.hpp"

namespace kiln::sim {
namespace {

u64 low_bits(u64 v, int bits) { return bits >= 64 ? v : v & ((u64{1} << bits) - 1); }

u64 integer_extremum(bool is_max, ScalarType t, u64 a, u64 b) {
  const int shift = 64 - isa::bits(t);
  const bool less = isa::is_signed(t) ? std::int64_t(a << shift) < std::int64_t(b << shift) : a < b;
  return less == is_max ? b : a;
}

// A number wins against a NaN; -0 is less than +0.
u64 real_extremum(bool is_max, ScalarType t, u64 a, u64 b) {
  const double x = num::to_double(t, a), y = num::to_double(t, b);
  if (std::isnan(x) && std::isnan(y)) return num::canonical_nan(t);
  if (std::isnan(x) || std::isnan(y)) return std::isnan(x) ? b : a;
  if (x == y) return std::signbit(x) == is_max ? b : a;
  return (x < y) == is_max ? b : a;
}

// Of NaNs, global memory keeps the operand's, else its own, as it is; shared memory its own, else the operand's, quiet.
u64 add_f64(u64 a, u64 b, bool global) {
  const double x = std::bit_cast<double>(a), y = std::bit_cast<double>(b);
  if (x == x && y == y) return std::bit_cast<u64>(x + y);
  if (global) return y != y ? b : a;
  return quiet_f64(x != x ? a : b);
}

// On global memory f32 sums lose their subnormals, on shared memory they keep them. PTX ISA "atom"; measured on an
// H200.
u64 add(ScalarType t, u64 a, u64 b, bool global) {
  if (!isa::is_floating(t)) return a + b;
  if (t == ScalarType::f64) return add_f64(a, b, global);
  FloatRules rules;
  rules.ftz = global && t == ScalarType::f32;
  return round_to(t, add_to_odd(value_of(t, a, rules.ftz), value_of(t, b, rules.ftz)), rules);
}

}  // namespace

u64 combined(Combine how, ScalarType t, u64 old, u64 b, u64 e, bool global) {
  if (const ScalarType half = half_of(t); half != ScalarType::none && how != Combine::exch && how != Combine::cas) {
    const u64 low = combined(how, half, old & 0xFFFF, b & 0xFFFF, 0, global);
    return low | combined(how, half, old >> 16 & 0xFFFF, b >> 16 & 0xFFFF, 0, global) << 16;
  }
  const bool real = isa::is_floating(t);
  switch (how) {
    case Combine::add: return add(t, old, b, global);
    case Combine::min: return real ? real_extremum(false, t, old, b) : integer_extremum(false, t, old, b);
    case Combine::max: return real ? real_extremum(true, t, old, b) : integer_extremum(true, t, old, b);
    case Combine::and_: return old & b;
    case Combine::or_: return old | b;
    case Combine::xor_: return old ^ b;
    case Combine::exch: return b;
    case Combine::cas: return old == b ? e : old;
    case Combine::inc: return old >= b ? 0 : old + 1;
    case Combine::dec: return old == 0 || old > b ? b : old - 1;
    default: return old;
  }
}

bool can_combine(Combine how, ScalarType t) {
  if (isa::bits(t) > 64) return false;
  const ScalarType real = half_of(t) == ScalarType::none ? t : half_of(t);
  if (isa::type_class(t) == isa::TypeClass::packed && real == t) return false;
  if (isa::is_floating(real)) {
    const bool half = real == ScalarType::f16 || real == ScalarType::bf16;
    const bool extremum = how == Combine::min || how == Combine::max;
    const bool adds = half || real == ScalarType::f32 || real == ScalarType::f64;
    return how == Combine::exch || (adds && how == Combine::add) || (half && extremum);
  }
  return how != Combine::none && how != Combine::popc;
}

void combine_bytes(Combine how, ScalarType t, u8* to, const u8* from, std::size_t bytes) {
  const auto size = std::size_t(isa::bits(t)) / 8;
  for (std::size_t at = 0; at + size <= bytes; at += size) {
    u64 old = 0, operand = 0;
    std::memcpy(&old, to + at, size);
    std::memcpy(&operand, from + at, size);
    const u64 now = combined(how, t, old, operand, 0, false);
    std::memcpy(to + at, &now, size);
  }
}

namespace {

// What comes back has the poison that was there; what is left there has that of the operands too, unless it replaces
// what was there. more: results, `count` operands, the second operand of cas.
void spread_atomic(Context& c, const Inst& i, int lane, const Place& p, u32 bytes) {
  if (!c.warp->poison && p.view.all_written(bytes * i.count)) return p.view.mark(bytes * i.count);
  RegisterPoison& poison = poison_of(c);
  const bool replaces = Combine(i.mode) == Combine::exch;
  for (unsigned k = 0; k < i.count; ++k) {
    Place element = p;
    element.view = p.view.from(k * bytes), element.address += k * bytes;
    PoisonSource left = 0;
    if (!replaces && !element.view.all_written(bytes)) left = poison_source(*c.grid, i.operation, element, bytes);
    for (const Slot operand : {c.slot(i, i.count + k), c.slot(i, i.flags ? 2u * i.count : i.count + k)})
      if (poison.any(operand) >> lane & 1) left = poison.source(operand.offset);
    const Slot result = c.slot(i, k);
    poison.set(result, 1u << lane, 0);
    load_poison(c, i, lane, element, 0, bytes, result);
    leave_poison(*c.grid, i.operation, element, bytes, left, "an operand of an atomic operation on global memory");
  }
}

// Inst: width the type, mode the operation, count elements of a vector; more: results, then b, then c.
void atomic(Context& c, const Inst& i, Mask lanes) {
  const auto t = ScalarType(i.width);
  const int bits = isa::bits(t);
  const auto bytes = u32(bits / 8), whole = bytes * i.count;
  bool changed = false;
  for (const int l : each_lane(lanes)) {
    const Place p = locate(c, Space(i.space), c.address(i, l), whole, whole, l);
    observe(c, i, l, p, whole, AccessKind::atomic);
    spread_atomic(c, i, l, p, bytes);
    for (unsigned k = 0; k < i.count; ++k) {
      u64 old = 0;
      std::memcpy(&old, p.view.data + k * bytes, bytes);
      const u64 b = low_bits(c.value(i, i.count + k, l), bits);
      const u64 e = i.flags ? low_bits(c.value(i, 2u * i.count, l), bits) : 0;
      const u64 now = combined(Combine(i.mode), t, old, b, e, p.space == Space::global);
      changed |= now != old;
      std::memcpy(p.view.data + k * bytes, &now, bytes);
      c.write(c.slot(i, k), l, old);
    }
  }
  if (changed)
    ++c.cluster->writes;
  else
    note_poll(c, i, lanes);
}

// exch and cas of 128 bits. more: result, b, c.
void atomic_128(Context& c, const Inst& i, Mask lanes) {
  using Words = std::array<u64, 2>;
  const auto read = [&](unsigned k, int l) { return c.read_words(c.slot(i, k), l); };
  constexpr u32 bytes = sizeof(Words);
  for (const int l : each_lane(lanes)) {
    const Place p = locate(c, Space(i.space), c.address(i, l), bytes, bytes, l);
    observe(c, i, l, p, bytes, AccessKind::atomic);
    spread_atomic(c, i, l, p, bytes);
    Words old;
    std::memcpy(old.data(), p.view.data, bytes);
    const bool writes = !i.flags || old == read(1, l);
    const Words now = writes ? read(i.flags ? 2 : 1, l) : old;
    std::memcpy(p.view.data, now.data(), bytes);
    u64* d = c.lanes<u64>(c.slot(i, 0).offset) + l;
    d[0] = old[0], d[warp_lanes] = old[1];
  }
}

void bind(Binder& binder, const ir::Operation& op, const ops::Atomic& x, Inst& inst) {
  const isa::Modifiers& m = op.modifiers;
  const ScalarType t = m.type();
  const bool wide = t == ScalarType::b128 && (m.combine == Combine::exch || m.combine == Combine::cas);
  if (!wide && !can_combine(m.combine, t)) throw Gap{"this atomic operation"};
  binder.access(inst, op, x.address);
  inst.width = u8(t);
  inst.mode = u8(m.combine);
  inst.count = u8(isa::vector_width(m.vector));
  inst.flags = m.combine == Combine::cas;
  if (x.d->kind == ir::Argument::Kind::vector)
    binder.append_all(inst, x.d, t);
  else
    for (unsigned k = 0; k < inst.count; ++k)
      binder.append(inst, x.d ? binder.any_result(x.d, t) : binder.scratch(register_bytes(t)));
  binder.append_all(inst, x.b, t);
  if (inst.flags) binder.append(inst, binder.source(x.c, t));
  if (inst.more_count != 2u * inst.count + inst.flags) throw Gap{"this atomic operation"};
  inst.run = wide ? goes_on<atomic_128> : goes_on<atomic>;
}

}  // namespace

void bind_atomic(Binder& binder, const ir::Operation& op, const ops::Atomic& x, Inst& inst) {
  bind(binder, op, x, inst);
}
void bind_reduction(Binder& binder, const ir::Operation& op, const ops::Atomic& x, Inst& inst) {
  bind(binder, op, x, inst);
}

}  // namespace kiln::sim

// Atomics and reductions on memory. PTX ISA "atom", "red". Lanes of a warp take turns in lane order.
#include <algorithm>
#include <cstring>

#include "sim/alu.hpp"
#include "sim/atomics.hpp"
#include "sim/float_value.hpp"

namespace kiln::sim {
namespace {

using isa::Combine;
using isa::Opcode;
using isa::ScalarType;
using isa::Space;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

u64 narrow(u64 v, int bits) { return bits >= 64 ? v : v & ((u64{1} << bits) - 1); }

u64 extremum(bool is_max, ScalarType t, u64 a, u64 b) {
  const int shift = 64 - isa::bits(t);
  const bool less = isa::is_signed(t) ? std::int64_t(a << shift) < std::int64_t(b << shift) : a < b;
  return less == is_max ? b : a;
}

u64 add(ScalarType t, u64 a, u64 b) {
  if (!isa::is_floating(t)) return a + b;
  if (t == ScalarType::f64) return std::bit_cast<u64>(std::bit_cast<double>(a) + std::bit_cast<double>(b));
  return round_to(t, add_to_odd(num::to_double(t, a), num::to_double(t, b)), {});
}

u64 halves(ScalarType half, u64 a, u64 b) {
  return add(half, a & 0xFFFF, b & 0xFFFF) | add(half, a >> 16 & 0xFFFF, b >> 16 & 0xFFFF) << 16;
}

}  // namespace

u64 combined(Combine how, ScalarType t, u64 old, u64 b, u64 e) {
  switch (how) {
    case Combine::add:
      if (t == ScalarType::f16x2) return halves(ScalarType::f16, old, b);
      if (t == ScalarType::bf16x2) return halves(ScalarType::bf16, old, b);
      return add(t, old, b);
    case Combine::min: return extremum(false, t, old, b);
    case Combine::max: return extremum(true, t, old, b);
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
  if (isa::is_floating(t) || isa::type_class(t) == isa::TypeClass::packed)
    return how == Combine::add || how == Combine::exch;
  return how != Combine::none && how != Combine::popc;
}

void combine_bytes(Combine how, ScalarType t, std::uint8_t* to, const std::uint8_t* from, std::size_t bytes) {
  const auto size = std::size_t(isa::bits(t)) / 8;
  for (std::size_t at = 0; at + size <= bytes; at += size) {
    u64 old = 0, operand = 0;
    std::memcpy(&old, to + at, size);
    std::memcpy(&operand, from + at, size);
    const u64 now = combined(how, t, old, operand);
    std::memcpy(to + at, &now, size);
  }
}

namespace {

// Inst: width the type, mode the operation, count elements of a vector; more: results, then b, then c.
Status atomic(Context& c, const Inst& i, Mask lanes) {
  const auto t = ScalarType(i.width);
  const int bits = isa::bits(t);
  const auto bytes = u32(bits / 8), whole = bytes * i.count;
  bool changed = false;
  for (Mask m = lanes; m; m &= m - 1) {
    const int l = first_lane(m);
    const Place p = locate(c, Space(i.space), c.address(i, l), whole, whole, l);
    check_written(*c.grid, i.operation, p, whole);
    observe(c, i, l, p, whole, AccessKind::atomic);
    for (unsigned k = 0; k < i.count; ++k) {
      u64 old = 0;
      std::memcpy(&old, p.view.data + k * bytes, bytes);
      const u64 b = narrow(c.read(c.slot(i, i.count + k), l), bits);
      const u64 e = i.flags ? narrow(c.read(c.slot(i, 2u * i.count), l), bits) : 0;
      const u64 now = combined(Combine(i.mode), t, old, b, e);
      changed |= now != old;
      std::memcpy(p.view.data + k * bytes, &now, bytes);
      c.write(c.slot(i, k), l, old);
    }
    p.view.mark(whole);
  }
  if (changed)
    ++c.cluster->writes;
  else
    note_poll(c, i, lanes);
  return Status::next;
}

}  // namespace

bool lower_atomic(Lowering& l, const ir::Operation& op, Inst& inst) {
  if (op.opcode != Opcode::atom && op.opcode != Opcode::red) return false;
  const isa::Modifiers& m = op.modifiers;
  const ScalarType t = m.type();
  if (!can_combine(m.combine, t)) throw Gap{"this atomic operation"};
  const bool returns = op.opcode == Opcode::atom;
  l.address(inst, op.arg(returns ? 1 : 0));
  inst.space = std::uint8_t(m.space());
  inst.width = std::uint8_t(t);
  inst.mode = std::uint8_t(m.combine);
  inst.count = std::uint8_t(isa::vector_width(m.vector));
  inst.flags = m.combine == Combine::cas;
  if (returns && op.arg(0).kind == ir::Argument::Kind::vector)
    l.append_all(inst, op.arg(0), t);
  else
    for (unsigned k = 0; k < inst.count; ++k)
      l.append(inst, returns ? l.any_result(op.arg(0), t) : l.scratch(register_bytes(t)));
  l.append_all(inst, op.arg(returns ? 2 : 1), t);
  if (inst.flags) l.append(inst, l.source(op.arg(returns ? 3 : 2), t));
  if (inst.more_count != 2u * inst.count + inst.flags) throw Gap{"this atomic operation"};
  inst.run = atomic;
  return true;
}

}  // namespace kiln::sim

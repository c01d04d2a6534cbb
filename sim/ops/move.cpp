// Moves, packing, address conversion. PTX ISA "Data Movement and Conversion Instructions": mov, cvta, isspacep, mapa.
#include "ptx/rules/execution.hpp"
#include "sim/ops/alu.hpp"

namespace kiln::sim {
namespace {

using Same = decltype([]<class T>(T a) -> T { return a; });

void move_predicate(Context& c, const Inst& i, Mask lanes) {
  const Mask a = c.read_mask(c.slot(i, 0));
  c.write_mask(i.d, lanes, a);
}

void move_128(Context& c, const Inst& i, Mask lanes) {
  auto *d = c.lanes<u64>(i.d), *a = c.lanes<u64>(i.a);
  for_lanes(lanes, [=](int l) { d[l] = a[l], d[l + warp_lanes] = a[l + warp_lanes]; });
}

// Clocks count the cluster's ticks. more: the results, from the least significant bits; width: bits of one.
void move_clock(Context& c, const Inst& i, Mask lanes) {
  const u64 now = i.mode == 1 ? c.cluster->now >> 32 : i.mode == 2 ? c.cluster->now & 0xFFFFFFFFu : c.cluster->now;
  for (unsigned k = 0; k < i.more_count; ++k)
    for (const int l : each_lane(lanes)) c.write(c.slot(i, k), l, now >> k * i.width);
}

// more: the components, least significant first; width: bits of one.
void pack(Context& c, const Inst& i, Mask lanes) {
  const bool huge = i.count == 16;
  for (const int l : each_lane(lanes)) {
    u64 low = 0, high = 0;
    for (unsigned k = 0; k < i.more_count; ++k) {
      const unsigned at = k * i.width;
      const u64 part = i.width == 64 ? ~u64{0} : (u64{1} << i.width) - 1;
      const u64 v = c.value(i, k, l) & part;
      (at < 64 ? low : high) |= v << at % 64;
    }
    c.write({i.d, i.count, false}, l, low);
    if (huge) c.lanes<u64>(i.d)[l + warp_lanes] = high;
  }
}

void unpack(Context& c, const Inst& i, Mask lanes) {
  const bool huge = i.count == 16;
  for (const int l : each_lane(lanes)) {
    const u64 low = c.read({i.a, i.count, false}, l), high = huge ? c.lanes<u64>(i.a)[l + warp_lanes] : 0;
    for (unsigned k = 0; k < i.more_count; ++k) {
      const unsigned at = k * i.width;
      const u64 part = i.width == 64 ? ~u64{0} : (u64{1} << i.width) - 1;
      c.write(c.slot(i, k), l, (at < 64 ? low : high) >> at % 64 & part);
    }
  }
}

// more: the results, then as many sources; all are read before one is written.
void move_elements(Context& c, const Inst& i, Mask lanes) {
  const unsigned count = i.more_count / 2;
  std::array<u64, 4> values{};
  for (const int l : each_lane(lanes)) {
    for (unsigned k = 0; k < count; ++k) values[k] = c.value(i, count + k, l);
    for (unsigned k = 0; k < count; ++k) c.write(c.slot(i, k), l, values[k]);
  }
}

// A vector that is written from one value gets the value's parts, from the least significant on, as ptxas has it.
void bind_vector_move(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst, bool packs) {
  const ScalarType t = op.modifiers.type();
  if (alu.a->kind == ir::Argument::Kind::vector && alu.d->kind == ir::Argument::Kind::vector) {
    binder.append_all(inst, alu.d, t);
    binder.append_all(inst, alu.a, t);
    inst.run = goes_on<move_elements>;
    return;
  }
  if (alu.a->kind == ir::Argument::Kind::special) throw Gap{"mov of all components of a special register"};
  const ir::Argument& vector = packs ? alu.a : alu.d;
  inst.width = u8(unsigned(isa::bits(t)) / vector.count);
  const ScalarType element = inst.width == 64   ? ScalarType::b64
                             : inst.width == 32 ? ScalarType::b32
                             : inst.width == 16 ? ScalarType::b16
                                                : ScalarType::b8;
  binder.append_all(inst, vector, element);
  const Slot whole = packs ? binder.result(alu.d, t) : binder.source(alu.a, t);
  (packs ? inst.d : inst.a) = whole.offset;
  inst.count = whole.bytes;
  inst.run = packs ? goes_on<pack> : goes_on<unpack>;
}

// Shared addresses are offsets. Those of local memory and parameters are generic already, or what is left of them in 32
// bits. The others are generic.
template <u64 window>
struct ToGeneric {
  u64 operator()(u64 a) const { return window + (a & 0xFFFFFFFFu); }
};
using FromGeneric = decltype([](u64 a) { return in_window(a, shared_base) ? a - shared_base : a & 0xFFFFFFFFu; });

void bind_cvta(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst) {
  const ScalarType t = op.modifiers.type();
  if (register_bytes(t) != 8) throw Gap{"32-bit generic addresses"};
  operands(binder, alu, inst, t, 1);
  const Space space = op.modifiers.space();
  inst.run = unary<Same, u64>;
  if (isa::is_shared(space))
    inst.run = op.modifiers.to ? unary<FromGeneric, u64> : unary<ToGeneric<shared_base>, u64>;
  else if (space == Space::local && !op.modifiers.to)
    inst.run = unary<ToGeneric<local_base>, u64>;
  else if ((space == Space::param || space == Space::param_entry) && !op.modifiers.to)
    inst.run = unary<ToGeneric<parameter_base>, u64>;
}

void is_in_space(Context& c, const Inst& i, Mask lanes) {
  const auto space = Space(i.space);
  const Mask r = lanes_where(lanes, [&](int l) {
    const u64 a = c.address(i, l);
    switch (space) {
      case Space::shared_cluster: return in_window(a, shared_base);
      case Space::shared:
      case Space::shared_cta:
        return in_window(a, shared_base) && u32(a - shared_base) >> cluster_rank_shift == c.cta->rank;
      case Space::local: return in_window(a, local_base);
      case Space::param:
      case Space::param_entry: return in_window(a, parameter_base);
      default: return c.grid->memory.region(a) != nullptr;
    }
  });
  c.write_mask(i.d, lanes, r);
}

// mapa: the address of the same place in another CTA of the cluster. flags bit 0: the addresses are generic. A rank
// that the cluster does not have gives an address like any other, and is judged where the address is used: compilers
// let every lane map its own number, and lanes after the last CTA do nothing with what they get.
template <class W>
void map_address(Context& c, const Inst& i, Mask lanes) {
  auto *d = c.lanes<W>(i.d), *a = c.lanes<W>(i.a);
  const auto* rank = c.lanes<u32>(i.b);
  for (const int l : each_lane(lanes)) {
    const u32 offset = u32(a[l]) & shared_offset_mask;
    d[l] = W((i.flags & 1 ? shared_base : 0) + (rank[l] << cluster_rank_shift | offset));
  }
}

using CtaRank = decltype([](u64 address) { return u32(address) >> cluster_rank_shift; });

void bind_cluster_address(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst) {
  const ScalarType t = op.modifiers.type();
  const bool wide = register_bytes(t) == 8;
  inst.flags = op.modifiers.spaces.count == 0;
  if (op.opcode == Opcode::mapa) {
    operands(binder, alu, inst, t, {t, ScalarType::u32});
    inst.run = wide ? goes_on<map_address<u64>> : goes_on<map_address<u32>>;
  } else {
    operands(binder, alu, inst, ScalarType::u32, {t});
    inst.run = wide ? unary<CtaRank, u64, u32> : unary<CtaRank, u32>;
  }
}

void bind_is_in_space(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst) {
  inst.d = binder.result(alu.d, ScalarType::pred).offset;
  const Slot a = binder.any_width(alu.a, ScalarType::u64);
  inst.a = a.offset;
  inst.wide = a.bytes == 8;
  inst.space = u8(op.modifiers.space());
  inst.run = goes_on<is_in_space>;
}

}  // namespace

bool is_clock(const ir::Argument& a) { return a.kind == ir::Argument::Kind::special && is_clock(ir::Special(a.id)); }

void bind_clock(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst) {
  const auto s = ir::Special(alu.a->id);
  const auto parts = binder.code().components(alu.d);
  inst.width = u8(parts.empty() ? 0u : unsigned(isa::bits(op.modifiers.type())) / unsigned(parts.size()));
  if (parts.empty())
    binder.append(inst, binder.any_result(alu.d, op.modifiers.type()));
  else
    binder.append_all(inst, alu.d, ScalarType::b32);
  const bool high = s == ir::Special::clock_hi || s == ir::Special::globaltimer_hi;
  inst.mode = high ? 1 : s == ir::Special::clock64 || s == ir::Special::globaltimer ? 0 : 2;
  inst.run = goes_on<move_clock>;
}

void bind_move(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst) {
  const ScalarType t = op.modifiers.type();
  using Kind = ir::Argument::Kind;
  if (alu.a->kind == Kind::vector) return bind_vector_move(binder, op, alu, inst, true);
  if (is_clock(alu.a)) return bind_clock(binder, op, alu, inst);
  if (alu.d->kind == Kind::vector) return bind_vector_move(binder, op, alu, inst, false);
  if (t == ScalarType::pred) {
    inst.d = binder.result(alu.d, t).offset;
    binder.append(inst, binder.predicate(alu.a));
    inst.run = goes_on<move_predicate>;
    return;
  }
  operands(binder, alu, inst, t, 1);
  const u8 bytes = register_bytes(t);
  if (bytes == 8 && alu.a->kind == Kind::special)
    inst.run = unary<Same, u32, u64>;
  else
    inst.run = bytes == 16 ? goes_on<move_128> : bytes == 8 ? unary<Same, u64> : unary<Same, u32>;
}

void bind_address_view(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst) {
  switch (op.opcode) {
    case Opcode::cvta: return bind_cvta(binder, op, alu, inst);
    case Opcode::isspacep: return bind_is_in_space(binder, op, alu, inst);
    case Opcode::mapa:
    case Opcode::getctarank: return bind_cluster_address(binder, op, alu, inst);
    default: return;
  }
}

}  // namespace kiln::sim

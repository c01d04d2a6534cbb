// Logic, shifts and bit fields. PTX ISA "Logic and Shift Instructions", "Integer Arithmetic Instructions" (bfe ...
// szext).
#include <algorithm>
#include <bit>

#include "sim/ops/alu.hpp"

namespace kiln::sim {
namespace {

using And = decltype([]<class T>(T a, T b) -> T { return T(a & b); });
using Or = decltype([]<class T>(T a, T b) -> T { return T(a | b); });
using Xor = decltype([]<class T>(T a, T b) -> T { return T(a ^ b); });
using Not = decltype([]<class T>(T a) -> T { return T(~a); });
using Cnot = decltype([]<class T>(T a) -> T { return T(a == 0); });
// Shift amounts are unsigned and clamp at the width.
using Shl = decltype([]<class T>(T a, u32 n) -> T {
  return n >= 8 * sizeof(T) ? T(0) : T(std::make_unsigned_t<T>(a) << n);
});
using Shr = decltype([]<class T>(T a, u32 n) -> T {
  constexpr u32 width = 8 * sizeof(T);
  if constexpr (std::is_signed_v<T>)
    return T(a >> std::min(n, width - 1));
  else
    return n >= width ? T(0) : T(a >> n);
});
using Popc = decltype([]<class T>(T a) -> u32 { return u32(std::popcount(std::make_unsigned_t<T>(a))); });
using Clz = decltype([]<class T>(T a) -> u32 { return u32(std::countl_zero(std::make_unsigned_t<T>(a))); });
using Brev = decltype([]<class T>(T a) -> T {
  T r = 0;
  for (unsigned k = 0; k < 8 * sizeof(T); ++k) r = T(r << 1 | (a >> k & 1));
  return r;
});
template <bool shift_amount>
struct Bfind {
  template <class T>
  u32 operator()(T a) const {
    std::make_unsigned_t<T> v(a);
    if (std::is_signed_v<T> && a < 0) v = decltype(v)(~v);
    if (v == 0) return 0xFFFFFFFFu;
    const u32 leading = u32(std::countl_zero(v));
    return shift_amount ? leading : u32(8 * sizeof(T) - 1) - leading;
  }
};

// The n-th set bit from `base` upwards (n > 0) or downwards (n < 0); n = 0: `base` itself if it is set.
using FindNthSet = decltype([](u32 mask, u32 base, u32 offset) {
  const auto n = std::int32_t(offset);
  const int step = n < 0 ? -1 : 1;
  std::int64_t left = n == 0 ? 1 : std::abs(std::int64_t(n));
  for (std::int64_t at = base; at >= 0 && at < 32; at += step) {
    if ((mask >> at & 1) && --left == 0) return u32(at);
    if (n == 0) break;
  }
  return ~u32{0};
});

// Both halves of a pair of words shifted as one; the amount clamps at 32 or wraps.
template <bool left, bool wrap>
struct Shf {
  u32 operator()(u32 low, u32 high, u32 n) const {
    n = wrap ? n & 31 : std::min(n, u32{32});
    const u64 both = u64(high) << 32 | low;
    return left ? u32(both << n >> 32) : u32(both >> n);
  }
};

// 32-bit fields take a byte of a position or length; 64-bit ones, which no instruction has, the word: seen on an H200.
void field(u32 width, u32& pos, u32& len) {
  if (width == 32) pos &= 0xFF, len &= 0xFF;
  pos = std::min(pos, 255u), len = std::min(len, 255u);
}

using Bfe = decltype([]<class T>(T a, u32 pos, u32 len) -> T {
  constexpr u32 width = 8 * sizeof(T);
  using U = std::make_unsigned_t<T>;
  field(width, pos, len);
  U sign = 0;
  if (std::is_signed_v<T> && len != 0) sign = U(a) >> std::min(pos + len - 1, width - 1) & 1;
  U r = 0;
  for (u32 k = 0; k < width; ++k) r |= U(k < len && pos + k < width ? U(a) >> (pos + k) & 1 : sign) << k;
  return T(r);
});

// slots: f (the field), into, position, length.
template <class T>
void bit_field_insert(Context& c, const Inst& i, Mask lanes) {
  auto* d = c.lanes<T>(i.d);
  const auto *from = c.lanes<T>(c.slot(i, 0).offset), *into = c.lanes<T>(c.slot(i, 1).offset);
  const auto *pos = c.lanes<u32>(c.slot(i, 2).offset), *len = c.lanes<u32>(c.slot(i, 3).offset);
  for_lanes(lanes, [=](int l) {
    constexpr u32 width = 8 * sizeof(T);
    u32 p = pos[l], n = len[l];
    field(width, p, n);
    n = std::min(n, width);
    const T ones = n == 0 ? 0 : T(T(~T(0)) >> (width - n));
    const T mask = p >= width ? T(0) : T(ones << p);
    d[l] = T((into[l] & ~mask) | (p >= width ? T(0) : T(from[l] << p) & mask));
  });
}

u32 lop3(u32 a, u32 b, u32 e, unsigned table) {
  u32 r = 0;
  for (unsigned k = 0; k < 8; ++k)
    if (table >> k & 1) r |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? e : ~e);
  return r;
}
void lop3_lanes(Context& c, const Inst& i, Mask lanes) {
  auto* d = c.lanes<u32>(i.d);
  const auto *a = c.lanes<u32>(i.a), *b = c.lanes<u32>(i.b), *e = c.lanes<u32>(i.c);
  const auto table = unsigned(i.value);
  for_lanes(lanes, [=](int l) { d[l] = lop3(a[l], b[l], e[l], table); });
}

// more: the predicate result and the predicate that it is combined with; mode: how.
void lop3_predicate(Context& c, const Inst& i, Mask lanes) {
  lop3_lanes(c, i, lanes);
  const auto* d = c.lanes<u32>(i.d);
  const Mask some = lanes_where(lanes, [=](int l) { return d[l] != 0; }), with = c.read_mask(c.slot(i, 1));
  const Mask r = Combine(i.mode) == Combine::or_ ? some | with : some & with;
  Mask& p = c.mask(c.slot(i, 0).offset);
  p = (p & ~lanes) | (r & lanes);
}

u32 byte_select(u64 both, u32 selector) {
  const u32 byte = u32(both >> 8 * (selector & 7)) & 0xFF;
  return selector & 8 ? (byte & 0x80 ? 0xFFu : 0u) : byte;
}
void prmt_lanes(Context& c, const Inst& i, Mask lanes) {
  auto* d = c.lanes<u32>(i.d);
  const auto *a = c.lanes<u32>(i.a), *b = c.lanes<u32>(i.b), *e = c.lanes<u32>(i.c);
  for_lanes(lanes, [=, &i](int l) {
    const u32 s = prmt_selector(isa::PrmtMode(i.mode), e[l]);
    const u64 both = u64(b[l]) << 32 | a[l];
    d[l] = byte_select(both, s) | byte_select(both, s >> 4) << 8 | byte_select(both, s >> 8) << 16 |
           byte_select(both, s >> 12) << 24;
  });
}

template <bool wrap>
struct Bmsk {
  u32 operator()(u32 start, u32 n) const {
    if (wrap) start &= 31, n &= 31;
    if (start >= 32 || n == 0) return 0;
    return (n >= 32 ? ~0u : (1u << n) - 1) << start;
  }
};
template <bool wrap>
struct Szext {
  template <class T>
  T operator()(T a, u32 n) const {
    if (wrap) n &= 31;
    if (n >= 32) return a;
    if (n == 0) return 0;
    return T(T(std::make_unsigned_t<T>(a) << (32 - n)) >> (32 - n));
  }
};

// Logic on predicates works on whole masks.
void logic_predicate(Context& c, const Inst& i, Mask lanes) {
  const Mask a = c.read_mask(c.slot(i, 0)), b = i.more_count > 1 ? c.read_mask(c.slot(i, 1)) : 0;
  const Mask r = i.mode == 0 ? a & b : i.mode == 1 ? a | b : i.mode == 2 ? a ^ b : ~a;
  c.write_mask(i.d, lanes, r);
}

template <class Op>
Handler shift_by(ScalarType t) {
  return with_integer(t, []<class T>(As<T>) -> Handler { return binary<Op, T, T, u32>; });
}
template <class Op>
Handler counts(ScalarType t) {
  return with_integer(t, []<class T>(As<T>) -> Handler { return unary<Op, T, u32>; });
}

void bind_logic(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst) {
  const ScalarType t = op.modifiers.type();
  const int mode = op.opcode == Opcode::and_ ? 0 : op.opcode == Opcode::or_ ? 1 : op.opcode == Opcode::xor_ ? 2 : 3;
  if (t == ScalarType::pred) {
    inst.d = binder.result(alu.d, t).offset;
    binder.append(inst, binder.predicate(alu.a));
    if (alu.b) binder.append(inst, binder.predicate(alu.b));
    inst.mode = u8(mode);
    inst.run = goes_on<logic_predicate>;
    return;
  }
  operands(binder, alu, inst, t, mode == 3 ? 1 : 2);
  inst.run = mode == 0 ? two<And>(t) : mode == 1 ? two<Or>(t) : mode == 2 ? two<Xor>(t) : one<Not>(t);
}

void bind_shift(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst) {
  const ScalarType t = op.modifiers.type();
  operands(binder, alu, inst, t, {t, ScalarType::u32});
  inst.run = op.opcode == Opcode::shl ? shift_by<Shl>(t) : shift_by<Shr>(t);
}

void bind_count(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst) {
  const ScalarType t = op.modifiers.type();
  operands(binder, alu, inst, ScalarType::u32, {t});
  if (op.opcode == Opcode::popc)
    inst.run = counts<Popc>(t);
  else if (op.opcode == Opcode::clz)
    inst.run = counts<Clz>(t);
  else
    inst.run = op.modifiers.shiftamt ? counts<Bfind<true>>(t) : counts<Bfind<false>>(t);
}

void bind_field(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst) {
  const ScalarType t = op.modifiers.type();
  if (op.opcode == Opcode::bfe) {
    operands(binder, alu, inst, t, {t, ScalarType::u32, ScalarType::u32});
    inst.run = with_integer(t, []<class T>(As<T>) -> Handler { return ternary<Bfe, T, T, u32, u32>; });
    return;
  }
  inst.d = binder.result(alu.d, t).offset;
  for (const ir::Argument& word : {alu.a, alu.b}) binder.append(inst, binder.source(word, t));
  for (const ir::Argument& number : {alu.c, alu.e}) binder.append(inst, binder.source(number, ScalarType::u32));
  inst.run = isa::bits(t) == 64 ? goes_on<bit_field_insert<u64>> : goes_on<bit_field_insert<u32>>;
}

// lop3.or d|p, a, b, c, table, q. Without the combination there is a plain d.
void bind_lop3(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst) {
  const bool pair = alu.d->kind == ir::Argument::Kind::pair;
  const auto parts = binder.code().components(alu.d);
  inst.d = binder.result(pair ? parts[0] : *alu.d, ScalarType::b32).offset;
  inst.a = binder.source(alu.a, ScalarType::b32).offset;
  inst.b = binder.source(alu.b, ScalarType::b32).offset;
  inst.c = binder.source(alu.c, ScalarType::b32).offset;
  if (alu.e->kind != ir::Argument::Kind::immediate) throw Gap{"a table that is not a number"};
  inst.value = alu.e->value;
  if (!pair) {
    inst.run = alu.q ? nullptr : goes_on<lop3_lanes>;
    return;
  }
  binder.append(inst, binder.any_result(parts[1], ScalarType::pred));
  binder.append(inst, binder.predicate(alu.q));
  inst.mode = u8(op.modifiers.combine);
  inst.run = goes_on<lop3_predicate>;
}

void bind_word(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst) {
  const auto& m = op.modifiers;
  const bool wrap = m.shift_mode == isa::ShiftMode::wrap;
  const bool two_sources = op.opcode == Opcode::bmsk || op.opcode == Opcode::szext;
  operands(binder, alu, inst, m.type(), two_sources ? 2 : 3);
  switch (op.opcode) {
    case Opcode::prmt:
      inst.mode = u8(m.prmt_mode);
      inst.run = goes_on<prmt_lanes>;
      break;
    case Opcode::shf:
      if (m.direction == isa::Direction::left)
        inst.run = wrap ? ternary<Shf<true, true>, u32> : ternary<Shf<true, false>, u32>;
      else
        inst.run = wrap ? ternary<Shf<false, true>, u32> : ternary<Shf<false, false>, u32>;
      break;
    case Opcode::bmsk: inst.run = wrap ? binary<Bmsk<true>, u32> : binary<Bmsk<false>, u32>; break;
    default:
      if (isa::is_signed(m.type()))
        inst.run = wrap ? binary<Szext<true>, std::int32_t, std::int32_t, u32>
                        : binary<Szext<false>, std::int32_t, std::int32_t, u32>;
      else
        inst.run = wrap ? binary<Szext<true>, u32> : binary<Szext<false>, u32>;
  }
}

}  // namespace

// The selectors of the special modes, four nibbles for each value of the low two bits of the third operand.
u32 prmt_selector(isa::PrmtMode mode, u32 control) {
  static constexpr u32 table[6][4] = {{0x3210, 0x4321, 0x5432, 0x6543}, {0x5670, 0x6701, 0x7012, 0x0123},
                                      {0x0000, 0x1111, 0x2222, 0x3333}, {0x3210, 0x3211, 0x3222, 0x3333},
                                      {0x0000, 0x1110, 0x2210, 0x3210}, {0x1010, 0x3232, 0x1010, 0x3232}};
  return mode == isa::PrmtMode::none ? control : table[int(mode) - 1][control & 3];
}

void bind_bits(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst) {
  const ScalarType t = op.modifiers.type();
  switch (op.opcode) {
    case Opcode::and_:
    case Opcode::or_:
    case Opcode::xor_:
    case Opcode::not_: return bind_logic(binder, op, alu, inst);
    case Opcode::shl:
    case Opcode::shr: return bind_shift(binder, op, alu, inst);
    case Opcode::popc:
    case Opcode::clz:
    case Opcode::bfind: return bind_count(binder, op, alu, inst);
    case Opcode::bfe:
    case Opcode::bfi: return bind_field(binder, op, alu, inst);
    case Opcode::lop3: return bind_lop3(binder, op, alu, inst);
    case Opcode::fns:
      operands(binder, alu, inst, t, 3);
      inst.run = ternary<FindNthSet, u32>;
      return;
    case Opcode::prmt:
    case Opcode::shf:
    case Opcode::bmsk:
    case Opcode::szext: return bind_word(binder, op, alu, inst);
    case Opcode::cnot:
      operands(binder, alu, inst, t, 1);
      inst.run = one<Cnot>(t);
      return;
    case Opcode::brev:
      operands(binder, alu, inst, t, 1);
      inst.run = one<Brev>(t);
      return;
    default: return;
  }
}

}  // namespace kiln::sim

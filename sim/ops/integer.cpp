// Integer arithmetic. PTX ISA "Integer Arithmetic Instructions", "Extended-Precision Integer Arithmetic Instructions".
#include <algorithm>
#include <limits>

#include "sim/ops/alu.hpp"

namespace kiln::sim {
namespace {

using isa::HalfSelect;

template <class T>
using U = std::make_unsigned_t<T>;
template <class T>
using Twice =
    std::conditional_t<sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, std::int32_t, u32>,
                       std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, std::int64_t, u64>,
                                          std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>>;

// All arithmetic goes through unsigned types: overflow wraps.
using Add = decltype([]<class T>(T a, T b) -> T { return T(U<T>(a) + U<T>(b)); });
using Sub = decltype([]<class T>(T a, T b) -> T { return T(U<T>(a) - U<T>(b)); });
using Low = decltype([]<class T>(T a, T b) -> T { return T(u64(a) * u64(b)); });
using High = decltype([]<class T>(T a, T b) -> T { return T((Twice<T>(a) * Twice<T>(b)) >> (8 * sizeof(T))); });
using Wide = decltype([]<class T>(T a, T b) -> Twice<T> { return Twice<T>(a) * Twice<T>(b); });
template <class M>
struct MadOf {
  template <class T, class C>
  C operator()(T a, T b, C c) const {
    return Add{}(C(M{}(a, b)), c);
  }
};
// Division by zero gives all ones on the hardware; PTX calls it unspecified.
using Div = decltype([]<class T>(T a, T b) -> T {
  if (b == 0) return T(-1);
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return Sub{}(T(0), a);
  return T(a / b);
});
using Rem = decltype([]<class T>(T a, T b) -> T {
  if (b == 0) return a;
  if constexpr (std::is_signed_v<T>)
    if (b == -1) return 0;
  return T(a % b);
});
using Min = decltype([]<class T>(T a, T b) -> T { return b < a ? b : a; });
using Max = decltype([]<class T>(T a, T b) -> T { return a < b ? b : a; });
using Abs = decltype([]<class T>(T a) -> T { return a < 0 ? Sub{}(T(0), a) : a; });
using Neg = decltype([]<class T>(T a) -> T { return Sub{}(T(0), a); });
using Sad = decltype([]<class T>(T a, T b, T c) -> T { return Add{}(c, a < b ? Sub{}(b, a) : Sub{}(a, b)); });
template <class M>
struct Relu {
  template <class T>
  T operator()(T a, T b) const {
    return std::max<T>(M{}(a, b), 0);
  }
};

template <class T>
T saturated(std::int64_t v) {
  return T(std::clamp<std::int64_t>(v, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}
using AddSat = decltype([]<class T>(T a, T b) -> T { return saturated<T>(std::int64_t(a) + b); });
using SubSat = decltype([]<class T>(T a, T b) -> T { return saturated<T>(std::int64_t(a) - b); });
using MadHiSat = decltype([](std::int32_t a, std::int32_t b, std::int32_t c) {
  return saturated<std::int32_t>(std::int64_t(High{}(a, b)) + c);
});

// Two halves or four bytes of a register, each by itself.
template <class Op, class P>
struct Parts {
  template <class... W>
  u32 operator()(W... sources) const {
    u32 r = 0;
    for (unsigned at = 0; at < 32; at += 8 * sizeof(P)) r |= u32(U<P>(Op{}(P(sources >> at)...))) << at;
    return r;
  }
};

template <class Op>
Handler two_of_parts(ScalarType t) {
  switch (t) {
    case ScalarType::u16x2: return binary<Parts<Op, u16>, u32>;
    case ScalarType::s16x2: return binary<Parts<Op, std::int16_t>, u32>;
    case ScalarType::u8x4: return binary<Parts<Op, u8>, u32>;
    case ScalarType::s8x4: return binary<Parts<Op, std::int8_t>, u32>;
    default: return nullptr;
  }
}

template <class Op>
Handler one_or_parts(ScalarType t) {
  const Handler parts = two_of_parts<Op>(t);
  return parts ? parts : two<Op>(t);
}

ScalarType twice(ScalarType t) {
  switch (t) {
    case ScalarType::u16: return ScalarType::u32;
    case ScalarType::s16: return ScalarType::s32;
    case ScalarType::u32: return ScalarType::u64;
    case ScalarType::s32: return ScalarType::s64;
    default: throw Gap{"a wide product of this type"};
  }
}

bool is_integer_family(ScalarType t) { return isa::is_integer(t) || two_of_parts<Add>(t); }

template <class Op>
Handler saturating(ScalarType t) {
  if (t == ScalarType::s32) return binary<Op, std::int32_t>;
  if (t == ScalarType::u32) return binary<Op, u32>;
  return two_of_parts<Op>(t);
}

void bind_mul(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst) {
  const ScalarType t = op.modifiers.type();
  if (op.modifiers.half == HalfSelect::wide) {
    operands(binder, alu, inst, twice(t), {t, t});
    inst.run = isa::bits(t) == 64 ? nullptr : with_integer(t, []<class T>(As<T>) -> Handler {
      if constexpr (sizeof(T) == 8)
        return nullptr;
      else
        return binary<Wide, T, Twice<T>>;
    });
    return;
  }
  operands(binder, alu, inst, t, 2);
  inst.run = op.modifiers.half == HalfSelect::hi ? one_or_parts<High>(t) : one_or_parts<Low>(t);
}

void bind_mad(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst) {
  const ScalarType t = op.modifiers.type();
  const HalfSelect half = op.modifiers.half;
  const ScalarType r = half == HalfSelect::wide ? twice(t) : t;
  operands(binder, alu, inst, r, {t, t, r});
  if (op.modifiers.sat) {
    inst.run = half == HalfSelect::hi && t == ScalarType::s32 ? ternary<MadHiSat, std::int32_t> : nullptr;
    return;
  }
  inst.run = with_integer(t, [half]<class T>(As<T>) -> Handler {
    if (half == HalfSelect::hi) return ternary<MadOf<High>, T>;
    if constexpr (sizeof(T) < 8)
      if (half == HalfSelect::wide) return ternary<MadOf<Wide>, T, Twice<T>>;
    return ternary<MadOf<Low>, T>;
  });
}

// 24-bit operands: sign or zero extended from bit 23.
template <class T>
constexpr std::int64_t low24(T a) {
  return std::is_signed_v<T> ? std::int64_t(std::int32_t(u32(a) << 8) >> 8) : std::int64_t(u32(a) & 0xFFFFFF);
}
template <int shift>
struct Mul24 {
  template <class T>
  T operator()(T a, T b) const {
    return T((low24(a) * low24(b)) >> shift);
  }
};

using Mad24HiSat = decltype([](std::int32_t a, std::int32_t b, std::int32_t c) {
  return saturated<std::int32_t>(std::int64_t(Mul24<16>{}(a, b)) + c);
});

Handler mul24(const ir::Operation& op) {
  const bool hi = op.modifiers.half == HalfSelect::hi, is_signed = isa::is_signed(op.modifiers.type());
  if (op.modifiers.sat)
    return hi && is_signed && op.opcode == Opcode::mad24 ? ternary<Mad24HiSat, std::int32_t> : nullptr;
  if (op.opcode == Opcode::mul24) {
    if (is_signed) return hi ? binary<Mul24<16>, std::int32_t> : binary<Mul24<0>, std::int32_t>;
    return hi ? binary<Mul24<16>, u32> : binary<Mul24<0>, u32>;
  }
  if (is_signed) return hi ? ternary<MadOf<Mul24<16>>, std::int32_t> : ternary<MadOf<Mul24<0>>, std::int32_t>;
  return hi ? ternary<MadOf<Mul24<16>>, u32> : ternary<MadOf<Mul24<0>>, u32>;
}

// Carry chains: flags bit 0: read CC.CF, bit 1: write it. `mode`: 0 add, 1 sub. The product of madc is made before.
template <class T>
void carry_add(Context& c, const Inst& i, Mask lanes) {
  auto *d = c.lanes<Word<T>>(i.d), *a = c.lanes<Word<T>>(i.a), *b = c.lanes<Word<T>>(i.b);
  for (const int l : each_lane(lanes)) {
    const unsigned in = i.flags & 1 ? c.warp->carry >> l & 1 : 0;
    unsigned __int128 sum = 0;
    // A subtraction adds the complement: CC.CF is what that sum carries, so it is 0 for a borrow. PTX leaves a chain of
    // both kinds open; an H200 does this.
    if (i.mode == 1)
      sum = (unsigned __int128)a[l] + Word<T>(~b[l]) + (i.flags & 1 ? in : 1);
    else
      sum = (unsigned __int128)a[l] + b[l] + in;
    d[l] = Word<T>(sum);
    const auto out = Mask(sum >> (8 * sizeof(T)) & 1);
    if (i.flags & 2) c.warp->carry = (c.warp->carry & ~(1u << l)) | out << l;
  }
}

template <class T>
void carry_mad(Context& c, const Inst& i, Mask lanes) {
  auto *d = c.lanes<Word<T>>(i.d), *a = c.lanes<Word<T>>(i.a), *b = c.lanes<Word<T>>(i.b), *e = c.lanes<Word<T>>(i.c);
  for (const int l : each_lane(lanes)) {
    const T x = from_word<T>(a[l]), y = from_word<T>(b[l]);
    const Word<T> product = to_word<T>(i.mode ? High{}(x, y) : Low{}(x, y));
    const unsigned __int128 sum = (unsigned __int128)product + e[l] + (i.flags & 1 ? c.warp->carry >> l & 1 : 0);
    d[l] = Word<T>(sum);
    if (i.flags & 2) c.warp->carry = (c.warp->carry & ~(1u << l)) | Mask(sum >> (8 * sizeof(T)) & 1) << l;
  }
}

void bind_carry(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst) {
  const ScalarType t = op.modifiers.type();
  const bool is_mad = op.opcode == Opcode::mad || op.opcode == Opcode::madc;
  operands(binder, alu, inst, t, is_mad ? 3 : 2);
  const bool reads = op.opcode == Opcode::addc || op.opcode == Opcode::subc || op.opcode == Opcode::madc;
  inst.flags = u8(reads | op.modifiers.carry << 1);
  const bool wide = isa::bits(t) == 64, is_signed = isa::is_signed(t);
  if (is_mad) {
    inst.mode = op.modifiers.half == HalfSelect::hi;
    if (is_signed)
      inst.run = wide ? goes_on<carry_mad<std::int64_t>> : goes_on<carry_mad<std::int32_t>>;
    else
      inst.run = wide ? goes_on<carry_mad<u64>> : goes_on<carry_mad<u32>>;
    return;
  }
  inst.mode = op.opcode == Opcode::sub || op.opcode == Opcode::subc;
  inst.run = wide ? goes_on<carry_add<u64>> : goes_on<carry_add<u32>>;
}

// dp4a: four byte products; dp2a: two halves of a times two bytes of b. mode bit 0: a signed, bit 1: b signed, bit 2:
// hi.
std::int64_t byte_of(u32 w, int k, bool is_signed) {
  return is_signed ? std::int64_t(std::int8_t(w >> 8 * k)) : std::int64_t(u8(w >> 8 * k));
}
void dot_bytes(Context& c, const Inst& i, Mask lanes) {
  auto *d = c.lanes<u32>(i.d), *a = c.lanes<u32>(i.a), *b = c.lanes<u32>(i.b), *e = c.lanes<u32>(i.c);
  for_lanes(lanes, [=, &i](int l) {
    std::int64_t sum = 0;
    if (i.flags)
      for (int k = 0; k < 4; ++k) sum += byte_of(a[l], k, i.mode & 1) * byte_of(b[l], k, i.mode & 2);
    else
      for (int k = 0; k < 2; ++k) {
        const std::int64_t half =
            i.mode & 1 ? std::int64_t(std::int16_t(a[l] >> 16 * k)) : std::int64_t(u16(a[l] >> 16 * k));
        sum += half * byte_of(b[l], k + (i.mode & 4 ? 2 : 0), i.mode & 2);
      }
    d[l] = e[l] + u32(sum);
  });
}

void bind_dot(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst) {
  operands(binder, alu, inst, ScalarType::b32, 3);
  inst.flags = op.opcode == Opcode::dp4a;
  inst.mode = u8(isa::is_signed(op.modifiers.types[0]) | isa::is_signed(op.modifiers.types[1]) << 1 |
                 (op.modifiers.half == HalfSelect::hi) << 2);
  inst.run = goes_on<dot_bytes>;
}

// clmad: a product without carries, one half of it, and an addition without carries.
template <bool high>
struct Carryless {
  u64 operator()(u64 a, u64 b, u64 c) const {
    unsigned __int128 product = 0;
    for (int k = 0; k < 64; ++k)
      if (b >> k & 1) product ^= (unsigned __int128)a << k;
    return c ^ u64(high ? product >> 64 : product);
  }
};

Handler simple(const ir::Operation& op, int& sources) {
  const ScalarType t = op.modifiers.type();
  const bool sat = op.modifiers.sat, relu = op.modifiers.relu;
  sources = 2;
  switch (op.opcode) {
    case Opcode::add: return sat ? saturating<AddSat>(t) : one_or_parts<Add>(t);
    case Opcode::sub: return sat ? saturating<SubSat>(t) : one_or_parts<Sub>(t);
    case Opcode::min: return relu ? one_or_parts<Relu<Min>>(t) : one_or_parts<Min>(t);
    case Opcode::max: return relu ? one_or_parts<Relu<Max>>(t) : one_or_parts<Max>(t);
    case Opcode::div: return one_or_parts<Div>(t);
    case Opcode::rem: return one_or_parts<Rem>(t);
    case Opcode::abs: sources = 1; return one<Abs>(t);
    case Opcode::neg: sources = 1; return t == ScalarType::s8x4 ? unary<Parts<Neg, std::int8_t>, u32> : one<Neg>(t);
    case Opcode::mul24: return mul24(op);
    case Opcode::mad24: sources = 3; return mul24(op);
    case Opcode::sad: sources = 3; return with_integer(t, []<class T>(As<T>) -> Handler { return ternary<Sad, T>; });
    default: return nullptr;
  }
}

}  // namespace

void bind_integer(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst) {
  const ScalarType t = op.modifiers.type();
  switch (op.opcode) {
    case Opcode::dp4a:
    case Opcode::dp2a: return bind_dot(binder, op, alu, inst);
    case Opcode::addc:
    case Opcode::subc:
    case Opcode::madc: return bind_carry(binder, op, alu, inst);
    case Opcode::add:
    case Opcode::sub:
    case Opcode::mad:
      if (op.modifiers.carry) return bind_carry(binder, op, alu, inst);
      if (op.opcode == Opcode::mad) return bind_mad(binder, op, alu, inst);
      break;
    case Opcode::mul: return bind_mul(binder, op, alu, inst);
    default: break;
  }
  int sources = 0;
  inst.run = simple(op, sources);
  if (inst.run) operands(binder, alu, inst, t, sources);
}

void bind_carryless(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst) {
  operands(binder, alu, inst, ScalarType::u64, 3);
  inst.run = op.modifiers.half == HalfSelect::hi ? ternary<Carryless<true>, u64> : ternary<Carryless<false>, u64>;
}

void bind_arithmetic(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst) {
  return is_integer_family(op.modifiers.type()) ? bind_integer(binder, op, alu, inst)
                                                : bind_float(binder, op, alu, inst);
}

}  // namespace kiln::sim

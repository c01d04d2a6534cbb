// Floating-point arithmetic. PTX ISA "Floating Point Instructions", "Half Precision Floating Point Instructions".
//
// add, sub, mul, fma, rcp.rn, div.rn and sqrt.rn round once and are exact. The .approx and .full functions are computed
// in double precision and rounded once: closer to the true value than the hardware, so not bit for bit the same.
#include <cfenv>
#include <cmath>
#include <limits>

#include "ptx/isa/tma.hpp"
#include "sim/ops/alu.hpp"
#include "sim/ops/float_value.hpp"

namespace kiln::sim {
namespace {

// What hardware returns for any NaN in f32.
inline float quiet(float v) { return v == v ? v : std::bit_cast<float>(0x7FFFFFFFu); }
// What an instruction of two sources returns.
inline float settled(float, float, float result) { return quiet(result); }
inline double settled(double a, double b, double result) { return chosen(a, b, result); }

// The plain f32 and f64 forms, which vectorise.
using FAdd = decltype([]<class T>(T a, T b) { return settled(a, b, a + b); });
using FSub = decltype([]<class T>(T a, T b) { return settled(a, b, a - b); });
using FMul = decltype([]<class T>(T a, T b) { return settled(a, b, a * b); });
struct FFma {
  float operator()(float a, float b, float c) const { return quiet(std::fma(a, b, c)); }
  double operator()(double a, double b, double c) const {
    return b != b ? chosen(a, b, b) : chosen(a, c, std::fma(a, b, c));
  }
};
// min and max: a NaN loses against a number, -0 is less than +0.
template <bool is_max>
struct FExtremum {
  template <class T>
  T operator()(T a, T b) const {
    const bool a_wins = is_max ? (a > b || (a == b && !std::signbit(a))) : (a < b || (a == b && std::signbit(a)));
    return settled(a, b, a_wins || (b != b && a == a) ? a : b);
  }
};
using FNeg = decltype([](float a) { return quiet(-a); });
using FAbs = decltype([](float a) { return quiet(std::fabs(a)); });

int source_count(Opcode op) {
  switch (op) {
    case Opcode::add:
    case Opcode::sub:
    case Opcode::mul:
    case Opcode::div:
    case Opcode::min:
    case Opcode::max: return 2;
    case Opcode::fma:
    case Opcode::mad: return 3;
    case Opcode::neg:
    case Opcode::abs:
    case Opcode::rcp:
    case Opcode::sqrt:
    case Opcode::rsqrt:
    case Opcode::ex2:
    case Opcode::lg2:
    case Opcode::sin:
    case Opcode::cos:
    case Opcode::tanh: return 1;
    default: return 0;
  }
}

// Of several NaNs, an f64 instruction returns the second source's, else the third's, else the first's; div the first's.
// It is quiet and keeps its sign and payload. As an H200 does; the CPU's own choice is another.
u64 f64_nan(Opcode op, const double* sources, int count, double otherwise) {
  constexpr int order[] = {1, 2, 0}, division[] = {0, 1, 2};
  for (const int k : op == Opcode::div ? division : order)
    if (k < count && std::isnan(sources[k])) return quiet_f64(std::bit_cast<u64>(sources[k]));
  return std::bit_cast<u64>(otherwise);
}

// The general form: element type, how many to a register, what to do. Lives in Inst::width, count, mode, flags.
enum : u8 {
  float_ftz = 1,
  float_sat = 2,
  float_relu = 4,
  float_nan = 8,
  float_xorsign = 16,
  float_abs = 32,
  flag_oob = 64
};

FloatRules rules_of(const Inst& i) {
  return {num::Rounding(i.mode & 7), (i.flags & float_ftz) != 0, (i.flags & float_sat) != 0,
          (i.flags & float_relu) != 0};
}

// The sign under .xorsign is that of the words, and comes later: a NaN that loses has one too.
double extremum_of(const Inst& i, bool is_max, double a, double b) {
  const bool propagate = (i.flags & float_nan) != 0;
  if (!(i.flags & (float_xorsign | float_abs))) return extremum(is_max, a, b, propagate);
  return extremum(is_max, std::fabs(a), std::fabs(b), propagate);
}

// min and max of three. PTX ISA "max": f32 only.
void extremum_of_three(Context& c, const Inst& i, Mask lanes) {
  const bool is_max = i.operation->opcode == Opcode::max, ftz = (i.flags & float_ftz) != 0;
  auto *d = c.lanes<u32>(i.d), *a = c.lanes<u32>(i.a), *b = c.lanes<u32>(i.b), *e = c.lanes<u32>(i.c);
  for (const int l : each_lane(lanes)) {
    double r = value_of(ScalarType::f32, a[l], ftz);
    if (i.flags & float_abs) r = std::fabs(r);
    for (const u32 word : {b[l], e[l]}) {
      const double v = value_of(ScalarType::f32, word, ftz);
      r = extremum(is_max, r, i.flags & float_abs ? std::fabs(v) : v, (i.flags & float_nan) != 0);
    }
    d[l] = u32(round_to(ScalarType::f32, r, {}));
  }
}

// Directed rounding of f64 has no wider type to hide in.
template <class F>
double f64_rounded(num::Rounding r, F f) {
  const int mode = r == num::Rounding::rz   ? FE_TOWARDZERO
                   : r == num::Rounding::rm ? FE_DOWNWARD
                   : r == num::Rounding::rp ? FE_UPWARD
                                            : FE_TONEAREST;
  const int before = std::fegetround();
  std::fesetround(mode);
  volatile double v = f();
  std::fesetround(before);
  return v;
}

double combined_floats(Opcode op, const Inst& i, ScalarType t, double a, double b, double e) {
  const bool wide = t == ScalarType::f64;
  volatile double x = a, y = b, z = e;
  const num::Rounding r = num::Rounding(i.mode & 7);
  switch (op) {
    case Opcode::add: return wide ? f64_rounded(r, [&] { return x + y; }) : signed_zero(a, b, add_to_odd(a, b), r);
    case Opcode::sub: return wide ? f64_rounded(r, [&] { return x - y; }) : signed_zero(a, -b, add_to_odd(a, -b), r);
    case Opcode::mul: return wide ? f64_rounded(r, [&] { return x * y; }) : a * b;
    case Opcode::fma:
    case Opcode::mad:
      return wide ? f64_rounded(r, [&] { return std::fma(x, y, z); }) : signed_zero(a * b, e, add_to_odd(a * b, e), r);
    case Opcode::min:
    case Opcode::max: return extremum_of(i, op == Opcode::max, a, b);
    case Opcode::neg: return -a;
    case Opcode::abs: return std::fabs(a);
    case Opcode::div: return wide ? f64_rounded(r, [&] { return x / y; }) : a / b;
    case Opcode::rcp: return wide ? f64_rounded(r, [&] { return 1.0 / x; }) : 1.0 / a;
    case Opcode::sqrt: return wide ? f64_rounded(r, [&] { return std::sqrt(x); }) : std::sqrt(a);
    case Opcode::rsqrt: return 1.0 / std::sqrt(a);
    case Opcode::ex2: return std::exp2(a);
    case Opcode::lg2: return std::log2(a);
    case Opcode::sin: return std::sin(a);
    case Opcode::cos: return std::cos(a);
    case Opcode::tanh: return std::tanh(a);
    default: return a;
  }
}

u64 element_result(const Inst& i, ScalarType t, u64 a, u64 b, u64 e) {
  const Opcode op = i.operation->opcode;
  // A factor that a copy filled in from outside of the tensor makes the sum zero.
  if (i.flags & flag_oob && ((a & 0x7FFF) == isa::oob_nan || (b & 0x7FFF) == isa::oob_nan)) return 0;
  const FloatRules rules = rules_of(i);
  const double v =
      combined_floats(op, i, t, value_of(t, a, rules.ftz), value_of(t, b, rules.ftz), value_of(t, e, rules.ftz));
  if (t == ScalarType::f64 && std::isnan(v)) {
    const double sources[] = {std::bit_cast<double>(a), std::bit_cast<double>(b), std::bit_cast<double>(e)};
    return f64_nan(op, sources, source_count(op), v);
  }
  const u64 word = round_to(t, v, rules);
  const u64 sign = u64{1} << (isa::bits(t) - 1);
  return i.flags & float_xorsign && !std::isnan(v) ? (word & ~sign) | ((a ^ b) & sign) : word;
}

template <class W>
void general(Context& c, const Inst& i, Mask lanes) {
  const auto t = ScalarType(i.width);
  const unsigned bits = unsigned(isa::bits(t));
  const u64 part = bits == 64 ? ~u64{0} : (u64{1} << bits) - 1;
  auto *d = c.lanes<W>(i.d), *a = c.lanes<W>(i.a), *b = c.lanes<W>(i.b), *e = c.lanes<W>(i.c);
  for (const int l : each_lane(lanes)) {
    u64 r = 0;
    for (unsigned k = 0; k < i.count; ++k)
      r |= (element_result(i, t, u64(a[l]) >> k * bits & part, u64(b[l]) >> k * bits & part,
                           u64(e[l]) >> k * bits & part) &
            part)
           << k * bits;
    d[l] = W(r);
  }
}

ScalarType element_type(ScalarType t) {
  switch (t) {
    case ScalarType::f16x2: return ScalarType::f16;
    case ScalarType::bf16x2: return ScalarType::bf16;
    case ScalarType::f32x2: return ScalarType::f32;
    default: return t;
  }
}

bool is_float_family(ScalarType t) {
  const ScalarType e = element_type(t);
  return e == ScalarType::f16 || e == ScalarType::bf16 || e == ScalarType::f32 || e == ScalarType::f64;
}

// For f32 and f64 without modifiers there is a loop.
template <class T>
Handler plain(Opcode op) {
  switch (op) {
    case Opcode::add: return binary<FAdd, T>;
    case Opcode::sub: return binary<FSub, T>;
    case Opcode::mul: return binary<FMul, T>;
    case Opcode::fma:
    case Opcode::mad: return ternary<FFma, T>;
    case Opcode::min: return binary<FExtremum<false>, T>;
    case Opcode::max: return binary<FExtremum<true>, T>;
    case Opcode::neg:
      if constexpr (sizeof(T) == 4) return unary<FNeg, T>;
      return nullptr;
    case Opcode::abs:
      if constexpr (sizeof(T) == 4) return unary<FAbs, T>;
      return nullptr;
    default: return nullptr;
  }
}

using CopySign = decltype([]<class T>(T a, T b) -> T {
  constexpr T sign = T(1) << (8 * sizeof(T) - 1);
  return (a & sign) | (b & ~sign);
});

bool test(isa::TestpOp op, double v, bool subnormal) {
  using isa::TestpOp;
  switch (op) {
    case TestpOp::finite: return std::isfinite(v);
    case TestpOp::infinite: return std::isinf(v);
    case TestpOp::number: return !std::isnan(v);
    case TestpOp::notanumber: return std::isnan(v);
    case TestpOp::normal: return std::isfinite(v) && !subnormal;  // zeros too, on an H200
    default: return subnormal;
  }
}
void testp(Context& c, const Inst& i, Mask lanes) {
  const auto t = ScalarType(i.width);
  const Slot a = c.slot(i, 0);
  const Mask r = lanes_where(lanes, [&](int l) {
    const double v = num::to_double(t, c.read(a, l));
    const double least =
        t == ScalarType::f64 ? std::numeric_limits<double>::min() : double(std::numeric_limits<float>::min());
    return test(isa::TestpOp(i.mode), v, v != 0 && std::fabs(v) < least);
  });
  c.write_mask(i.d, lanes, r);
}

u8 flags_of(const isa::Modifiers& m) {
  return u8((m.ftz ? float_ftz : 0) | (m.sat ? float_sat : 0) | (m.relu ? float_relu : 0) |
            (m.propagate_nan ? float_nan : 0) | (m.xorsign ? float_xorsign : 0) | (m.oob ? flag_oob : 0) |
            (m.absolute ? float_abs : 0));
}

void bind_special(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst) {
  const ScalarType t = op.modifiers.type();
  if (op.opcode == Opcode::copysign) {
    operands(binder, alu, inst, t, 2);
    inst.run = isa::bits(t) == 64 ? binary<CopySign, u64> : binary<CopySign, u32>;
    return;
  }
  inst.d = binder.result(alu.d, ScalarType::pred).offset;
  binder.append(inst, binder.source(alu.a, t));
  inst.width = u8(t);
  inst.mode = u8(op.modifiers.testp);
  inst.run = goes_on<testp>;
}

}  // namespace

void bind_float(Binder& binder, const ir::Operation& op, const ops::Alu& alu, Inst& inst) {
  const isa::Modifiers& m = op.modifiers;
  const ScalarType t = m.type();
  if (m.types.count > 1) return bind_mixed_float(binder, op, alu, inst);
  if (!is_float_family(t)) return;
  if (op.opcode == Opcode::copysign || op.opcode == Opcode::testp) return bind_special(binder, op, alu, inst);
  int sources = source_count(op.opcode);
  if (sources == 0) return;
  const bool three = (op.opcode == Opcode::min || op.opcode == Opcode::max) && bool(alu.c);
  if (three) sources = 3;
  operands(binder, alu, inst, t, sources);
  if (sources < 2) inst.b = inst.a;
  if (sources < 3) inst.c = inst.a;
  inst.width = u8(element_type(t));
  inst.count = u8(isa::bits(t) / isa::bits(element_type(t)));
  inst.mode = u8(rounding_of(m.rounding));
  inst.flags = flags_of(m);
  if (three) {
    inst.run = goes_on<extremum_of_three>;
    return;
  }
  inst.run = register_bytes(t) == 8 ? goes_on<general<u64>> : goes_on<general<u32>>;
  if (inst.flags == 0 && num::Rounding(inst.mode) == num::Rounding::rn) {
    const Handler fast = t == ScalarType::f32   ? plain<float>(op.opcode)
                         : t == ScalarType::f64 ? plain<double>(op.opcode)
                                                : nullptr;
    if (fast) inst.run = fast;
  }
}

}  // namespace kiln::sim

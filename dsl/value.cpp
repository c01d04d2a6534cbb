#include "dsl/value.hpp"

#include <bit>
#include <utility>

#include "ptx/diag/error.hpp"

namespace kiln::dsl {
namespace {

using ir::Operand;

bool is_zero(const Input& in) {
  return in.value ? in.value->operand().is_integer() && in.value->operand().value == 0 : in.constant == 0;
}
bool is_one(const Input& in) { return !in.value && in.constant == 1; }

// What x op constant is without an instruction, if anything.
const Input* identity(std::string_view operation, const Input& a, const Input& b) {
  if (operation == "add" || operation == "or" || operation == "xor") {
    if (is_zero(b)) return &a;
    if (is_zero(a)) return &b;
  }
  if ((operation == "sub" || operation == "shl" || operation == "shr") && is_zero(b)) return &a;
  if (operation == "mul.lo" && is_one(b)) return &a;
  if (operation == "mul.lo" && is_one(a)) return &b;
  if (operation == "div" && is_one(b)) return &a;
  return nullptr;
}

// "add.u32"; logic and left shifts are untyped in PTX.
std::string mnemonic(std::string_view operation, ScalarType type) {
  const bool untyped = operation == "and" || operation == "or" || operation == "xor" || operation == "shl";
  const bool wide = isa::bits(type) == 64;
  return std::string(operation) + '.' + (untyped ? (wide ? "b64" : "b32") : std::string(isa::spelling(type)));
}

Here line(const Input& a, const Input& b) { return a.at.line ? a.at : b.at; }

}  // namespace

Recorder& recorder_of(const Input& a, const Input& b) {
  if (a.value) return a.value->recorder();
  if (b.value) return b.value->recorder();
  throw diag::InternalError("an operator without a device operand");
}

Operand use(Recorder& r, const Value& v, Here at) {
  r.check_use(&v.recorder(), v.scope(), at);
  return v.operand();
}

Operand use(Recorder& r, const Input& in) {
  if (in.value) return use(r, *in.value, in.at);
  return in.is_float ? Operand::f32_bits(std::uint32_t(in.constant)) : Operand::number(in.constant);
}

Operand arithmetic(ScalarType type, std::string_view operation, const Input& a, const Input& b) {
  Recorder& r = recorder_of(a, b);
  if (const Input* same = identity(operation, a, b)) return use(r, *same);
  const bool commutes = operation == "add" || operation == "mul.lo" || operation == "and" || operation == "or" ||
                        operation == "xor" || operation == "min" || operation == "max";
  const bool swap = commutes && !a.value;  // PTX wants the register first
  std::string_view op = operation;
  Operand left = use(r, swap ? b : a), right = use(r, swap ? a : b);
  if (right.is_integer() && right.value > 0 && std::has_single_bit(std::uint64_t(right.value))) {
    const bool is_unsigned = !isa::is_signed(type);
    const auto log2 = std::countr_zero(std::uint64_t(right.value));
    if (operation == "mul.lo") op = "shl", right = Operand::number(log2);
    else if (operation == "div" && is_unsigned) op = "shr", right = Operand::number(log2);
    else if (operation == "rem" && is_unsigned) op = "and", right = Operand::number(right.value - 1);
  }
  // PTX shifts 64 bits by 32.
  if ((op == "shl" || op == "shr") && isa::bits(type) == 64 && !right.is_integer())
    right = r.pure(ScalarType::u32, "cvt.u32.u64", {right}, line(a, b));
  return r.pure(type, mnemonic(op, type), {std::move(left), std::move(right)}, line(a, b));
}

Operand compare(ScalarType type, std::string_view relation, const Input& a, const Input& b) {
  Recorder& r = recorder_of(a, b);
  const std::string name = "setp." + std::string(relation) + '.' + std::string(isa::spelling(type));
  return r.pure(ScalarType::pred, name, {use(r, a), use(r, b)}, line(a, b));
}

template <ScalarType type>
Integer<type> Integer<type>::binary(std::string_view operation, const OperandOf<Integer>& a,
                                    const OperandOf<Integer>& b) {
  const Input left = a.input(), right = b.input();
  return {recorder_of(left, right), arithmetic(type, operation, left, right)};
}
template U32 U32::binary(std::string_view, const OperandOf<U32>&, const OperandOf<U32>&);
template S32 S32::binary(std::string_view, const OperandOf<S32>&, const OperandOf<S32>&);
template U64 U64::binary(std::string_view, const OperandOf<U64>&, const OperandOf<U64>&);

template <ScalarType type>
Pred Integer<type>::related(std::string_view relation, const OperandOf<Integer>& a, const OperandOf<Integer>& b) {
  const Input left = a.input(), right = b.input();
  return {recorder_of(left, right), compare(type, relation, left, right)};
}
template Pred U32::related(std::string_view, const OperandOf<U32>&, const OperandOf<U32>&);
template Pred S32::related(std::string_view, const OperandOf<S32>&, const OperandOf<S32>&);
template Pred U64::related(std::string_view, const OperandOf<U64>&, const OperandOf<U64>&);

F32 F32::binary(std::string_view name, const Operand& a, const Operand& b) {
  const Input left = a.input(), right = b.input();
  Recorder& r = recorder_of(left, right);
  return {r, r.pure(ScalarType::f32, name, {use(r, left), use(r, right)}, a.at)};
}

F32 F32::unary(std::string_view name, const Operand& a) {
  const Input in = a.input();
  Recorder& r = recorder_of(in, in);
  return {r, r.pure(ScalarType::f32, name, {use(r, in)}, a.at)};
}

Pred F32::related(std::string_view relation, const Operand& a, const Operand& b) {
  const Input left = a.input(), right = b.input();
  return {recorder_of(left, right), compare(ScalarType::f32, relation, left, right)};
}

F32 fma(const F32::Operand& a, const F32::Operand& b, const F32::Operand& c) {
  const Input x = a.input(), y = b.input(), z = c.input();
  Recorder& r = x.value || y.value ? recorder_of(x, y) : recorder_of(z, z);
  return {r, r.pure(ScalarType::f32, "fma.rn.f32", {use(r, x), use(r, y), use(r, z)}, a.at)};
}

Pred operator!(const Pred& p) {
  if (p.is_constant()) return {p.recorder(), Operand::number(!p.constant())};
  Operand o = p.operand();
  o.negated = !o.negated;
  return {p.recorder(), std::move(o)};
}

namespace {

// A negated predicate has no register of its own; and/or need one.
Operand plain(Recorder& r, const Pred& p) {
  Operand o = use(r, p, Here::nowhere());
  if (!o.negated) return o;
  o.negated = false;
  return r.pure(ScalarType::pred, "not.pred", {o}, Here::nowhere());
}

}  // namespace

Pred operator&&(const Pred& a, bool b) { return b ? a : Pred(a.recorder(), Operand::number(0)); }
Pred operator||(const Pred& a, bool b) { return b ? Pred(a.recorder(), Operand::number(1)) : a; }

Pred operator&&(const Pred& a, const Pred& b) {
  if (a.is_constant()) return b && a.constant();
  if (b.is_constant()) return a && b.constant();
  Recorder& r = a.recorder();
  return {r, r.pure(ScalarType::pred, "and.pred", {plain(r, a), plain(r, b)}, Here::nowhere())};
}

Pred operator||(const Pred& a, const Pred& b) {
  if (a.is_constant()) return b || a.constant();
  if (b.is_constant()) return a || b.constant();
  Recorder& r = a.recorder();
  return {r, r.pure(ScalarType::pred, "or.pred", {plain(r, a), plain(r, b)}, Here::nowhere())};
}

// The negations of both sides cancel, or negate the answer.
Pred operator!=(const Pred& a, const Pred& b) {
  if (a.is_constant()) return b != a.constant();
  if (b.is_constant()) return a != b.constant();
  Recorder& r = a.recorder();
  Operand left = use(r, a, Here::nowhere()), right = use(r, b, Here::nowhere());
  const bool negated = std::exchange(left.negated, false) != std::exchange(right.negated, false);
  const Pred differ(r, r.pure(ScalarType::pred, "xor.pred", {std::move(left), std::move(right)}, Here::nowhere()));
  return negated ? !differ : differ;
}

Pred select(const Pred& p, const Pred& a, const Pred& b) { return (p && a) || (!p && b); }

// A select where a constant predicate decides writes nothing; a negated one swaps.
Operand selected(ScalarType type, const Pred& p, const Input& a, const Input& b) {
  Recorder& r = p.recorder();
  Operand left = use(r, a), right = use(r, b);
  if (p.is_constant()) return p.constant() ? left : right;
  Operand condition = use(r, p, a.at);
  if (std::exchange(condition.negated, false)) std::swap(left, right);
  const std::string_view name = type == ScalarType::f32 ? "selp.f32" : isa::bits(type) == 64 ? "selp.b64" : "selp.b32";
  return r.pure(type, name, {std::move(left), std::move(right), std::move(condition)}, a.at);
}

U64 widen(const U32& v, Here at) {
  Recorder& r = v.recorder();
  return {r, r.pure(ScalarType::u64, "cvt.u64.u32", {use(r, v, at)}, at)};
}

U32 narrow(const U64& v, Here at) {
  Recorder& r = v.recorder();
  return {r, r.pure(ScalarType::u32, "cvt.u32.u64", {use(r, v, at)}, at)};
}

U64 multiply_wide(const U32& a, OperandOf<U32> b) {
  Recorder& r = a.recorder();
  return {r, r.pure(ScalarType::u64, "mul.wide.u32", {use(r, a, b.at), use(r, b.input())}, b.at)};
}

}  // namespace kiln::dsl

// Device values: immutable names for what a register holds. Arithmetic on them writes instructions. State that changes
// is a Var.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "dsl/recorder.hpp"
#include "ptx/rules/require.hpp"

namespace kiln::dsl {

/// What every device value is: an operand (register, special register or constant) and where it may be used.
class Value {
 public:
  Value(Recorder& r, ir::Operand operand) : rec_(&r), operand_(std::move(operand)), scope_(r.scope()) {}

  Recorder& recorder() const { return *rec_; }
  const ir::Operand& operand() const { return operand_; }
  ScopeId scope() const { return scope_; }

 private:
  Recorder* rec_;
  ir::Operand operand_;
  ScopeId scope_;
};

/// An operand of an operator: a value or a host constant, and the line that wrote it.
struct Input {
  const Value* value = nullptr;
  std::int64_t constant = 0;
  Here at{};
};

// What the operators call; they check scopes, fold what is constant, and write one instruction.
ir::Operand arithmetic(ScalarType type, std::string_view operation, const Input& a, const Input& b);
ir::Operand compare(ScalarType type, std::string_view relation, const Input& a, const Input& b);
Recorder& recorder_of(const Input& a, const Input& b);
ir::Operand use(Recorder& r, const Value& v, Here at);
ir::Operand use(Recorder& r, const Input& in);

template <class V> class Var;

/// An operand of an operator on `V`: made from a value, a variable or a host integer, it carries the line that wrote
/// it.
template <class V>
struct OperandOf {
  OperandOf(const V& v, Here at = {}) : value(v), at(at) {}
  OperandOf(const Var<V>& v, Here at = {}) : value(v.read(at)), at(at) {}
  template <class I>
    requires(std::is_integral_v<I> && isa::is_integer(V::scalar))
  OperandOf(I constant, Here at = {}) : constant(std::int64_t(constant)), at(at) {}

  Input input() const { return {value ? &*value : nullptr, constant, at}; }

  std::optional<V> value{};
  std::int64_t constant = 0;
  Here at;
};

/// What every attempt to assign to a value instantiates: the rule's text, at the user's line.
template <class T>
void refuse_assignment() {
  (void)rules::refuse<rules::Rule::value_assignment, T>{};
}

/// An integer in a register.
template <ScalarType type>
class Integer : public Value {
 public:
  static constexpr ScalarType scalar = type;
  using Operand = OperandOf<Integer>;

  Integer(Recorder& r, ir::Operand operand) : Value(r, std::move(operand)) {}
  Integer(const Integer&) = default;
  Integer& operator=(const Integer&) = delete;
  template <class T> Integer& operator=(T&&) { return refuse_assignment<T>(), *this; }
  template <class T> Integer& operator+=(T&&) { return refuse_assignment<T>(), *this; }
  template <class T> Integer& operator-=(T&&) { return refuse_assignment<T>(), *this; }
  template <class T = int> Integer& operator++() { return refuse_assignment<T>(), *this; }

#define KILN_BINARY(op, name) \
  friend Integer operator op(const Operand& a, const Operand& b) { return binary(name, a, b); }
  KILN_BINARY(+, "add")
  KILN_BINARY(-, "sub")
  KILN_BINARY(*, "mul.lo")
  KILN_BINARY(/, "div")
  KILN_BINARY(%, "rem")
  KILN_BINARY(&, "and")
  KILN_BINARY(|, "or")
  KILN_BINARY(^, "xor")
  KILN_BINARY(<<, "shl")
  KILN_BINARY(>>, "shr")
#undef KILN_BINARY

 private:
  // Out of line for the types below; the operators stay one call.
  static Integer binary(std::string_view operation, const Operand& a, const Operand& b);
};

using U32 = Integer<ScalarType::u32>;
using S32 = Integer<ScalarType::s32>;
using U64 = Integer<ScalarType::u64>;

/// A 32-bit float in a register.
class F32 : public Value {
 public:
  static constexpr ScalarType scalar = ScalarType::f32;
  struct Operand {
    Operand(const F32& v, Here at = {}) : value(&v), at(at) {}
    Operand(float constant, Here at = {}) : constant(constant), at(at) {}
    const F32* value = nullptr;
    float constant = 0;
    Here at;
  };
  F32(Recorder& r, ir::Operand operand) : Value(r, std::move(operand)) {}
  F32(const F32&) = default;
  F32& operator=(const F32&) = delete;
  template <class T> F32& operator=(T&&) { return refuse_assignment<T>(), *this; }

  friend F32 operator+(Operand a, Operand b) { return binary("add.rn.f32", a, b); }
  friend F32 operator-(Operand a, Operand b) { return binary("sub.rn.f32", a, b); }
  friend F32 operator*(Operand a, Operand b) { return binary("mul.rn.f32", a, b); }
  friend F32 max(Operand a, Operand b) { return binary("max.f32", a, b); }
  friend F32 min(Operand a, Operand b) { return binary("min.f32", a, b); }
  friend F32 fma(Operand a, Operand b, Operand c);
  /// 2^a and 1 / a within a few units in the last place; subnormal numbers are zero. PTX ISA "ex2", "rcp".
  friend F32 ex2_approx_ftz(Operand a) { return unary("ex2.approx.ftz.f32", a); }
  friend F32 rcp_approx_ftz(Operand a) { return unary("rcp.approx.ftz.f32", a); }

 private:
  static F32 unary(std::string_view mnemonic, const Operand& a);
  static F32 binary(std::string_view mnemonic, const Operand& a, const Operand& b);
};

/// A predicate: a register, or a constant that host code already knows.
class Pred : public Value {
 public:
  Pred(Recorder& r, ir::Operand operand) : Value(r, std::move(operand)) {}
  Pred(const Pred&) = default;
  Pred& operator=(const Pred&) = delete;
  template <class T> Pred& operator=(T&&) { return refuse_assignment<T>(), *this; }

  /// Never: a device predicate has no value on the host.
  template <class T = void>
  explicit operator bool() const {
    (void)rules::refuse<rules::Rule::host_condition, T>{};
    return false;
  }

  bool is_constant() const { return operand().is_integer(); }
  bool constant() const { return operand().value != 0; }

  friend Pred operator!(const Pred& p);
  friend Pred operator&&(const Pred& a, const Pred& b);
  friend Pred operator||(const Pred& a, const Pred& b);
  friend Pred operator&&(const Pred& a, bool b);
  friend Pred operator||(const Pred& a, bool b);
  friend Pred operator&&(bool a, const Pred& b) { return b && a; }
  friend Pred operator||(bool a, const Pred& b) { return b || a; }
};

/// The predicate `a relation b`; what the comparison operators call.
template <ScalarType t>
Pred related(std::string_view relation, const Integer<t>& a, const OperandOf<Integer<t>>& b);

/// Comparisons of integers of one type, or of one with a host integer.
#define KILN_COMPARE(op, name)                                                                \
  template <ScalarType t>                                                                     \
  Pred operator op(const Integer<t>& a, const std::type_identity_t<OperandOf<Integer<t>>>& b) { \
    return related<t>(name, a, b);                                                            \
  }
KILN_COMPARE(==, "eq")
KILN_COMPARE(!=, "ne")
KILN_COMPARE(<, "lt")
KILN_COMPARE(<=, "le")
KILN_COMPARE(>, "gt")
KILN_COMPARE(>=, "ge")
#undef KILN_COMPARE

/// a where p holds, b elsewhere.
U32 select(const Pred& p, OperandOf<U32> a, OperandOf<U32> b);
F32 select(const Pred& p, const F32& a, F32::Operand b);

/// The operators as functions, for code that writes on a caller's behalf and passes the caller's line on.
template <ScalarType t>
Integer<t> apply(std::string_view operation, const Integer<t>& a, const Integer<t>& b, Here at) {
  const Input left{&a, 0, at}, right{&b, 0, at};
  return {a.recorder(), arithmetic(t, operation, left, right)};
}
template <ScalarType t>
Integer<t> apply(std::string_view operation, const Integer<t>& a, std::int64_t b, Here at) {
  const Input left{&a, 0, at}, right{nullptr, b, at};
  return {a.recorder(), arithmetic(t, operation, left, right)};
}

/// 32 bits, zero-extended to 64.
U64 widen(const U32& v, Here at = {});
/// The low 32 bits of 64.
U32 narrow(const U64& v, Here at = {});
/// a * b in 64 bits.
U64 multiply_wide(const U32& a, OperandOf<U32> b);

/// State that changes: the one device value that may be assigned. Reading it gives the value it has at that point.
template <class V>
class Var {
 public:
  Var(Recorder& r, ir::Operand reg) : rec_(&r), reg_(std::move(reg)), scope_(r.scope()) {}
  Var(const Var&) = default;

  /// The present value, in a register of its own.
  V read(Here at = {}) const {
    rec_->check_use(rec_, scope_, at);
    ir::Operand copy = rec_->fresh(V::scalar);
    rec_->emit(move, {copy, reg_}, at);
    return {*rec_, std::move(copy)};
  }
  operator V() const { return read(); }
  Var& operator=(OperandOf<V> v) {
    rec_->check_use(rec_, scope_, v.at);
    rec_->emit(move, {reg_, use(*rec_, v.input())}, v.at);
    return *this;
  }
  Var& operator=(const Var& v) { return *this = OperandOf<V>(v, Here::nowhere()); }

 private:
  static constexpr const char* move = isa::bits(V::scalar) == 64 ? "mov.b64" : "mov.b32";
  Recorder* rec_;
  ir::Operand reg_;
  ScopeId scope_;
};

}  // namespace kiln::dsl

// Device values: immutable names for what a register holds. Arithmetic on them writes instructions. State that changes
// is a Var.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "dsl/recorder.hpp"
#include "dsl/refused_operators.hpp"
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
  std::int64_t constant = 0;  // of a float its bits
  Here at{};
  bool is_float = false;
};

// What the operators call; they check scopes, fold what is constant, and write one instruction.
ir::Operand arithmetic(ScalarType type, std::string_view operation, const Input& a, const Input& b);
ir::Operand compare(ScalarType type, std::string_view relation, const Input& a, const Input& b);
Recorder& recorder_of(const Input& a, const Input& b);
ir::Operand use(Recorder& r, const Value& v, Here at);
ir::Operand use(Recorder& r, const Input& in);

template <class V> class Var;

/// The device value that something is read as: a value as itself, a variable as what it holds; void of anything else.
template <class T>
struct ReadAs {
  using type = std::conditional_t<std::is_base_of_v<Value, T>, T, void>;
};
template <class V>
struct ReadAs<Var<V>> {
  using type = V;
};
template <class T>
using read_as = typename ReadAs<T>::type;
template <class T>
concept ReadsAsValue = std::is_class_v<T> && !std::is_void_v<read_as<T>>;

/// Whether something is a number of one kind: a value or a variable of numbers, or a host number.
template <class T>
concept HasKind = std::is_arithmetic_v<T> || (ReadsAsValue<T> && requires { read_as<T>::scalar; });

/// Whether a host number of that type may stand for a value of `type`: integers for integers, all numbers for f32.
template <class Number>
constexpr bool is_constant_of(ScalarType type) {
  return type == ScalarType::f32 ? std::is_arithmetic_v<Number> : std::is_integral_v<Number> && isa::is_integer(type);
}

// clang++ shows no types where it refuses a conversion, so the text has to name them.
#if defined(__clang__) && !defined(KILN_BREAK_RULE)
#define KILN_TELLS_KINDS 1
template <class Other>
constexpr ScalarType given_kind() {
  if constexpr (ReadsAsValue<Other>) {
    if constexpr (requires { read_as<Other>::scalar; }) return read_as<Other>::scalar;
    else return ScalarType::pred;
  } else {
    return std::is_floating_point_v<Other> ? ScalarType::f64 : ScalarType::none;
  }
}
constexpr bool tells_kinds(ScalarType wanted, ScalarType given) {
  const bool number = wanted == ScalarType::u32 || wanted == ScalarType::s32 || wanted == ScalarType::u64 ||
                      wanted == ScalarType::f32;
  const bool takes = given == wanted || (wanted == ScalarType::f32 && given == ScalarType::f64);
  return number && given != ScalarType::none && !takes;
}
#define KILN_NAMES_KINDS(V, Other) tells_kinds(V::scalar, given_kind<Other>())
#else
#define KILN_TELLS_KINDS 0
#define KILN_NAMES_KINDS(V, Other) false
#endif

/// An operand of an operator on `V`: made from a value, a variable or a host number, it carries the line that wrote
/// it.
template <class V>
struct OperandOf;
template <class T>
inline constexpr bool is_operand_of = false;
template <class V>
inline constexpr bool is_operand_of<OperandOf<V>> = true;
template <class V>
struct OperandOf {
  static constexpr bool is_float = V::scalar == ScalarType::f32;

  OperandOf(const V& v, Here at = {}) : value(v), at(at) {}
  OperandOf(const Var<V>& v, Here at = {}) : value(v.read(at)), at(at) {}
  template <class Number>
    requires(is_constant_of<Number>(V::scalar))
  OperandOf(Number number, Here at = {}) : constant(code(number)), at(at) {}
  // Here only to explain: a value of another kind, or a number that V does not take.
  template <class Other, class Wanted = V>
    requires((ReadsAsValue<Other> ? !std::is_same_v<read_as<Other>, V>
                                  : std::is_arithmetic_v<Other> && !is_constant_of<Other>(V::scalar)) &&
             !KILN_NAMES_KINDS(V, Other))
  KILN_REFUSED_CONVERSION(value_kind, "a value of another kind is wanted; convert<To>(x), bit_cast<To>(x), widen(x) "
                                      "and narrow(x) change a kind [dsl-value-kind]")
  OperandOf(const Other&, Here at = {});
  template <class Other>
    requires(std::is_class_v<Other> && std::is_void_v<read_as<Other>> && !is_operand_of<Other>)
  KILN_REFUSED_CONVERSION(value_kind, "a value, a variable or a host number is wanted; load(...) reads a tile or an "
                                      "accumulator, and registers[i] is a value [dsl-value-kind]")
  OperandOf(const Other&, Here at = {});
#if KILN_TELLS_KINDS
#define WRONG_KIND(wanted, a_wanted, given, a_given)                                                                  \
  template <class Other, class Wanted = V>                                                                            \
    requires(V::scalar == ScalarType::wanted && given_kind<Other>() == ScalarType::given)                             \
  KILN_REFUSED_CONVERSION(value_kind, a_wanted " is wanted and " a_given " is given; convert<To>(x), "                \
                                      "bit_cast<To>(x), widen(x) and narrow(x) change a kind [dsl-value-kind]")       \
  OperandOf(const Other&, Here at = {});
#include "dsl/wrong_kinds.def"
#undef WRONG_KIND
#endif

  Input input() const { return {value ? &*value : nullptr, constant, at, is_float}; }

  std::optional<V> value{};
  std::int64_t constant = 0;
  Here at;

 private:
  template <class Number>
  static std::int64_t code(Number n) {
    if constexpr (is_float) return std::bit_cast<std::uint32_t>(float(n));
    else return std::int64_t(n);
  }
};

/// Whether two things read as values of different kinds.
template <class A, class B>
concept OfTwoKinds = ReadsAsValue<A> && ReadsAsValue<B> && !std::is_same_v<read_as<A>, read_as<B>>;

class Pred;

/// A predicate: a register, or a constant that host code already knows.
class Pred : public Value {
 public:
  Pred(Recorder& r, ir::Operand operand) : Value(r, std::move(operand)) {}
  Pred(const Pred&) = default;
  Pred& operator=(const Pred&) = delete;
  KILN_IMMUTABLE(Pred, =)
  KILN_ONE_KIND(Pred, Pred)
  KILN_NO_HOST_CONDITION("a device predicate has no value on the host; use t.when(predicate, [&] { ... }) or "
                         "select(predicate, a, b)")

  bool is_constant() const { return operand().is_integer(); }
  bool constant() const { return operand().value != 0; }

  friend Pred operator!(const Pred& p);
  friend Pred operator&&(const Pred& a, const Pred& b);
  friend Pred operator||(const Pred& a, const Pred& b);
  friend Pred operator&&(const Pred& a, bool b);
  friend Pred operator||(const Pred& a, bool b);
  friend Pred operator&&(bool a, const Pred& b) { return b && a; }
  friend Pred operator||(bool a, const Pred& b) { return b || a; }
  /// Whether both hold or neither does, and whether one alone does.
  friend Pred operator==(const Pred& a, const Pred& b) { return !(a != b); }
  friend Pred operator!=(const Pred& a, const Pred& b);
  friend Pred operator==(const Pred& a, bool b) { return b ? a : !a; }
  friend Pred operator!=(const Pred& a, bool b) { return b ? !a : a; }
};
/// a where p holds, b elsewhere.
Pred select(const Pred& p, const Pred& a, const Pred& b);

/// An integer in a register.
template <ScalarType type>
class Integer : public Value {
 public:
  static constexpr ScalarType scalar = type;
  using Operand = OperandOf<Integer>;

  Integer(Recorder& r, ir::Operand operand) : Value(r, std::move(operand)) {}
  Integer(const Integer&) = default;
  Integer& operator=(const Integer&) = delete;
  KILN_IMMUTABLE_VALUE(Integer)
  KILN_ONE_KIND(Integer, Integer)
  KILN_NO_HOST_CONDITION("a device value has no value on the host; use t.when(value != 0, [&] { ... })")

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
  friend Integer operator~(const Operand& a) { return binary("xor", a, -1); }
  friend Integer operator-(const Operand& a) { return binary("sub", {0, a.at}, a); }
  friend Integer min(const Operand& a, const Operand& b) { return binary("min", a, b); }
  friend Integer max(const Operand& a, const Operand& b) { return binary("max", a, b); }

#define KILN_COMPARE(op, name) \
  friend Pred operator op(const Operand& a, const Operand& b) { return related(name, a, b); }
  KILN_COMPARE(==, "eq")
  KILN_COMPARE(!=, "ne")
  KILN_COMPARE(<, "lt")
  KILN_COMPARE(<=, "le")
  KILN_COMPARE(>, "gt")
  KILN_COMPARE(>=, "ge")
#undef KILN_COMPARE

 private:
  // Out of line for the types below; the operators stay one call.
  static Integer binary(std::string_view operation, const Operand& a, const Operand& b);
  static Pred related(std::string_view relation, const Operand& a, const Operand& b);
};

using U32 = Integer<ScalarType::u32>;
using S32 = Integer<ScalarType::s32>;
using U64 = Integer<ScalarType::u64>;

/// A 32-bit float in a register.
class F32 : public Value {
 public:
  static constexpr ScalarType scalar = ScalarType::f32;
  using Operand = OperandOf<F32>;

  F32(Recorder& r, ir::Operand operand) : Value(r, std::move(operand)) {}
  F32(const F32&) = default;
  F32& operator=(const F32&) = delete;
  KILN_IMMUTABLE_VALUE(F32)
  KILN_ONE_KIND(F32, F32)
  KILN_NO_HOST_CONDITION("a device value has no value on the host; use t.when(value != 0, [&] { ... })")
  template <class B>
    requires(std::is_arithmetic_v<B> || std::is_same_v<read_as<B>, F32>)
  KILN_REFUSED(value_kind, "only integers have a remainder; x - trunc(x / y) * y is that of floats [dsl-value-kind]")
  F32 operator%(const B&) const;
#define KILN_NO_BITS(op)                                                                                          \
  template <class B>                                                                                              \
    requires(std::is_arithmetic_v<B> || std::is_same_v<read_as<B>, F32>)                                          \
  KILN_REFUSED(value_kind, "operations on bits are of integers; bit_cast<U32>(x) are those of a float "             \
                           "[dsl-value-kind]")                                                                    \
  F32 operator op(const B&) const;
  KILN_NO_BITS(&)
  KILN_NO_BITS(|)
  KILN_NO_BITS(^)
  KILN_NO_BITS(<<)
  KILN_NO_BITS(>>)
#undef KILN_NO_BITS

  // Rounded to nearest even. A division takes some twenty instructions; rcp_approx_ftz is one.
  friend F32 operator+(const Operand& a, const Operand& b) { return binary("add.rn.f32", a, b); }
  friend F32 operator-(const Operand& a, const Operand& b) { return binary("sub.rn.f32", a, b); }
  friend F32 operator*(const Operand& a, const Operand& b) { return binary("mul.rn.f32", a, b); }
  friend F32 operator/(const Operand& a, const Operand& b) { return binary("div.rn.f32", a, b); }
  friend F32 operator-(const Operand& a) { return unary("neg.f32", a); }
  friend F32 max(const Operand& a, const Operand& b) { return binary("max.f32", a, b); }
  friend F32 min(const Operand& a, const Operand& b) { return binary("min.f32", a, b); }
  friend F32 fma(const Operand& a, const Operand& b, const Operand& c);

  // A comparison with a NaN does not hold, but != does. PTX ISA "setp".
  friend Pred operator==(const Operand& a, const Operand& b) { return related("eq", a, b); }
  friend Pred operator!=(const Operand& a, const Operand& b) { return related("neu", a, b); }
  friend Pred operator<(const Operand& a, const Operand& b) { return related("lt", a, b); }
  friend Pred operator<=(const Operand& a, const Operand& b) { return related("le", a, b); }
  friend Pred operator>(const Operand& a, const Operand& b) { return related("gt", a, b); }
  friend Pred operator>=(const Operand& a, const Operand& b) { return related("ge", a, b); }

  /// 2^a and 1 / a within a few units in the last place; subnormal numbers are zero. PTX ISA "ex2", "rcp". More in
  /// math.hpp.
  friend F32 ex2_approx_ftz(const Operand& a) { return unary("ex2.approx.ftz.f32", a); }
  friend F32 rcp_approx_ftz(const Operand& a) { return unary("rcp.approx.ftz.f32", a); }

  /// An instruction of one or two floats by its whole mnemonic.
  static F32 unary(std::string_view mnemonic, const Operand& a);
  static F32 binary(std::string_view mnemonic, const Operand& a, const Operand& b);

 private:
  static Pred related(std::string_view relation, const Operand& a, const Operand& b);
};

// Found too where an argument is of another kind, which then is explained.
F32 ex2_approx_ftz(const OperandOf<F32>& a);
F32 rcp_approx_ftz(const OperandOf<F32>& a);

// Here only to explain: two values of different kinds. What calls never() does not compile.
template <class Result> Result never();
#define KILN_TWO_KINDS_TEXT                                                                                          \
  "an operation takes values of its own kinds; convert<To>(x), bit_cast<To>(x), widen(x) and narrow(x) change a kind " \
  "[dsl-value-kind]"
KILN_REASON(ValuesOfTwoKinds, value_kind, KILN_TWO_KINDS_TEXT)
template <class A, class B>
  requires(OfTwoKinds<A, B>)
KILN_REFUSED_FUNCTION(value_kind, KILN_TWO_KINDS_TEXT)
read_as<A> min(const A&, const B&, ValuesOfTwoKinds = {});
template <class A, class B>
  requires(OfTwoKinds<A, B>)
KILN_REFUSED_FUNCTION(value_kind, KILN_TWO_KINDS_TEXT)
read_as<A> max(const A&, const B&, ValuesOfTwoKinds = {});
// Here only to explain: no numbers.
#define KILN_EXTREME_TEXT \
  "min(a, b) and max(a, b) take two numbers of one kind; of registers, one after the other: registers[i] " \
  "[dsl-value-kind]"
KILN_REASON(NoNumbers, value_kind, KILN_EXTREME_TEXT)
template <class A, class B>
concept AreNoNumbers =
    std::is_class_v<A> && std::is_same_v<A, B> && !HasKind<A> && requires(const A& a) { a.recorder(); };
template <class A, class B>
  requires(AreNoNumbers<A, B>)
KILN_REFUSED_FUNCTION(value_kind, KILN_EXTREME_TEXT)
rules::Refused min(const A&, const B&, NoNumbers = {}) {
  return {};
}
template <class A, class B>
  requires(AreNoNumbers<A, B>)
KILN_REFUSED_FUNCTION(value_kind, KILN_EXTREME_TEXT)
rules::Refused max(const A&, const B&, NoNumbers = {}) {
  return {};
}
#undef KILN_EXTREME_TEXT

/// The kind of a host number that stands where a value may: U32 of integers, F32 of floats.
template <class Number>
using value_of_number = std::conditional_t<std::is_floating_point_v<Number>, F32, U32>;
/// The kind of a value, a variable or a host number; of anything else there is none.
template <class T>
  requires(HasKind<T>)
using kind_of = typename std::conditional_t<ReadsAsValue<T>, ReadAs<T>, std::type_identity<value_of_number<T>>>::type;
/// The kind of two things of which one may be a host number.
template <class A, class B>
using kind_of_both = kind_of<std::conditional_t<ReadsAsValue<A>, A, B>>;

/// a where p holds, b elsewhere.
ir::Operand selected(ScalarType type, const Pred& p, const Input& a, const Input& b);
template <class A, class B>
  requires(HasKind<A> && HasKind<B> && !OfTwoKinds<A, B>)
auto select(const Pred& p, const A& a, const B& b, Here at = {}) {
  using V = kind_of_both<A, B>;
  const OperandOf<V> left(a, at), right(b, at);
  return V(p.recorder(), selected(V::scalar, p, left.input(), right.input()));
}

struct PredPair;  // which chooses halves of pairs: packed.hpp
// Here only to explain: no predicate, values of two kinds, or no values.
#define KILN_SELECT_TEXT                                                                                              \
  "select(predicate, a, b): compare a value, as in x != 0, to make a predicate; a and b are two numbers of one kind " \
  "[dsl-value-kind]"
KILN_REASON(NotToSelect, value_kind, KILN_SELECT_TEXT)
template <class P, class A, class B>
  requires((ReadsAsValue<P> || std::is_same_v<P, bool>) && !std::is_same_v<P, PredPair> &&
           !(std::is_convertible_v<P, Pred> && HasKind<A> && HasKind<B> && !OfTwoKinds<A, B>))
KILN_REFUSED_FUNCTION(value_kind, KILN_SELECT_TEXT)
A select(const P&, const A&, const B&, NotToSelect = {});
template <class A>
  requires(true)
KILN_REFUSED_FUNCTION(value_kind, KILN_SELECT_TEXT)
rules::Refused select(const Pred&, const A&, NotToSelect = {}) {
  return {};
}
#undef KILN_SELECT_TEXT

// Here only to explain: a predicate and a number.
#define KILN_SELECT_TEXT "select(predicate, a, b): a predicate stands beside a predicate, not a number [dsl-value-kind]"
KILN_REASON(PredAndNumber, value_kind, KILN_SELECT_TEXT)
template <class A, class B>
  requires(std::is_same_v<A, Pred> ? std::is_arithmetic_v<B> : std::is_arithmetic_v<A> && std::is_same_v<B, Pred>)
KILN_REFUSED_FUNCTION(value_kind, KILN_SELECT_TEXT)
Pred select(const Pred&, const A&, const B&, PredAndNumber = {});
#undef KILN_SELECT_TEXT

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
// Here only to explain: other kinds.
#define KILN_WIDEN_TEXT \
  "widen(x) and multiply_wide(x, y) take U32; convert<U64>(x) takes other numbers [dsl-value-kind]"
KILN_REASON(NotToWiden, value_kind, KILN_WIDEN_TEXT)
template <class X>
  requires(ReadsAsValue<X> && !std::is_convertible_v<X, U32>)
KILN_REFUSED_FUNCTION(value_kind, KILN_WIDEN_TEXT)
U64 widen(const X&, NotToWiden = {});
template <class X, class Y>
  requires(ReadsAsValue<X> && !std::is_convertible_v<X, U32>)
KILN_REFUSED_FUNCTION(value_kind, KILN_WIDEN_TEXT)
U64 multiply_wide(const X&, const Y&, NotToWiden = {});
#undef KILN_WIDEN_TEXT

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
  KILN_ONE_KIND(Var, V)
  Var& operator=(const Var& v) { return *this = OperandOf<V>(v, Here::nowhere()); }

#define KILN_COMPOUND(op) \
  Var& operator op##=(const OperandOf<V>& v) { return *this = OperandOf<V>(read(v.at) op v, v.at); }
  KILN_COMPOUND(+)
  KILN_COMPOUND(-)
  KILN_COMPOUND(*)
  KILN_COMPOUND(/)
#undef KILN_COMPOUND
#define KILN_COMPOUND_BITS(op)                                                                                    \
  Var& operator op##=(const OperandOf<V>& v) requires(isa::is_integer(V::scalar)) {                               \
    return *this = OperandOf<V>(read(v.at) op v, v.at);                                                           \
  }                                                                                                               \
  template <class X>                                                                                              \
    requires(!isa::is_integer(V::scalar))                                                                         \
  KILN_REFUSED(value_kind, "only integers have bits; bit_cast<U32>(x) gives those of a float [dsl-value-kind]")     \
  Var& operator op##=(const X&);
  KILN_COMPOUND_BITS(&)
  KILN_COMPOUND_BITS(|)
  KILN_COMPOUND_BITS(^)
  KILN_COMPOUND_BITS(<<)
  KILN_COMPOUND_BITS(>>)
#undef KILN_COMPOUND_BITS
  Var& operator%=(const OperandOf<V>& v) requires(isa::is_integer(V::scalar)) {
    return *this = OperandOf<V>(read(v.at) % v, v.at);
  }
  template <class X>
    requires(!isa::is_integer(V::scalar))
  KILN_REFUSED(value_kind, "only integers have a remainder [dsl-value-kind]")
  Var& operator%=(const X&);
  // Here only to explain: an operator without an operand has no line to report.
  template <class X = int>
    requires(true)
  KILN_REFUSED(arguments, "write variable += 1 [dsl-arguments]")
  Var& operator++();
  template <class X = int>
    requires(true)
  KILN_REFUSED(arguments, "write variable += 1 [dsl-arguments]")
  Var& operator++(int);
  KILN_NO_HOST_CONDITION("a device variable has no value on the host; use t.when(variable != 0, [&] { ... })")

 private:
  static constexpr const char* move = isa::bits(V::scalar) == 64 ? "mov.b64" : "mov.b32";
  Recorder* rec_;
  ir::Operand reg_;
  ScopeId scope_;
};

}  // namespace kiln::dsl

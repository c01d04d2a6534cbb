// Registers as tcgen05.ld fills them: N values of one type in a thread. Loads are asynchronous, so registers know
// whether they may be read yet.
#pragma once

#include <type_traits>
#include <utility>
#include <vector>

#include "dsl/math.hpp"
#include "dsl/types.hpp"
#include "dsl/value.hpp"
#include "ptx/rules/tcgen05_ld.hpp"

namespace kiln::dsl {

using rules::LdEvent, rules::LdState;

/// The 32-bit register as a float.
F32 as_f32(Recorder& r, const ir::Operand& reg);

/// Whether registers in that state may be read, and what to do where not.
template <LdState state>
inline constexpr bool readable = rules::step(state, LdEvent::read).verdict.ok();
#define KILN_NOT_READABLE \
  "loaded registers are readable only after tcgen05.wait::ld; wrap the load in wait(...) [tcgen05-ld-wait]"

/// Which register of several, and the line that says so.
struct RegisterIndex {
  RegisterIndex(int number, Here at = {}) : number(number), at(at) {}
  int number;
  Here at;
};

/// N values of T that a thread holds: 32-bit registers, with two values each where T has 16 bits. They may be used
/// where a value made in their place may.
template <class T, int N, LdState state = LdState::ready>
class [[nodiscard]] Registers {
 public:
  static constexpr int count = N * T::bits / 32;  // 32-bit registers

  Registers(Recorder& r, std::vector<ir::Operand> regs) : rec_(&r), scope_(r.scope()), regs_(std::move(regs)) {}

  Recorder& recorder() const { return *rec_; }
  /// The registers, for an instruction that reads them.
  const std::vector<ir::Operand>& operands(Here at = {}) const {
    rec_->check_use(rec_, scope_, at);
    return regs_;
  }

  /// Element i as a value, where a register holds one: F32, S32 or U32.
  auto operator[](RegisterIndex i) const {
    rules::require<rules::step(state, LdEvent::read).verdict, Registers>();
    if constexpr (T::bits != 32) (void)rules::refuse<rules::Rule::register_type, Registers>{};
    const ir::Operand& reg = operands(i.at)[std::size_t(i.number)];
    if constexpr (T::scalar == ScalarType::f32) return as_f32(*rec_, reg);
    else if constexpr (T::scalar == ScalarType::s32) return S32(*rec_, reg);
    else return U32(*rec_, reg);
  }
  // Here only to explain: what may not be read, or holds two values; registers have no addresses.
  template <class I>
    requires(std::is_integral_v<I> && !readable<state>)
  KILN_REFUSED(ld_wait, KILN_NOT_READABLE)
  std::conditional_t<T::scalar == ScalarType::f32, F32, U32> operator[](const I&) const;
  template <class I>
    requires(std::is_integral_v<I> && readable<state> && T::bits != 32)
  KILN_REFUSED(register_type, "a register holds several values of this type: widen(registers) makes f32 of them, "
                              "pair(registers, i) is a register [dsl-register-type]")
  U32 operator[](const I&) const;
  template <class I>
    requires(ReadsAsValue<I>)
  KILN_REFUSED(register_index, "registers have no addresses: an index is a host integer, `for (int i = 0; ...)` "
                               "unrolls [dsl-register-index]")
  std::conditional_t<T::scalar == ScalarType::f32, F32, U32> operator[](const I&) const;

 private:
  Recorder* rec_;
  ScopeId scope_;
  std::vector<ir::Operand> regs_;
};

/// Values of one type that a thread holds, where type, count and state are values: reading what is not there yet is
/// reported by build().
class [[nodiscard]] AnyRegisters {
 public:
  AnyRegisters(Recorder& r, ElementType element, std::vector<ir::Operand> regs, LdState state)
      : rec_(&r), scope_(r.scope()), element_(element), state_(state), regs_(std::move(regs)) {}

  Recorder& recorder() const { return *rec_; }
  ElementType element() const { return element_; }
  /// How many values: a 32-bit register holds two of 16 bits.
  int count() const { return int(regs_.size()) * 32 / element_.bits; }
  /// The registers, for an instruction that reads them.
  const std::vector<ir::Operand>& operands(Here at = {}) const;
  /// Element i, where a register holds one.
  F32 f32(int i, Here at = {}) const;
  /// The same registers after an event of theirs.
  AnyRegisters after(LdEvent event, Here at) const;

 private:
  Recorder* rec_;
  ScopeId scope_;
  ElementType element_;
  LdState state_;
  std::vector<ir::Operand> regs_;
};

/// f32 registers, one at least, whose element i is `value(i)`.
template <class Value>
concept MakesValues = requires(const Value& value) {
  requires ReadsAsValue<std::remove_cvref_t<decltype(value(0))>> && HasKind<std::remove_cvref_t<decltype(value(0))>>;
};
template <class Value>
  requires(MakesValues<Value>)
AnyRegisters make_registers(int count, const Value& value, Here at = {}) {
  const F32 first(value(0));
  std::vector<ir::Operand> regs{use(first.recorder(), first, at)};
  for (int i = 1; i < count; ++i) regs.push_back(use(first.recorder(), F32(value(i)), at));
  return {first.recorder(), element_type<f32>, std::move(regs), LdState::ready};
}
/// f32 values rounded to narrower floats, as cvt does; values of the type as they are.
AnyRegisters converted(const AnyRegisters& from, ElementType to, Here at = {});
/// Narrower floats as f32, exactly.
AnyRegisters widened(const AnyRegisters& from, Here at = {});

/// What tcgen05.ld.red delivers, where the type is a value.
struct [[nodiscard]] AnyReduced {
  AnyRegisters values, reduced;
};

/// What tcgen05.ld.red delivers: the loaded values and the least or greatest of them.
template <class T, int N, LdState state = LdState::ready>
struct [[nodiscard]] Reduced {
  Registers<T, N, state> values;
  Registers<T, 1, state> reduced;
};

/// The element type of registers that hold values of a kind.
constexpr ScalarType element_in_register(ScalarType kind) {
  switch (kind) {
    case ScalarType::u32: return ScalarType::b32;
    case ScalarType::f16x2: return ScalarType::f16;
    case ScalarType::bf16x2: return ScalarType::bf16;
    default: return kind;
  }
}

/// Registers with N elements, of which register i is `value(i)`: an F32, U32 or S32, or two elements, an F16x2 or
/// BF16x2.
template <int N, class Value>
  requires(MakesValues<Value>)
auto make_registers(Value value, Here at = {}) {
  using V = kind_of<std::remove_cvref_t<decltype(value(0))>>;
  using T = Element<element_in_register(V::scalar)>;
  const V first(value(0));
  std::vector<ir::Operand> regs{use(first.recorder(), first, at)};
  for (int i = 1; i < N * T::bits / 32; ++i) regs.push_back(use(first.recorder(), V(value(i)), at));
  return Registers<T, N>{first.recorder(), std::move(regs)};
}

// Here only to explain: a function that makes something else.
#define KILN_MAKE_TEXT                                                                                          \
  "make_registers<N>([&](int i) { return value; }): an F32, U32 or S32, or a pair of 16 bits; no host number, " \
  "tile or accumulator [dsl-value-kind]"
KILN_REASON(NoValuesToMake, value_kind, KILN_MAKE_TEXT)
template <int N, class Value>
  requires(!MakesValues<Value>)
KILN_REFUSED_FUNCTION(value_kind, KILN_MAKE_TEXT)
Registers<f32, N> make_registers(const Value&, NoValuesToMake = {}) {
  return never<Registers<f32, N>>();
}
template <class Value>
  requires(!MakesValues<Value>)
KILN_REFUSED_FUNCTION(value_kind, KILN_MAKE_TEXT)
AnyRegisters make_registers(int, const Value&, NoValuesToMake = {}) {
  return never<AnyRegisters>();
}
template <class Value>
  requires(!std::is_integral_v<Value>)
KILN_REFUSED_FUNCTION(value_kind, KILN_MAKE_TEXT)
rules::Refused make_registers(const Value&, NoValuesToMake = {}) {
  return {};
}
#undef KILN_MAKE_TEXT

/// All elements, one a register, by a function of two, as combined() of values does.
template <class T, int N, LdState state, class Combine>
  requires(readable<state>)
auto combined(const Registers<T, N, state>& of, Combine combine, Here at = {}) {
  std::vector<decltype(of[0])> elements;
  for (int i = 0; i < N; ++i) elements.push_back(of[{i, at}]);
  return combined(elements, combine);
}

// Here only to explain: no function, or values that stand alone.
#define KILN_COMBINED_TEXT                                                                                           \
  "combined(registers, [](F32 a, F32 b) { return a + b; }): registers or a std::vector of values, and a function of " \
  "two [dsl-arguments]"
KILN_REASON(NotToCombine, arguments, KILN_COMBINED_TEXT)
template <class X>
  requires(true)
KILN_REFUSED_FUNCTION(arguments, KILN_COMBINED_TEXT)
rules::Refused combined(const X&, NotToCombine = {}) {
  return {};
}
template <class X, class Combine>
  requires(HasKind<X>)
KILN_REFUSED_FUNCTION(arguments, KILN_COMBINED_TEXT)
rules::Refused combined(const X&, const Combine&, NotToCombine = {}) {
  return {};
}
#undef KILN_COMBINED_TEXT

/// Whether `count` f32 fill whole registers as floats of a type, which cvt makes of them and widen makes f32 again:
/// f16, bf16, e4m3, e5m2, ue8m0, e2m1, and unpacked e2m3 and e3m2.
constexpr bool converts(ElementType to, int count) {
  switch (to.scalar) {
    case ScalarType::f16:
    case ScalarType::bf16:
    case ScalarType::e4m3:
    case ScalarType::e5m2:
    case ScalarType::ue8m0: return count % (32 / to.bits) == 0;
    case ScalarType::e2m3:
    case ScalarType::e3m2: return to.is_unpacked() && count % 4 == 0;
    case ScalarType::e2m1: return !to.is_unpacked() && count % 8 == 0;
    default: return false;
  }
}
/// How cvt rounds where nothing else is asked: to nearest even; a ue8m0, which has no zero and no sign, up.
constexpr isa::Rounding usual_rounding(ScalarType to) {
  return to == ScalarType::ue8m0 ? isa::Rounding::rp : isa::Rounding::rn;
}

// What cvt and widen call.
std::vector<ir::Operand> convert_pairs(Recorder& r, ScalarType to, isa::Rounding rounding,
                                       const std::vector<ir::Operand>& from, Here at);
std::vector<ir::Operand> widen_pairs(Recorder& r, ScalarType of, const std::vector<ir::Operand>& from, Here at);

/// f32 as floats of fewer bits, as many as a register holds: two f16 or bf16, four e4m3, e5m2, ue8m0 or
/// unpacked<e2m3> and unpacked<e3m2>, eight e2m1; element 0 in the lowest bits. Rounded to nearest even, ue8m0 up, or
/// as `rounding` says: rz towards zero. What is too large for 8 bits or fewer becomes the largest number that they have
/// (.satfinite); f16 and bf16 become infinite. PTX ISA "cvt".
template <class To, isa::Rounding rounding = isa::Rounding::none, int N, LdState state>
  requires(readable<state> && converts(element_type<To>, N))
Registers<To, N> cvt(const Registers<f32, N, state>& from, Here at = {}) {
  constexpr isa::Rounding how = rounding == isa::Rounding::none ? usual_rounding(To::scalar) : rounding;
  return {from.recorder(), convert_pairs(from.recorder(), To::scalar, how, from.operands(at), at)};
}

/// The floats that cvt makes as f32, exactly.
template <class T, int N, LdState state>
  requires(readable<state> && converts(element_type<T>, N))
Registers<f32, N> widen(const Registers<T, N, state>& from, Here at = {}) {
  return {from.recorder(), widen_pairs(from.recorder(), T::scalar, from.operands(at), at)};
}

// Here only to explain: registers that may not be read, and those of other elements.
KILN_REASON(NotReadable, ld_wait, KILN_NOT_READABLE)
template <class T, int N, LdState state, class Combine>
  requires(!readable<state>)
KILN_REFUSED_FUNCTION(ld_wait, KILN_NOT_READABLE)
F32 combined(const Registers<T, N, state>&, const Combine&, NotReadable = {}) {
  return never<F32>();
}
template <class To, class T, int N, LdState state>
  requires(!readable<state>)
KILN_REFUSED_FUNCTION(ld_wait, KILN_NOT_READABLE)
Registers<To, N> cvt(const Registers<T, N, state>&, NotReadable = {});
template <class T, int N, LdState state>
  requires(!readable<state>)
KILN_REFUSED_FUNCTION(ld_wait, KILN_NOT_READABLE)
Registers<f32, N> widen(const Registers<T, N, state>&, NotReadable = {});
#define KILN_CVT_TEXT                                                                                     \
  "cvt<To>(registers) rounds f32 to floats of 16 bits or fewer, in whole registers; widen(registers) is the way back " \
  "[dsl-register-type]"
KILN_REASON(NotToRound, register_type, KILN_CVT_TEXT)
template <class To, class T, int N, LdState state>
  requires(readable<state> && (T::scalar != ScalarType::f32 || !converts(element_type<To>, N)))
KILN_REFUSED_FUNCTION(register_type, KILN_CVT_TEXT)
rules::Refused cvt(const Registers<T, N, state>&, NotToRound = {}) {
  return {};
}
template <class... To, class X>
  requires(sizeof...(To) == 0 || HasKind<X>)
KILN_REFUSED_FUNCTION(register_type, KILN_CVT_TEXT)
rules::Refused cvt(const X&, NotToRound = {}) {
  return {};
}
#undef KILN_CVT_TEXT
#define KILN_WIDEN_TEXT "widen(registers) makes f32 of narrower floats; cvt<To>(registers) is the way back [dsl-register-type]"
KILN_REASON(NoBf16, register_type, KILN_WIDEN_TEXT)
template <class T, int N, LdState state>
  requires(readable<state> && !converts(element_type<T>, N))
KILN_REFUSED_FUNCTION(register_type, KILN_WIDEN_TEXT)
Registers<f32, N> widen(const Registers<T, N, state>&, NoBf16 = {});
#undef KILN_WIDEN_TEXT

}  // namespace kiln::dsl

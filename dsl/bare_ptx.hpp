// The signature of a bare PTX instruction, checked against its mnemonic while compiling: Scope::ptx<"prmt.b32",
// U32(U32, U32, U32)>(a, b, selector).
#pragma once

#include <algorithm>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "dsl/value.hpp"
#include "ptx/isa/opcodes.hpp"

namespace kiln::dsl {

/// An operand in brackets, in the signature of a bare instruction: Address<U64> is global, Address<U32> shared memory.
template <class V>
struct Address {};

/// The text of a bare instruction as a template argument.
template <std::size_t n>
struct Mnemonic {
  char text[n]{};
  constexpr Mnemonic(const char (&from)[n]) { std::copy_n(from, n, text); }
  /// The text.
  constexpr std::string_view view() const { return {text, n - 1}; }
};

// What the typed form of Scope::ptx is checked with.
namespace detail {

struct NoOperand {};

// Whether a register is declared with the type. Of others (.tf32, .e4m3x2, .u8x4) the word does not say what the
// register is.
constexpr bool is_of_registers(isa::ScalarType t) {
  using isa::ScalarType, isa::TypeClass;
  switch (isa::type_class(t)) {
    case TypeClass::predicate: return true;
    case TypeClass::untyped:
    case TypeClass::unsigned_integer:
    case TypeClass::signed_integer: return isa::bits(t) >= 8 && isa::bits(t) <= 128;
    case TypeClass::floating: return isa::bits(t) >= 16 && t != ScalarType::tf32;
    case TypeClass::packed: return t == ScalarType::f16x2 || t == ScalarType::bf16x2;
    case TypeClass::opaque: return false;
  }
  return false;
}

// The type that a word of a mnemonic says of registers; none for other words.
constexpr isa::ScalarType ptx_type_word(std::string_view word) {
  const isa::ScalarType type = isa::parse_type(word).value_or(isa::ScalarType::none);
  return is_of_registers(type) ? type : isa::ScalarType::none;
}

constexpr isa::Writes ptx_writes(std::string_view mnemonic, bool& known) {
  struct Name {
    std::string_view spelling;
    isa::Writes writes;
  };
  constexpr Name names[] = {
#define OPCODE(id, spelling, writes, unit, family) {spelling, isa::Writes::writes},
#include "ptx/isa/opcodes.def"
#undef OPCODE
  };
  const Name* longest = nullptr;
  for (const Name& n : names) {
    const bool fits = mnemonic.substr(0, n.spelling.size()) == n.spelling &&
                      (mnemonic.size() == n.spelling.size() || mnemonic[n.spelling.size()] == '.');
    if (fits && (!longest || longest->spelling.size() < n.spelling.size())) longest = &n;
  }
  known = longest != nullptr;
  return longest ? longest->writes : isa::Writes::none;
}

template <class P>
struct PtxOperand {
  using value = P;
  static constexpr bool is_address = false;
};
template <class V>
struct PtxOperand<Address<V>> {
  using value = V;
  static constexpr bool is_address = true;
};

/// Whether a value of that kind may stand where an instruction has the type.
template <class V>
constexpr bool fits_type(isa::ScalarType type) {
  using isa::ScalarType;
  if constexpr (std::is_void_v<V>)
    return false;
  else if constexpr (std::is_same_v<V, Pred>)
    return type == ScalarType::pred;
  else if constexpr (isa::is_integer(V::scalar))
    return isa::bits(type) == isa::bits(V::scalar) && type != ScalarType::f32 && type != ScalarType::f64 &&
           type != ScalarType::f16x2 && type != ScalarType::bf16x2;
  else
    return type == V::scalar;
}
template <class V>
inline constexpr bool is_float_kind = false;
template <class V>
requires requires { V::scalar; }
inline constexpr bool is_float_kind<V> = !isa::is_integer(V::scalar);

/// Why a call of the typed form is refused.
enum class PtxFault : unsigned char { none, unknown, result, types, arity, kinds };

template <class Signature>
struct PtxSignature;
template <class R, class... P>
struct PtxSignature<R(P...)> {
  using result = R;

  static constexpr PtxFault check(std::string_view mnemonic) {
    bool known = false;
    const isa::Writes writes = ptx_writes(mnemonic, known);
    if (!known) return PtxFault::unknown;
    if (isa::results(writes) > 1) return PtxFault::types;
    if (writes != isa::Writes::maybe && (writes == isa::Writes::first) == std::is_void_v<R>) return PtxFault::result;
    isa::ScalarType words[8]{};
    int count = 0;
    for (std::size_t at = 0; at <= mnemonic.size();) {
      // Not by find: what it tests of a pointer is no constant with -fsanitize=undefined (g++ 12, 13).
      std::size_t end = at;
      while (end < mnemonic.size() && mnemonic[end] != '.') ++end;
      const isa::ScalarType type = ptx_type_word(mnemonic.substr(at, end - at));
      if (type != isa::ScalarType::none && count < 8) words[count++] = type;
      at = end + 1;
    }
    bool floats_named = true;
    const auto named = [&]<class V>(std::type_identity<V>) {
      if constexpr (is_float_kind<V>) {
        bool found = false;
        for (int i = 0; i < count; ++i) found = found || fits_type<V>(words[i]);
        floats_named = floats_named && found;
      }
    };
    named(std::type_identity<R>{});
    (named(std::type_identity<typename PtxOperand<P>::value>{}), ...);
    if (!floats_named) return PtxFault::types;
    for (int i = 0; i < count; ++i)
      if (!(fits_type<R>(words[i]) || ... ||
            (!PtxOperand<P>::is_address && fits_type<typename PtxOperand<P>::value>(words[i]))))
        return PtxFault::types;
    return count > 1 && !fits_type<R>(words[0]) ? PtxFault::types : PtxFault::none;
  }

  template <class V, class Arg>
  static constexpr bool takes() {
    if constexpr (std::is_same_v<V, Pred>)
      return std::is_convertible_v<Arg, Pred>;
    else if constexpr (ReadsAsValue<Arg>)
      return std::is_same_v<read_as<Arg>, V>;
    else
      return std::is_arithmetic_v<Arg> && is_constant_of<Arg>(V::scalar);
  }
  template <class... Args, std::size_t... i>
  static constexpr PtxFault check_operands(std::string_view mnemonic, std::index_sequence<i...>) {
    using Given = std::tuple<Args...>;
    if (!(takes<typename PtxOperand<P>::value, std::tuple_element_t<i, Given>>() && ...)) return PtxFault::kinds;
    return check(mnemonic);
  }
  /// Args: those of the call, and NoOperand for each that it leaves out.
  template <class... Args>
  static constexpr PtxFault check_call(std::string_view mnemonic) {
    constexpr std::size_t given = (std::size_t(!std::is_same_v<Args, NoOperand>) + ...);
    if constexpr (given != sizeof...(P))
      return PtxFault::arity;
    else
      return check_operands<Args...>(mnemonic, std::index_sequence_for<P...>{});
  }

  /// The operands of a call that is right.
  template <class... Args>
  static std::vector<ir::Operand> operands(Recorder& r, Here at, const Args&... args) {
    return operands(r, at, std::index_sequence_for<P...>{}, std::forward_as_tuple(args...));
  }

 private:
  template <std::size_t... i, class Given>
  static std::vector<ir::Operand> operands(Recorder& r, Here at, std::index_sequence<i...>, const Given& given) {
    std::vector<ir::Operand> all;
    (all.push_back(operand<P>(r, std::get<i>(given), at)), ...);
    return all;
  }
  template <class Kind, class Arg>
  static ir::Operand operand(Recorder& r, const Arg& arg, Here at) {
    using V = typename PtxOperand<Kind>::value;
    if constexpr (std::is_same_v<V, Pred>) {
      return use(r, Pred(arg), at);
    } else {
      ir::Operand value = use(r, OperandOf<V>(arg, at).input());
      return PtxOperand<Kind>::is_address ? ir::Operand::address(std::move(value)) : value;
    }
  }
};

template <Mnemonic mnemonic, class Signature, class... Args>
inline constexpr PtxFault ptx_fault = PtxSignature<Signature>::template check_call<Args...>(mnemonic.view());
template <class Signature>
using ptx_result = typename PtxSignature<Signature>::result;
template <class V>
inline constexpr isa::ScalarType ptx_register = V::scalar;
template <>
inline constexpr isa::ScalarType ptx_register<Pred> = isa::ScalarType::pred;

}  // namespace detail

}  // namespace kiln::dsl

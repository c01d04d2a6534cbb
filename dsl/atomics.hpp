// How CTAs and threads communicate through memory: atomic operations and reductions, and loads and stores with an
// order. An address of 64 bits is global memory, one of 32 the CTA's shared memory. PTX ISA "atom", "red", "ld", "st".
#pragma once

#include "dsl/async_stores.hpp"
#include "dsl/registers.hpp"
#include "dsl/types.hpp"

namespace kiln::dsl {

using AtomOrder = OrderOf<rules::Ordered::atomic>;
using LoadOrder = OrderOf<rules::Ordered::load>;
using StoreOrder = OrderOf<rules::Ordered::store>;

/// Whether memory combines so with values of a type: integers in every way that they have, floats by addition alone.
constexpr bool combines(RedOp op, ScalarType type) {
  switch (type) {
    case ScalarType::u32: return op != RedOp::none && op != RedOp::cas && op != RedOp::popc;
    case ScalarType::s32:
    case ScalarType::u64: return combines(op, ScalarType::u32) && op != RedOp::inc && op != RedOp::dec;
    case ScalarType::f32: return op == RedOp::add || op == RedOp::exch;
    case ScalarType::f16x2:
    case ScalarType::bf16x2: return op == RedOp::add;
    default: return false;
  }
}

/// Whether something is an address: 64 bits of global memory, 32 of shared memory.
template <class A>
inline constexpr bool is_address = std::is_same_v<read_as<A>, U64> || std::is_same_v<read_as<A>, U32>;

namespace detail {

template <class T>
constexpr auto holder_of() {
  if constexpr (!requires { T::scalar; }) {
    return std::type_identity<void>{};
  } else if constexpr (std::is_base_of_v<Value, T>) {
    return std::type_identity<T>{};
  } else {
    constexpr ScalarType t = T::scalar;
    if constexpr (t == ScalarType::f32 || t == ScalarType::f16 || t == ScalarType::bf16)
      return std::type_identity<F32>{};
    else if constexpr (t == ScalarType::u32 || t == ScalarType::b32 || t == ScalarType::u16 || t == ScalarType::u8)
      return std::type_identity<U32>{};
    else if constexpr (t == ScalarType::s32 || t == ScalarType::s8)
      return std::type_identity<S32>{};
    else if constexpr (t == ScalarType::u64 || t == ScalarType::b64)
      return std::type_identity<U64>{};
    else
      return std::type_identity<void>{};
  }
}

}  // namespace detail

/// The kind of value that holds one element: F32 of f32, f16 and bf16; U32 of u32, b32, u16 and u8; S32 of s32 and s8;
/// U64 of u64 and b64; a kind holds itself (BF16x2 two bf16). Void of others.
template <class T>
using held_as = typename decltype(detail::holder_of<T>())::type;
namespace detail {

template <class T>
concept is_held = !std::is_void_v<held_as<T>>;
/// Whether a value may be written as an element of T, or as what it is.
template <class T, class X>
constexpr bool stores() {
  if constexpr (std::is_void_v<T>) {
    if constexpr (ReadsAsValue<X>) return is_held<read_as<X>>;
    else return std::is_arithmetic_v<X>;
  } else if constexpr (!is_held<T>) {
    return false;
  } else if constexpr (ReadsAsValue<X>) {
    return std::is_same_v<read_as<X>, held_as<T>>;
  } else {
    return is_constant_of<X>(held_as<T>::scalar);
  }
}
template <class T, class X>
concept is_stored_as = stores<T, X>();
// After the address: nothing, an order, or a predicate and what stands where it does not hold. After the value of a
// store: nothing, an order or a predicate.
template <class A, class Given, class... Rest>
inline constexpr bool are_load_arguments = false;
template <class A, class Given>
inline constexpr bool are_load_arguments<A, Given> = std::is_convertible_v<Given, A>;
template <class A, class Given, class Order, class... Rest>
inline constexpr bool are_load_arguments<A, Given, Order, Rest...> =
    std::is_convertible_v<Given, A> &&
    (std::is_convertible_v<Order, LoadOrder> || (std::is_convertible_v<Order, Pred> && sizeof...(Rest) > 0));
template <class A, class... Given>
inline constexpr bool are_store_arguments = false;
template <class A, class Given, class X>
inline constexpr bool are_store_arguments<A, Given, X> = std::is_convertible_v<Given, A>;
template <class A, class Given, class X, class How, class... Rest>
inline constexpr bool are_store_arguments<A, Given, X, How, Rest...> =
    std::is_convertible_v<Given, A> && (std::is_convertible_v<How, StoreOrder> || std::is_convertible_v<How, Pred>);

}  // namespace detail

/// Whether something is a value that memory combines so, or a vector that it adds.
template <RedOp op, class Operand>
concept is_combined = HasKind<Operand> && combines(op, kind_of<Operand>::scalar);
template <RedOp op, class T, int N>
inline constexpr bool is_added = op == RedOp::add && (T::bits == 16 || T::scalar == ScalarType::f32) &&
                                 (N * T::bits == 64 || N * T::bits == 128);

/// A scope whose threads share memory with others.
class Atomics : public AsyncStores {
 public:
  using AsyncStores::AsyncStores;

  /// Combines what lies at `address` with the operand and answers what it was:
  /// atom<RedOp::inc>(counter, 3, acq_rel_gpu) counts 0, 1, 2, 3, 0. The operand's kind is that of the memory: U32,
  /// S32, U64, F32, F16x2, BF16x2. Without an order it is relaxed. PTX ISA "atom".
  template <RedOp op, class Address, class Operand>
    requires(is_address<Address> && is_combined<op, Operand>)
  kind_of<Operand> atom(const Address& address, const Operand& operand, const AtomOrder& order = {}, Here at = {}) {
    using V = kind_of<Operand>;
    return {*rec_, atom({op, V::scalar}, order, place(address, at), OperandOf<V>(operand, at).input(), at)};
  }
  // Here only to explain: no address.
  template <RedOp op, class Address, class Operand>
    requires(!is_address<Address>)
  KILN_REFUSED(arguments, "atom<op>(address, value): the address of an element is pointer.at(index) [dsl-arguments]")
  kind_of<Operand> atom(const Address& address, const Operand& operand, const AtomOrder& order = {}, Here at = {});
  template <RedOp op, class Address, class Operand>
    requires(!is_address<Address>)
  KILN_REFUSED(arguments, "red<op>(address, value): the address of an element is pointer.at(index) [dsl-arguments]")
  void red(const Address& address, const Operand& operand, const StoreOrder& order = {}, Here at = {});
  KILN_OTHERWISE(arguments, "atom<op>(address, value): atom<RedOp::add>(counter, 1) [dsl-arguments]")
  rules::Refused atom(KILN_WHATEVER);
  KILN_OTHERWISE(arguments, "red<op>(address, value): red<RedOp::add>(counter, 1) [dsl-arguments]")
  void red(KILN_WHATEVER);
#define KILN_NOT_COMBINED                                                                                      \
  "memory combines U32, S32 and U64 in every way of theirs, F32, F16x2 and BF16x2 by add; F32 also by exch; "  \
  "registers[i] is a value [dsl-value-kind]"
  template <RedOp op, class Address, class Operand>
    requires(is_address<Address> && !is_combined<op, Operand>)
  KILN_REFUSED(value_kind, KILN_NOT_COMBINED)
  rules::Refused atom(const Address& address, const Operand& operand, const AtomOrder& order = {}, Here at = {});
  template <RedOp op, class Address, class Operand>
    requires(is_address<Address> && !is_combined<op, Operand>)
  KILN_REFUSED(value_kind, KILN_NOT_COMBINED)
  void red(const Address& address, const Operand& operand, const StoreOrder& order = {}, Here at = {});
#undef KILN_NOT_COMBINED
  /// Where the memory holds `expected`, it becomes `wanted`; answers what it was. PTX ISA "atom.cas".
  template <class Address, class Operand>
    requires(is_address<Address> && is_combined<RedOp::exch, Operand>)
  kind_of<Operand> atom_cas(const Address& address, const Operand& expected,
                            const std::type_identity_t<OperandOf<kind_of<Operand>>>& wanted,
                            const AtomOrder& order = {}, Here at = {}) {
    using V = kind_of<Operand>;
    return {*rec_, compare_and_swap(V::scalar, order, place(address, at), OperandOf<V>(expected, at).input(),
                                    wanted.input(), at)};
  }
  /// Combines without an answer, which costs less: red<RedOp::add>(sum, x). PTX ISA "red".
  template <RedOp op, class Address, class Operand>
    requires(is_address<Address> && is_combined<op, Operand>)
  void red(const Address& address, const Operand& operand, const StoreOrder& order = {}, Here at = {}) {
    using V = kind_of<Operand>;
    static_assert(op != RedOp::exch, "red combines; st stores");
    red({op, V::scalar}, order, place(address, at), OperandOf<V>(operand, at).input(), at);
  }
  /// The same with 8 or 16 bytes that follow one another in global memory, at a multiple of as much: f32, f16 or bf16.
  template <RedOp op, class T, int N, LdState s>
    requires(readable<s> && is_added<op, T, N>)
  void red(const U64& address, const Registers<T, N, s>& values, const StoreOrder& order = {}, Here at = {}) {
    add_vector(T::scalar, order, address, values.operands(at), at);
  }

  // Here only to explain: other registers, or other arguments.
  template <RedOp op, class T, int N, LdState s>
    requires(!readable<s>)
  KILN_REFUSED(ld_wait, KILN_NOT_READABLE)
  void red(const U64& address, const Registers<T, N, s>& values, const StoreOrder& order = {}, Here at = {});
  template <RedOp op, class T, int N, LdState s>
    requires(readable<s> && !is_added<op, T, N>)
  KILN_REFUSED(register_type, "red<RedOp::add>(address, registers) adds 8 or 16 bytes of f32, f16 or bf16: two or four "
                              "f32, four or eight of 16 bits [dsl-register-type]")
  void red(const U64& address, const Registers<T, N, s>& values, const StoreOrder& order = {}, Here at = {});
  KILN_OTHERWISE(arguments, "atom_cas(address, expected, wanted): the address of an element is pointer.at(index), both "
                            "numbers are of one kind [dsl-arguments]")
  rules::Refused atom_cas(KILN_WHATEVER);
#define KILN_WORD_OF_MEMORY(name)                                                                                    \
  KILN_OTHERWISE(arguments, #name "(address, ...): an address of global memory is a U64, of an element "             \
                                  "pointer.at(index)"                                                                \
                            " [dsl-arguments]")                                                                      \
  rules::Refused name(KILN_WHATEVER);
  KILN_WORD_OF_MEMORY(ld_global)
  KILN_WORD_OF_MEMORY(st_global)
  /// A word that others may write meanwhile: ld_global(flag, acquire_gpu).
  U32 ld_global(const U64& address, const LoadOrder& order, Here at = {});
  /// A word that is not written while the kernel runs.
  U32 ld_global(const U64& address, Here at = {});
  /// Waits while a word of global memory has these `bits` of `value`: reads it, with the order, in a loop. Another
  /// thread must change it. PTX ISA "ld".
  void wait_while(const U64& address, const U32& value, OperandOf<U32> bits, const LoadOrder& order, Here at = {});
  KILN_WORD_OF_MEMORY(wait_while)

  // One element. T is its type in memory (f32, bf16, u8, s32, u64), or the kind of value that it becomes (F32, BF16x2).
  // f16 and bf16 become F32, and F32 rounded to them; 8 and 16 bits become 32. Without an order the element is not
  // written, or read, by others meanwhile. PTX ISA "ld", "st".
  /// One element of global memory: ld_global<bf16>(pointer.at(i)), ld_global<u64>(flag, acquire_gpu).
  template <class T>
    requires detail::is_held<T>
  held_as<T> ld_global(const U64& address, const LoadOrder& order = {}, Here at = {}) {
    return loaded<T>(order, place(address, at), nullptr, {}, at);
  }
  /// The same where the predicate holds; elsewhere nothing is read, and the value is `otherwise`:
  /// ld_global<f32>(pointer.at(i), i < n, 0).
  template <class T>
    requires detail::is_held<T>
  held_as<T> ld_global(const U64& address, const Pred& there,
                       const std::type_identity_t<OperandOf<held_as<T>>>& otherwise, Here at = {}) {
    return loaded<T>({}, place(address, at), &there, otherwise.input(), at);
  }
  /// One element of the CTA's shared memory, in the same ways; a word unless T says otherwise.
  template <class T = u32>
    requires detail::is_held<T>
  held_as<T> ld_shared(const U32& address, const LoadOrder& order = {}, Here at = {}) {
    return loaded<T>(order, place(address, at), nullptr, {}, at);
  }
  template <class T>
    requires detail::is_held<T>
  held_as<T> ld_shared(const U32& address, const Pred& there,
                       const std::type_identity_t<OperandOf<held_as<T>>>& otherwise, Here at = {}) {
    return loaded<T>({}, place(address, at), &there, otherwise.input(), at);
  }
  /// Writes one element of global memory: st_global(flag, 1, release_gpu), st_global<bf16>(pointer.at(i), x). Without a
  /// type it is what the value's kind is.
  template <class T = void, class X>
    requires detail::is_stored_as<T, X>
  void st_global(const U64& address, const X& value, const StoreOrder& order = {}, Here at = {}) {
    stored<T>(order, place(address, at), nullptr, value, at);
  }
  /// The same where the predicate holds: st_global(pointer.at(i), x, i < n).
  template <class T = void, class X>
    requires detail::is_stored_as<T, X>
  void st_global(const U64& address, const X& value, const Pred& there, const StoreOrder& order = {}, Here at = {}) {
    stored<T>(order, place(address, at), &there, value, at);
  }
  /// Writes one element of the CTA's shared memory, in the same ways.
  template <class T = void, class X>
    requires detail::is_stored_as<T, X>
  void st_shared(const U32& address, const X& value, const StoreOrder& order = {}, Here at = {}) {
    stored<T>(order, place(address, at), nullptr, value, at);
  }
  template <class T = void, class X>
    requires detail::is_stored_as<T, X>
  void st_shared(const U32& address, const X& value, const Pred& there, const StoreOrder& order = {}, Here at = {}) {
    stored<T>(order, place(address, at), &there, value, at);
  }
  // Here only to explain: another element, another value, or another address.
#define KILN_ELEMENT_REFUSED(load, store, A, a_address)                                                                \
  KILN_OTHERWISE_OF(arguments, #load "<T>(address): " a_address " [dsl-arguments]", class)                             \
  U32 load();                                                                                                          \
  template <class T, class... Rest>                                                                                    \
    requires(!detail::is_held<T>)                                                                                      \
  KILN_REFUSED(register_type, #load "<T>: T is f32, bf16, f16, u32, s32, u64, u16, u8 or s8, or a kind of value as "   \
                              "F32 and BF16x2 [dsl-register-type]")                                                    \
  U32 load(const Rest&...);                                                                                            \
  template <class T, class Given, class... Rest>                                                                       \
    requires(detail::is_held<T> && !detail::are_load_arguments<A, Given, Rest...>)                                     \
  KILN_REFUSED(arguments, #load "<T>(address), or (address, predicate, otherwise): " a_address " [dsl-arguments]")     \
  held_as<T> load(const Given&, const Rest&...);                                                                       \
  template <class T = void, class Given, class X, class... Rest>                                                       \
    requires(std::is_convertible_v<Given, A> && !detail::is_stored_as<T, X>)                                           \
  KILN_REFUSED(value_kind, #store ": the element's type, " #store "<bf16>(address, x), takes values of its own kind: " \
                           "F32 of floats, U32, S32 or U64 of integers [dsl-value-kind]")                              \
  void store(const Given&, const X&, const Rest&...);                                                                  \
  template <class T = void, class... Given>                                                                            \
    requires(!detail::are_store_arguments<A, Given...>)                                                                \
  KILN_REFUSED(arguments, #store "(address, value), and a predicate last: " a_address " [dsl-arguments]")              \
  void store(const Given&...);
  KILN_ELEMENT_REFUSED(ld_global, st_global, U64, "the address has 64 bits, as pointer.at(index) gives it")
  KILN_ELEMENT_REFUSED(ld_shared, st_shared, U32, "the address is a U32, of shared memory")
#undef KILN_ELEMENT_REFUSED

 private:
  struct Combination {
    RedOp op;
    ScalarType type;
  };
  // An address and its state space.
  struct Place {
    ir::Operand address;
    std::string_view space;
  };
  Place place(const OperandOf<U64>& address, Here) const { return {use(*rec_, address.input()), "global"}; }
  Place place(const OperandOf<U32>& address, Here) const { return {use(*rec_, address.input()), "shared::cta"}; }
  template <class Address>
  Place place(const Address& address, Here at) const {
    return place(OperandOf<kind_of<Address>>(address, at), at);
  }
  template <class T>
  held_as<T> loaded(const LoadOrder& order, const Place& from, const Pred* there, const Input& otherwise, Here at) {
    return {*rec_, load({T::scalar, held_as<T>::scalar}, order, from, there, otherwise, at)};
  }
  template <class T, class X>
  void stored(const StoreOrder& order, const Place& to, const Pred* there, const X& value, Here at) {
    if constexpr (std::is_void_v<T>) {
      stored<kind_of<X>>(order, to, there, value, at);
    } else {
      using V = held_as<T>;
      store({T::scalar, V::scalar}, order, to, there, OperandOf<V>(value, at).input(), at);
    }
  }
  // One element: its type in memory, and the kind that holds it.
  struct HeldElement {
    ScalarType element, kind;
  };
  ir::Operand load(HeldElement, const LoadOrder& order, const Place& from, const Pred* there, const Input& otherwise,
                   Here at);
  void store(HeldElement, const StoreOrder& order, const Place& to, const Pred* there, const Input& value, Here at);
  ir::Operand atom(Combination, const AtomOrder& order, const Place& at_address, const Input& operand, Here at);
  ir::Operand compare_and_swap(ScalarType type, const AtomOrder& order, const Place& at_address, const Input& expected,
                               const Input& wanted, Here at);
  void red(Combination, const StoreOrder& order, const Place& at_address, const Input& operand, Here at);
  void add_vector(ScalarType type, const StoreOrder& order, const U64& address, const std::vector<ir::Operand>& values,
                  Here at);
};

}  // namespace kiln::dsl

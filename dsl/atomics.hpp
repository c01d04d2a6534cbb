// How CTAs and threads communicate through memory: atomic operations and reductions, and loads and stores with an
// order. An address of 64 bits is global memory, one of 32 the CTA's shared memory. PTX ISA "atom", "red", "ld", "st".
#pragma once

#include "dsl/cluster.hpp"
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

/// Whether something is a value that memory combines so, or a vector that it adds.
template <RedOp op, class Operand>
concept is_combined = HasKind<Operand> && combines(op, kind_of<Operand>::scalar);
template <RedOp op, class T, int N>
inline constexpr bool is_added = op == RedOp::add && (T::bits == 16 || T::scalar == ScalarType::f32) &&
                                 (N * T::bits == 64 || N * T::bits == 128);

/// A scope whose threads share memory with others.
class Atomics : public ClusterMember {
 public:
  using ClusterMember::ClusterMember;

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
  void st_global(const U64& address, OperandOf<U32> value, const StoreOrder& order, Here at = {});

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
  ir::Operand atom(Combination, const AtomOrder& order, const Place& at_address, const Input& operand, Here at);
  ir::Operand compare_and_swap(ScalarType type, const AtomOrder& order, const Place& at_address, const Input& expected,
                               const Input& wanted, Here at);
  void red(Combination, const StoreOrder& order, const Place& at_address, const Input& operand, Here at);
  void add_vector(ScalarType type, const StoreOrder& order, const U64& address, const std::vector<ir::Operand>& values,
                  Here at);
};

}  // namespace kiln::dsl

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

/// A scope whose threads share memory with others.
class Atomics : public ClusterMember {
 public:
  using ClusterMember::ClusterMember;

  /// Combines what lies at `address` with the operand and answers what it was:
  /// atom<RedOp::inc>(counter, 3, acq_rel_gpu) counts 0, 1, 2, 3, 0. The operand's kind is that of the memory: U32,
  /// S32, U64, F32, F16x2, BF16x2. Without an order it is relaxed. PTX ISA "atom".
  template <RedOp op, class Address, class Operand>
  kind_of<Operand> atom(const Address& address, const Operand& operand, const AtomOrder& order = {}, Here at = {}) {
    using V = kind_of<Operand>;
    require_kinds<op, V, Operand>();
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
  /// Where the memory holds `expected`, it becomes `wanted`; answers what it was. PTX ISA "atom.cas".
  template <class Address, class Operand>
  kind_of<Operand> atom_cas(const Address& address, const Operand& expected,
                            const std::type_identity_t<OperandOf<kind_of<Operand>>>& wanted,
                            const AtomOrder& order = {}, Here at = {}) {
    using V = kind_of<Operand>;
    require_kinds<RedOp::exch, V, Operand>();
    return {*rec_, compare_and_swap(V::scalar, order, place(address, at), OperandOf<V>(expected, at).input(),
                                    wanted.input(), at)};
  }
  /// Combines without an answer, which costs less: red<RedOp::add>(sum, x). PTX ISA "red".
  template <RedOp op, class Address, class Operand>
  void red(const Address& address, const Operand& operand, const StoreOrder& order = {}, Here at = {}) {
    using V = kind_of<Operand>;
    static_assert(op != RedOp::exch, "red combines; st stores");
    require_kinds<op, V, Operand>();
    red({op, V::scalar}, order, place(address, at), OperandOf<V>(operand, at).input(), at);
  }
  /// The same with 8 or 16 bytes that follow one another in global memory, at a multiple of as much: f32, f16 or bf16.
  template <RedOp op, class T, int N, LdState s>
  void red(const U64& address, const Registers<T, N, s>& values, const StoreOrder& order = {}, Here at = {}) {
    rules::require<rules::step(s, LdEvent::read).verdict>();
    static_assert(op == RedOp::add && (T::bits == 16 || T::scalar == ScalarType::f32) &&
                      (Registers<T, N, s>::count == 2 || Registers<T, N, s>::count == 4),
                  "vectors of floats are added: two or four registers");
    add_vector(T::scalar, order, address, values.operands(at), at);
  }

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
  template <RedOp op, class V, class Operand>
  static void require_kinds() {
    if constexpr (!combines(op, V::scalar)) (void)rules::refuse<rules::Rule::value_kind, Operand>{};
  }
  ir::Operand atom(Combination, const AtomOrder& order, const Place& at_address, const Input& operand, Here at);
  ir::Operand compare_and_swap(ScalarType type, const AtomOrder& order, const Place& at_address, const Input& expected,
                               const Input& wanted, Here at);
  void red(Combination, const StoreOrder& order, const Place& at_address, const Input& operand, Here at);
  void add_vector(ScalarType type, const StoreOrder& order, const U64& address, const std::vector<ir::Operand>& values,
                  Here at);
};

}  // namespace kiln::dsl

// Stores that complete later: to another CTA of the cluster, where they count on an mbarrier, and to every replica
// that a multimem address stands for. PTX ISA "st.async", "multimem.st.async", "multimem.red.async".
#pragma once

#include <array>

#include "dsl/cluster.hpp"

namespace kiln::dsl {

/// Whether something is a value of 32 or 64 bits, which these stores take.
template <class X>
concept is_stored_later = HasKind<X> &&(isa::bits(kind_of<X>::scalar) == 32 || isa::bits(kind_of<X>::scalar) == 64);
/// Whether multimem.red.async adds values of a type.
constexpr bool adds_to_replicas(ScalarType t) {
  return t == ScalarType::u32 || t == ScalarType::s32 || t == ScalarType::u64;
}

/// A scope whose threads store so.
class AsyncStores : public ClusterMember {
 public:
  using ClusterMember::ClusterMember;

  /// One value to another CTA's shared memory; its bytes count on `full`, which lies there too.
  template <class X>
  requires(is_stored_later<X>) void st_async(const ClusterAddress& to, const X& value, const RemoteMbarrier& full,
                                             Here at = {}) {
    using V = kind_of<X>;
    store_async(V::scalar, to, OperandOf<V>(value, at).input(), full, at);
  }
  /// Two or four words in a row, at a multiple of their size.
  void st_async_v2(const ClusterAddress& to, const std::array<U32, 2>& values, const RemoteMbarrier& full,
                   Here at = {});
  void st_async_v4(const ClusterAddress& to, const std::array<U32, 4>& values, const RemoteMbarrier& full,
                   Here at = {});
  /// 16 bytes in one register of 128 bits, the lower half first, at a multiple of 16.
  void st_async_b128(const ClusterAddress& to, const std::array<U64, 2>& halves, const RemoteMbarrier& full,
                     Here at = {});

  /// One value to each replica, released to the GPU or to the system: multimem_st_async(address, x, release_gpu).
  template <class X, isa::Scope scope>
  requires(is_stored_later<X>) void multimem_st_async(const U64& to, const X& value,
                                                      Order<isa::Semantics::release, scope>, Here at = {}) {
    static_assert(scope == isa::Scope::gpu || scope == isa::Scope::sys, "the order is release_gpu or release_sys");
    using V = kind_of<X>;
    replicate("multimem.st.async.release", scope, "", V::scalar, to, OperandOf<V>(value, at).input(), at);
  }
  /// Adds to each replica: U32, S32 and U64.
  template <class X, isa::Scope scope>
  requires(HasKind<X>&& adds_to_replicas(kind_of<X>::scalar)) void multimem_red_async_add(
      const U64& to, const X& value, Order<isa::Semantics::release, scope>, Here at = {}) {
    static_assert(scope == isa::Scope::gpu || scope == isa::Scope::sys, "the order is release_gpu or release_sys");
    using V = kind_of<X>;
    replicate("multimem.red.async.release", scope, "add", V::scalar, to, OperandOf<V>(value, at).input(), at);
  }

 private:
  void store_async(ScalarType type, const ClusterAddress& to, const Input& value, const RemoteMbarrier& full, Here at);
  void store_async(std::string_view type, const ClusterAddress& to, ir::Operand value, const RemoteMbarrier& full,
                   Here at);
  void replicate(std::string_view opcode, isa::Scope scope, std::string_view operation, ScalarType type, const U64& to,
                 const Input& value, Here at);
};

}  // namespace kiln::dsl

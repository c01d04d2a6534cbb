// How CTAs communicate through global memory: atomic operations, and loads and stores with an order, of 32-bit
// words. PTX ISA "atom", "ld", "st".
#pragma once

#include "dsl/cluster.hpp"
#include "dsl/types.hpp"

namespace kiln::dsl {

using AtomOrder = OrderOf<rules::Ordered::atomic>;
using LoadOrder = OrderOf<rules::Ordered::load>;
using StoreOrder = OrderOf<rules::Ordered::store>;

class Atomics : public ClusterMember {
 public:
  using ClusterMember::ClusterMember;

  /// Combines the word at `address` with the operand and answers what it was: atom<RedOp::inc>(counter, 3, acq_rel_gpu)
  /// counts 0, 1, 2, 3, 0. Without an order it is relaxed.
  template <RedOp op>
  U32 atom(const U64& address, OperandOf<U32> operand, const AtomOrder& order = {}, Here at = {}) {
    static_assert(op != RedOp::none, "atom says how it combines");
    return atom(op, address, operand, order, at);
  }
  /// A word that others may write meanwhile: ld_global(flag, acquire_gpu).
  U32 ld_global(const U64& address, const LoadOrder& order, Here at = {});
  /// A word that is not written while the kernel runs.
  U32 ld_global(const U64& address, Here at = {});
  void st_global(const U64& address, OperandOf<U32> value, const StoreOrder& order, Here at = {});

 private:
  U32 atom(RedOp op, const U64& address, const OperandOf<U32>& operand, const AtomOrder& order, Here at);
};

}  // namespace kiln::dsl

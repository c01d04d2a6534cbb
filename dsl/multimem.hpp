// Bulk copies to several GPUs at once, through an address that stands for memory of all of them. PTX ISA
// "multimem.cp.async.bulk", "multimem.cp.reduce.async.bulk".
#pragma once

#include "dsl/bulk.hpp"

namespace kiln::dsl {

/// A thread that copies to replicas. The copies join a bulk group, as stores do.
class MultimemCopies : public BulkCopies {
 public:
  using BulkCopies::BulkCopies;

  /// Shared memory to each replica; `to` is a multimem address.
  void multimem_cp_async_bulk(const U64& to, const U32& from, OperandOf<U32> bytes, const Extras<CpMask>& extras = {},
                              Here at = {});
  /// Combines an array of T with what is in each replica. f16 and bf16 sums keep subnormals.
  template <RedOp op, class T>
  void multimem_cp_reduce_async_bulk(const U64& to, const U32& from, OperandOf<U32> bytes, Here at = {}) {
    rules::require<rules::bulk_reduction(op, T::scalar, isa::Space::global)>();
    reduce_replicas(op, T::scalar, to, from, bytes, at);
  }

 private:
  void reduce_replicas(RedOp op, ScalarType type, const U64& to, const U32& from, const OperandOf<U32>& bytes, Here at);
};

}  // namespace kiln::dsl

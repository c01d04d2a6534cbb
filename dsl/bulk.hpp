// Asynchronous bulk copies without tensor maps, as one thread issues them, and the groups in which stores complete.
// PTX ISA "Data Movement and Conversion Instructions: Bulk copy".
#pragma once

#include "dsl/scope.hpp"
#include "ptx/rules/tma.hpp"

namespace kiln::dsl {

/// What a load may carry: to shared::cluster, and to shared::cta, which has no other CTA to copy to.
template <isa::Space to>
using BulkLoadExtras = std::conditional_t<to == isa::Space::shared_cta, Extras<isa::Report, CacheHint>,
                                          Extras<isa::Report, Multicast, CacheHint>>;

/// Bytes from here to there; sizes and addresses are multiples of 16.
class BulkCopies : public Scope {
 public:
  using Scope::Scope;

  // PTX ISA "cp.async.bulk". Loads and copies between CTAs count their bytes on an mbarrier, stores join a bulk group.
  /// Global to shared memory.
  template <isa::Space destination = isa::Space::shared_cluster>
  void cp_async_bulk(const U32& to, const U64& from, OperandOf<U32> bytes, const AnyMbarrier& full,
                     const BulkLoadExtras<destination>& extras = {}, Here at = {}) {
    static_assert(destination == isa::Space::shared_cta || destination == isa::Space::shared_cluster,
                  "a load goes to shared_cta or shared_cluster");
    bulk_load(destination, to, from, bytes, full, extras, at);
  }
  /// Global memory to shared::cta, of which `before` and `after` bytes at the ends, up to 15, may lie outside of what
  /// is allocated: what arrives in their places is not defined. PTX ISA "cp.async.bulk", .ignore_oob.
  void cp_async_bulk_ignore_oob(const U32& to, const U64& from, OperandOf<U32> bytes, OperandOf<U32> before,
                                OperandOf<U32> after, const Mbarrier& full, const Extras<CacheHint>& extras = {},
                                Here at = {});
  /// Shared to global memory.
  void cp_async_bulk(const U64& to, const U32& from, OperandOf<U32> bytes, const Extras<CacheHint, CpMask>& extras = {},
                     Here at = {});
  /// To another CTA's shared memory; `full` lies there too.
  void cp_async_bulk(const ClusterAddress& to, const U32& from, OperandOf<U32> bytes, const RemoteMbarrier& full,
                     Here at = {});

  // Here only to explain: other arguments.
  KILN_OTHERWISE(arguments, "cp_async_bulk(shared, global, bytes, mbarrier) or cp_async_bulk(global, shared, bytes): "
                            "a U32 "
                            "(tile.address), a U64 (pointer.at(index)) [dsl-arguments]")
  void cp_async_bulk(KILN_WHATEVER);

  /// PTX ISA "cp.reduce.async.bulk": combines an array of T with what is there. f16 and bf16 sums keep subnormals.
  template <RedOp op, class T>
  void cp_reduce_async_bulk(const U64& to, const U32& from, OperandOf<U32> bytes, const Extras<CacheHint>& extras = {},
                            Here at = {}) {
    rules::require<rules::bulk_reduction(op, T::scalar, isa::Space::global)>();
    bulk_reduce(op, T::scalar, to, from, bytes, extras, at);
  }
  /// The same in the shared memory of another CTA.
  template <RedOp op, class T>
  void cp_reduce_async_bulk(const ClusterAddress& to, const U32& from, OperandOf<U32> bytes, const RemoteMbarrier& full,
                            Here at = {}) {
    rules::require<rules::bulk_reduction(op, T::scalar, isa::Space::shared_cluster)>();
    bulk_reduce(op, T::scalar, to, from, bytes, full, at);
  }

  /// Brings global memory into L2. PTX ISA "cp.async.bulk.prefetch".
  void cp_async_bulk_prefetch_L2(const U64& from, OperandOf<U32> bytes, const Extras<CacheHint>& extras = {},
                                 Here at = {});

  /// Lowers what lies in L2 from evict_last to evict_normal, in the next bulk group; of sm_107. PTX ISA
  /// "applypriority.async.bulk".
  void applypriority_async_bulk_L2_evict_normal(const U64& at_address, OperandOf<U32> bytes, Here at = {});

  /// Closes a group of this thread's stores; waits until at most `pending` groups are not complete, or still read their
  /// source. PTX ISA "cp.async.bulk.commit_group", "cp.async.bulk.wait_group".
  void cp_async_bulk_commit_group(Here at = {});
  void cp_async_bulk_wait_group(int pending, Here at = {});
  void cp_async_bulk_wait_group_read(int pending, Here at = {});
  /// The same, where what is waited for is ordered for the asynchronous proxy alone: later copies, and no loads or
  /// stores. PTX ISA "cp.async.bulk.wait_group".
  void cp_async_bulk_wait_group_sync_restrict_proxy_async(int pending, Here at = {});

 protected:
  // `mnemonic` with the extras' modifiers; [to], [from], size, [full], what the extras bring.
  void bulk(std::string mnemonic, const Value& to, const Value& from, const OperandOf<U32>& bytes, const U32* full,
            const ExtraList& extras, Here at);

 private:
  void bulk_load(isa::Space destination, const U32& to, const U64& from, const OperandOf<U32>& bytes,
                 const AnyMbarrier& full, const ExtraList& extras, Here at);
  void bulk_reduce(RedOp op, ScalarType type, const U64& to, const U32& from, const OperandOf<U32>& bytes,
                   const ExtraList& extras, Here at);
  void bulk_reduce(RedOp op, ScalarType type, const ClusterAddress& to, const U32& from, const OperandOf<U32>& bytes,
                   const RemoteMbarrier& full, Here at);
};

// ".add.noftz.f16": how a bulk reduction combines.
std::string bulk_combination(RedOp op, ScalarType type);

}  // namespace kiln::dsl

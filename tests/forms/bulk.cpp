// cp.async.bulk in all directions, cp.reduce.async.bulk, and bulk prefetches.
#include "tests/forms/examples.hpp"

namespace kiln::forms {
namespace {

Kernel copy(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const U64 data = k.param<Pointer<u8>>("data").address();
  const U32 here = k.shared<Bytes>().address, x = k.ctaid.x;
  const Mbarrier full = k.mbarrier("full");
  return in_thread(k, [&](Thread t) {
    t.cp_async_bulk(here, data, 64, full);
    t.cp_async_bulk(here, data, x * 16, full, {L2_cache_hint(widen(x)), multicast_cluster(3)});
    t.cp_async_bulk<shared_cta>(here, data, 64, full);
    t.cp_async_bulk<shared_cta>(here, data, 64, full, L2_cache_hint(widen(x)));
    t.cp_async_bulk(t.mapa(here, 1), here, 64, t.mapa(full, 1));
    t.cp_async_bulk(data, here, 64);
    t.cp_async_bulk(data, here, 64, L2_cache_hint(widen(x)));
    t.cp_async_bulk_commit_group();
    t.cp_async_bulk_wait_group_read(0);
    t.cp_async_bulk_prefetch_L2(data, 64);
    t.cp_async_bulk_prefetch_L2(data, x * 16, L2_cache_hint(widen(x)));
    t.arrive(full);
  });
}

Kernel wide_mask(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const U64 data = k.param<Pointer<u8>>("data").address();
  const U32 here = k.shared<Bytes>().address, x = k.ctaid.x;
  const Mbarrier full = k.mbarrier("full");
  return in_thread(k, [&](Thread t) {
    t.cp_async_bulk(here, data, 64, full, multicast_cluster_32b(3));
    t.cp_async_bulk(here, data, 64, full, {L2_cache_hint(widen(x)), multicast_cluster_32b(x)});
    t.arrive(full);
  });
}

Kernel masked(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const U64 data = k.param<Pointer<u8>>("data").address();
  const U32 here = k.shared<Bytes>().address;
  return in_thread(k, [&](Thread t) {
    t.cp_async_bulk(data, here, 64, cp_mask(0x00ff));
    t.cp_async_bulk(data, here, 64, {cp_mask(k.ctaid.x), L2_cache_hint(evict_first)});
    t.cp_async_bulk_commit_group();
    t.cp_async_bulk_wait_group(0);
  });
}

// Of sources whose ends lie outside of what is allocated.
Kernel ignore_oob(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const U64 data = k.param<Pointer<u8>>("data").address();
  const U32 here = k.shared<Bytes>().address, x = k.ctaid.x;
  const Mbarrier full = k.mbarrier("full");
  return in_thread(k, [&](Thread t) {
    t.cp_async_bulk_ignore_oob(here, data, 64, 3, 0, full);
    t.cp_async_bulk_ignore_oob(here, data, x * 16, x & 15, 15, full, L2_cache_hint(evict_first));
    t.arrive(full);
  });
}

Kernel priority(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const U64 data = k.param<Pointer<u8>>("data").address();
  return in_thread(k, [&](Thread t) {
    t.applypriority_async_bulk_L2_evict_normal(data, 4096);
    t.cp_async_bulk_commit_group();
    t.cp_async_bulk_wait_group(0);
  });
}

// To every replica behind an address.
Kernel multimem(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const U64 data = k.param<Pointer<u8>>("data").address();
  const U32 here = k.shared<Bytes>().address;
  return in_thread(k, [&](Thread t) {
    t.multimem_cp_async_bulk(data, here, 64);
    t.multimem_cp_reduce_async_bulk<RedOp::add, f16>(data, here, 64);
    t.multimem_cp_reduce_async_bulk<RedOp::max, s32>(data, here, 64);
    t.multimem_cp_reduce_async_bulk<RedOp::xor_, b64>(data, here, 64);
    t.cp_async_bulk_commit_group();
    t.cp_async_bulk_wait_group(0);
  });
}

Kernel multimem_masked(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const U64 data = k.param<Pointer<u8>>("data").address();
  const U32 here = k.shared<Bytes>().address;
  return in_thread(k, [&](Thread t) {
    t.multimem_cp_async_bulk(data, here, 64, cp_mask(k.ctaid.x));
    t.cp_async_bulk_commit_group();
    t.cp_async_bulk_wait_group(0);
  });
}

// Each type with an operation that few others share, and each operation once.
Kernel reduce(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const U64 data = k.param<Pointer<u8>>("data").address();
  const U32 here = k.shared<Bytes>().address;
  const Mbarrier full = k.mbarrier("full");
  return in_thread(k, [&](Thread t) {
    t.cp_reduce_async_bulk<RedOp::add, f16>(data, here, 64);
    t.cp_reduce_async_bulk<RedOp::add, bf16>(data, here, 64);
    t.cp_reduce_async_bulk<RedOp::add, f32>(data, here, 64);
    t.cp_reduce_async_bulk<RedOp::add, f64>(data, here, 64);
    t.cp_reduce_async_bulk<RedOp::add, u64>(data, here, 64);
    t.cp_reduce_async_bulk<RedOp::min, s64>(data, here, 64);
    t.cp_reduce_async_bulk<RedOp::max, bf16>(data, here, 64, L2_cache_hint(evict_first));
    t.cp_reduce_async_bulk<RedOp::inc, u32>(data, here, 64);
    t.cp_reduce_async_bulk<RedOp::dec, u32>(data, here, 64);
    t.cp_reduce_async_bulk<RedOp::and_, b32>(data, here, 64);
    t.cp_reduce_async_bulk<RedOp::or_, b64>(data, here, 64);
    t.cp_async_bulk_commit_group();
    t.cp_async_bulk_wait_group(0);
    const ClusterAddress there = t.mapa(here, 1);
    t.cp_reduce_async_bulk<RedOp::add, u64>(there, here, 64, t.mapa(full, 1));
    t.cp_reduce_async_bulk<RedOp::max, s32>(there, here, 64, t.mapa(full, 1));
    t.cp_reduce_async_bulk<RedOp::xor_, b32>(there, here, 64, t.mapa(full, 1));
    t.arrive(full);
  });
}

}  // namespace

std::span<const Example> bulk() {
  static const std::vector<Example> examples{
      {"bulk_copy", bulk_targets, copy},
      {"bulk_masked", tcgen05_targets, masked},
      {"bulk_multicast_32b", sm_107_targets, wide_mask},
      {"bulk_reduce", bulk_targets, reduce},
      {"bulk_ignore_oob", bulk_targets, ignore_oob},
      {"bulk_priority", sm_107_targets, priority},
      {"bulk_multimem", bulk_targets, multimem},
      {"bulk_multimem_masked", tcgen05_targets, multimem_masked},
  };
  return examples;
}

}  // namespace kiln::forms

// cp.async.bulk.tensor in every mode and with every extra, its reductions and prefetches.
#include "tests/forms/examples.hpp"

namespace kiln::forms {
namespace {

template <int rank>
using Map = TensorMapHandle<bf16, rank>;

Kernel load_tile(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const auto A = k.param<Map<1>>("A");
  const auto B = k.param<Map<2>>("B");
  const auto C = k.param<Map<3>>("C");
  const auto D = k.param<Map<4>>("D");
  const auto E = k.param<Map<5>>("E");
  const U32 to = k.shared<Bytes>().address, x = k.ctaid.x;
  const Mbarrier full = k.mbarrier("full");
  return in_thread(k, [&](Thread t) {
    t.cp_async_bulk_tensor(to, A.at(x), full);
    t.cp_async_bulk_tensor(to, B.at(x, 0), full, multicast_cluster(3));
    t.cp_async_bulk_tensor(to, C.at(x, 0, 1), full, {L2_cache_hint(evict_last), multicast_cluster(x)});
    t.cp_async_bulk_tensor<shared_cta>(to, D.at(x, 0, 1, 2), full);
    t.cp_async_bulk_tensor<shared_cta>(to, E.at(x, 0, 1, 2, x * 4), full, L2_cache_hint(widen(x)));
    t.arrive(full);
  });
}

Kernel load_wide(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const auto B = k.param<Map<2>>("B");
  const U32 to = k.shared<Bytes>().address, x = k.ctaid.x;
  const Mbarrier full = k.mbarrier("full");
  return in_thread(k, [&](Thread t) {
    t.cp_async_bulk_tensor(to, B.at(x, 0), full, {L2_cache_hint(evict_last), multicast_cluster_32b(x)});
    t.arrive(full);
  });
}

// Boxes of tensors that begin elsewhere than their map says.
Kernel override_address(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const auto B = k.param<Map<2>>("B");
  const U64 data = k.param<Pointer<u8>>("data").address();
  const U32 here = k.shared<Bytes>().address, x = k.ctaid.x;
  const Mbarrier full = k.mbarrier("full");
  return in_thread(k, [&](Thread t) {
    t.cp_async_bulk_tensor(here, B.at(x, 0).override_global_address(data), full, L2_cache_hint(evict_last));
    t.arrive(full);
    t.cp_async_bulk_tensor(B.at(x, 0).override_global_address(data), here);
    t.cp_reduce_async_bulk_tensor<RedOp::add>(B.at(x, 0).override_global_address(data), here);
    t.cp_async_bulk_commit_group();
    t.cp_async_bulk_wait_group(0);
    t.cp_async_bulk_prefetch_tensor_L2(B.at(x, 0).override_global_address(data));
  });
}

Kernel load_im2col(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const auto C = k.param<Map<3>>("C");
  const auto D = k.param<Map<4>>("D");
  const auto E = k.param<Map<5>>("E");
  const U32 to = k.shared<Bytes>().address, x = k.ctaid.x;
  const Mbarrier full = k.mbarrier("full");
  return in_thread(k, [&](Thread t) {
    t.cp_async_bulk_tensor(to, C.im2col({x, 0, 0}, {x}), full);
    t.cp_async_bulk_tensor(to, D.im2col({x, 0, 0, 0}, {1, x}), full, multicast_cluster(3));
    t.cp_async_bulk_tensor<shared_cta>(to, E.im2col({x, 0, 0, 0, 0}, {0, 1, 2}), full, L2_cache_hint(widen(x)));
    t.cp_async_bulk_prefetch_tensor_L2(C.im2col({x, 0, 0}, {1}));
    t.arrive(full);
  });
}

// What sm_90a lacks.
Kernel load_blackwell(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const auto B = k.param<Map<2>>("B");
  const auto C = k.param<Map<3>>("C");
  const auto E = k.param<Map<5>>("E");
  const U32 to = k.shared<Bytes>().address, x = k.ctaid.x;
  const Mbarrier full = k.mbarrier("full");
  return in_thread(k, [&](Thread t) {
    t.cp_async_bulk_tensor(to, B.gather4(x, {0, 1, 2, x}), full);
    t.cp_async_bulk_tensor<shared_cta>(to, B.gather4(x, {0, 1, 2, x}), full, cta_group_1);
    t.cp_async_bulk_tensor(to, C.im2col_w({x, 0, 0}, {1, x}), full);
    t.cp_async_bulk_tensor(to, E.im2col_w_128({x, 0, 0, 0, 0}, {1, x}), full);
    t.cp_async_bulk_tensor(to, B.at(x, 0), t.mapa(full, 0),
                           {cta_group_2, multicast_cluster(3), L2_cache_hint(widen(x))});
    t.cp_async_bulk_prefetch_tensor_L2(B.gather4(x, {0, 1, 2, x}));
    t.cp_async_bulk_prefetch_tensor_L2(C.im2col_w({x, 0, 0}, {1, x}));
    t.cp_async_bulk_prefetch_tensor_L2(C.im2col_w_128({x, 0, 0}, {1, x}), L2_cache_hint(widen(x)));
    t.arrive(full);
  });
}

Kernel store(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const auto A = k.param<Map<1>>("A");
  const auto C = k.param<Map<3>>("C");
  const U32 from = k.shared<Bytes>().address, x = k.ctaid.x;
  return in_thread(k, [&](Thread t) {
    t.cp_async_bulk_tensor(A.at(x), from);
    t.cp_async_bulk_tensor(C.at(x, 0, 0), from, L2_cache_hint(widen(x)));
    t.cp_async_bulk_tensor(C.im2col_no_offs({x, 0, 0}), from);
    t.cp_async_bulk_commit_group();
    t.cp_async_bulk_wait_group(0);
  });
}

Kernel scatter(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const auto B = k.param<Map<2>>("B");
  const U32 from = k.shared<Bytes>().address, x = k.ctaid.x;
  return in_thread(k, [&](Thread t) {
    t.cp_async_bulk_tensor(B.scatter4(x, {0, 1, 2, x}), from);
    t.cp_async_bulk_commit_group();
    t.cp_async_bulk_wait_group_read(0);
  });
}

Kernel reduce(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const auto B = k.param<Map<2>>("B");
  const auto C = k.param<Map<3>>("C");
  const U32 from = k.shared<Bytes>().address, x = k.ctaid.x;
  return in_thread(k, [&](Thread t) {
    t.cp_reduce_async_bulk_tensor<RedOp::add>(B.at(x, 0), from);
    t.cp_reduce_async_bulk_tensor<RedOp::min>(B.at(x, 0), from);
    t.cp_reduce_async_bulk_tensor<RedOp::max>(B.at(x, 0), from);
    t.cp_reduce_async_bulk_tensor<RedOp::inc>(B.at(x, 0), from);
    t.cp_reduce_async_bulk_tensor<RedOp::dec>(B.at(x, 0), from);
    t.cp_reduce_async_bulk_tensor<RedOp::and_>(B.at(x, 0), from);
    t.cp_reduce_async_bulk_tensor<RedOp::or_>(B.at(x, 0), from);
    t.cp_reduce_async_bulk_tensor<RedOp::xor_>(B.at(x, 0), from, L2_cache_hint(widen(x)));
    t.cp_reduce_async_bulk_tensor<RedOp::add>(C.im2col_no_offs({x, 0, 0}), from);
    t.cp_async_bulk_commit_group();
    t.cp_async_bulk_wait_group(0);
  });
}

Kernel prefetch(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const auto B = k.param<Map<2>>("B");
  const U32 x = k.ctaid.x;
  return in_thread(k, [&](Thread t) {
    t.cp_async_bulk_prefetch_tensor_L2(B.at(x, 0));
    t.cp_async_bulk_prefetch_tensor_L2(B.at(x, 0), L2_cache_hint(widen(x)));
  });
}

// Tiles carry the same extras as bare boxes.
Kernel tiles(std::string_view name, Target target) {
  using Tile = SharedTile<bf16, 64, 64, K_major, swizzle_128B>;
  KernelBuilder k(std::string(name), target, warps<1>);
  const auto A = k.param<TensorMap<Tile>>("A");
  const auto tile = k.shared<Tile>();
  const Mbarrier full = k.mbarrier("full");
  return in_thread(k, [&](Thread t) {
    t.expect_tx(full, Tile::transaction_bytes);
    t.tma_load(tile, A.at(0, 0), full, {multicast_cluster(1), L2_cache_hint(0x12F0000000000000)});
    t.wait(full, Phase{0});
    t.tma_store(A.at(64, 0), tile, L2_cache_hint(0x12F0000000000000));
    t.commit_stores();
    t.wait_stores_read(0);
  });
}

}  // namespace

std::span<const Example> tma() {
  static const std::vector<Example> examples{
      {"tma_load", bulk_targets, load_tile},
      {"tma_load_im2col", bulk_targets, load_im2col},
      {"tma_load_blackwell", tcgen05_targets, load_blackwell},
      {"tma_load_multicast_32b", sm_107_targets, load_wide},
      {"tma_override", sm_107_targets, override_address},
      {"tma_store", bulk_targets, store},
      {"tma_scatter", tcgen05_targets, scatter},
      {"tma_reduce", bulk_targets, reduce},
      {"tma_prefetch", bulk_targets, prefetch},
      {"tma_tiles", bulk_targets, tiles},
  };
  return examples;
}

}  // namespace kiln::forms

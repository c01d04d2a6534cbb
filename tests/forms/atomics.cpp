// Global memory that CTAs talk through: atom, and loads and stores with an order.
#include "tests/forms/examples.hpp"

namespace kiln::forms {
namespace {

Kernel atom(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const U64 word = k.param<Pointer<u32>>("word").address();
  const U32 n = k.ctaid.x;
  return in_thread(k, [&](Thread t) {
    t.atom<RedOp::add>(word, n);
    t.atom<RedOp::inc>(word, 3, acq_rel_gpu);
    t.atom<RedOp::dec>(word, n, relaxed_cta);
    t.atom<RedOp::min>(word, n, acquire_cluster);
    t.atom<RedOp::max>(word, n, release_sys);
    t.atom<RedOp::and_>(word, n);
    t.atom<RedOp::or_>(word, n, release_gpu);
    t.atom<RedOp::xor_>(word, 1);
  });
}

Kernel words(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const U64 word = k.param<Pointer<u32>>("word").address();
  return in_thread(k, [&](Thread t) {
    const U32 flag = t.ld_global(word, acquire_gpu);
    t.st_global(word, flag, release_gpu);
    t.st_global(word, t.ld_global(word, relaxed_sys), relaxed_cluster);
    t.st_global(word, t.ld_global(word), relaxed_cta);
    t.wait_while(word, flag, 1u << 31, acquire_gpu);
  });
}

// To another CTA of the cluster.
Kernel store_async(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const U32 here = k.shared<Bytes>().address, x = k.ctaid.x;
  const Mbarrier full = k.mbarrier("full");
  return in_thread(k, [&](Thread t) {
    const ClusterAddress there = t.mapa(here, 1);
    const RemoteMbarrier its = t.mapa(full, 1);
    t.st_async(there, x, its);
    t.st_async(there, bit_cast<F32>(x), its);
    t.st_async(there, widen(x), its);
    t.st_async_v2(there, {x, x + 1}, its);
    t.st_async_v4(there, {x, x + 1, x + 2, x + 3}, its);
    t.arrive(full);
  });
}

Kernel store_async_128(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const U32 here = k.shared<Bytes>().address, x = k.ctaid.x;
  const Mbarrier full = k.mbarrier("full");
  return in_thread(k, [&](Thread t) {
    t.st_async_b128(t.mapa(here, 1), {widen(x), widen(x + 1)}, t.mapa(full, 1));
    t.arrive(full);
  });
}

// To every replica behind an address.
Kernel multimem_async(std::string_view name, Target target) {
  KernelBuilder k(std::string(name), target, warps<1>);
  const U64 data = k.param<Pointer<u8>>("data").address();
  const U32 x = k.ctaid.x;
  return in_thread(k, [&](Thread t) {
    t.multimem_st_async(data, x, release_gpu);
    t.multimem_st_async(data, widen(x), release_sys);
    t.multimem_red_async_add(data, x, release_sys);
    t.multimem_red_async_add(data, widen(x), release_gpu);
  });
}

}  // namespace

std::span<const Example> atomics() {
  static const std::vector<Example> examples{
      {"atom", bulk_targets, atom},
      {"ordered_words", bulk_targets, words},
      {"store_async", bulk_targets, store_async},
      {"store_async_128", bulk_targets, store_async_128},
      {"multimem_async", tcgen05_targets, multimem_async},
  };
  return examples;
}

}  // namespace kiln::forms

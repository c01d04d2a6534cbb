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
  });
}

}  // namespace

std::span<const Example> atomics() {
  static const std::vector<Example> examples{
      {"atom", bulk_targets, atom},
      {"ordered_words", bulk_targets, words},
  };
  return examples;
}

}  // namespace kiln::forms

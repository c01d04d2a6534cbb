// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

#ifdef BREAK
constexpr int M = 96;
#else
constexpr int M = 64;
#endif
using ATile = SharedTile<bf16, M, 64, K_major, swizzle_128B>;
using BTile = SharedTile<bf16, 64, 64, K_major, swizzle_128B>;
void body(Thread t, Tmem<f32, M, 64> d, Shared<ATile> a, Shared<BTile> b) {
  t.mma(d, a.k_slice(0), b.k_slice(0), accumulate(true));
}

// CHECK-DAG: M must be 64 or 128 for cta_group::1, 128 or 256 for cta_group::2; block-scaled 128 for one CTA, 128 or 256 for two, 256 alone when sparse; .ws 32, 64 or 128 [tcgen05-mma-m]
// CHECK-DAG: given<96>{{.*}}nearest<128>
// CHECK-DAG: tcgen05-mma-m.cpp:17:

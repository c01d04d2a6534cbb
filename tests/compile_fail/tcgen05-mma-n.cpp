// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

#ifdef BREAK
constexpr int N = 44;  // not a multiple of 8
#else
constexpr int N = 48;
#endif
using ATile = SharedTile<bf16, 128, 64, K_major, swizzle_128B>;
using BTile = SharedTile<bf16, N, 64, K_major, swizzle_128B>;
void body(Thread t, Tmem<f32, 128, N> d, Shared<ATile> a, Shared<BTile> b) {
  t.mma(d, a.k_slice(0), b.k_slice(0), accumulate(true));
}

// CHECK-DAG: N must be a multiple of the step for this kind and cta_group, and at most 256 [tcgen05-mma-n]
// CHECK-DAG: given<44>{{.*}}nearest<48>
// CHECK-DAG: tcgen05-mma-n.cpp:17:

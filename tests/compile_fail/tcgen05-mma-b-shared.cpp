// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

using ATile = SharedTile<bf16, 128, 64, K_major, swizzle_128B>;
#ifdef BREAK
using B = TmemSlice<bf16, 64>;
#else
using B = KSlice<SharedTile<bf16, 64, 64, K_major, swizzle_128B>>;
#endif
void body(Thread t, Tmem<f32, 128, 64> d, KSlice<ATile> a, B b) {
  t.mma(d, a, b, accumulate(true));
}

// CHECK-DAG: error: {{.*}}B comes from shared memory; tensor memory holds A, D, metadata and scales [tcgen05-mma-b-shared]
// CHECK-DAG: tcgen05-mma-b-shared.cpp:16:

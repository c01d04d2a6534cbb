// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

using ATile = SharedTile<e2m1, 128, 128, K_major, swizzle_64B>;
using BTile = SharedTile<e2m1, 64, 128, K_major, swizzle_64B>;
using Mma = tcgen05_mma<kind_mxf4, e2m1, e2m1, f32, 128, 64>;
void body(Thread t, Tmem<f32, 128, 64> d, KSlice<ATile> a, KSlice<BTile> b, U32 sf) {
#ifdef BREAK
  (void)sf;
  t.mma<Mma>(d, a, b, accumulate(true));
#else
  t.mma<Mma>(d, a, b, accumulate(true), scales(sf, sf));
#endif
}

// CHECK-DAG: error: {{.*}}a block-scaled MMA is given scales(...), a sparse one metadata(...), and no other MMA is [tcgen05-mma-extras]
// CHECK-DAG: tcgen05-mma-extras.cpp:15:

// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

// Four-bit elements of kind::f8f6f4 lie in bytes.
#ifdef BREAK
using T = e2m1;
#else
using T = unpacked<e2m1>;
#endif
using ATile = SharedTile<T, 128, 128, K_major, swizzle_none>;
using BTile = SharedTile<e4m3, 64, 128, K_major, swizzle_128B>;
using Mma = tcgen05_mma<kind_f8f6f4, e2m1, e4m3, f32, 128, 64>;
void body(Thread t, Tmem<f32, 128, 64> d, KSlice<ATile> a, KSlice<BTile> b) {
  t.mma<Mma>(d, a, b, accumulate(true));
}

// CHECK-DAG: error: {{.*}}elements lie in memory as the kind reads them: packed for kind::mxf4 and mxf4nvf4, one to a byte for the kinds that mix 8, 6 and 4 bits; use unpacked<T> [tcgen05-mma-container]
// CHECK-DAG: tcgen05-mma-container.cpp:19:

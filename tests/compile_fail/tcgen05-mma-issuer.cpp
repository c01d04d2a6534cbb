// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

using ATile = SharedTile<bf16, 128, 64, K_major, swizzle_128B>;
using BTile = SharedTile<bf16, 64, 64, K_major, swizzle_128B>;
void body(Warp w, Tmem<f32, 128, 64> d, Shared<ATile> a, Shared<BTile> b) {
#ifdef BREAK
  w.mma(d, a.k_slice(0), b.k_slice(0), accumulate(true));
#else
  w.elect([&](Thread t) { t.mma(d, a.k_slice(0), b.k_slice(0), accumulate(true)); });
#endif
}

// CHECK-DAG: error: {{.*}}one thread issues this: inside elect({{.*}}), or in a role of warp<i>.elect() [tcgen05-mma-issuer]
// CHECK-DAG: tcgen05-mma-issuer.cpp:13:

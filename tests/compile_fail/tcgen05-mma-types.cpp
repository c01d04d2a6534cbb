// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

#ifdef BREAK
using B = f16;  // A stays bf16
#else
using B = bf16;
#endif
using ATile = SharedTile<bf16, 128, 64, K_major, swizzle_128B>;
using BTile = SharedTile<B, 64, 64, K_major, swizzle_128B>;
void body(Thread t, Tmem<f32, 128, 64> d, Shared<ATile> a, Shared<BTile> b) {
  t.mma(d, a.k_slice(0), b.k_slice(0), accumulate(true));
}

// CHECK-DAG: error: {{.*}}A and B must have element types of the kind; kind::f16 takes two f16 or two bf16 [tcgen05-mma-types]
// CHECK-DAG: tcgen05-mma-types.cpp:17:

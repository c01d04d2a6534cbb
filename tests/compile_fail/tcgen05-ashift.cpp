// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

// The rows that move are those of A in tensor memory.
using ATile = SharedTile<bf16, 128, 64, K_major, swizzle_128B>;
using BTile = SharedTile<bf16, 64, 64, K_major, swizzle_128B>;
#ifdef BREAK
using A = KSlice<ATile>;
#else
using A = TmemSlice<bf16, 128>;
#endif
void body(Thread t, Tmem<f32, 128, 64> d, A a, KSlice<BTile> b) {
  t.mma(d, a, b, accumulate(true), ashift);
}

// CHECK-DAG: error: {{.*}}.ashift needs A in tensor memory and M of 128 or 256, without block scaling and without .ws [tcgen05-ashift]
// CHECK-DAG: tcgen05-ashift.cpp:18:

// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

using ATile = SharedTile<bf16, 128, 64, K_major, swizzle_128B>;
using BTile = SharedTile<bf16, 64, 64, K_major, swizzle_128B>;
#ifdef BREAK
constexpr int s = 16;
#else
constexpr int s = 15;
#endif
void body(Thread t, Tmem<f32, 128, 64> d, KSlice<ATile> a, KSlice<BTile> b) {
  t.mma(d, a, b, accumulate(true), scale_input_d<s>);
}

// CHECK-DAG: error: {{.*}}scale-input-d belongs to kind::f16 and kind::tf32 and must be in [0, 15] [tcgen05-scale-input-d]
// CHECK-DAG: tcgen05-scale-input-d.cpp:17:

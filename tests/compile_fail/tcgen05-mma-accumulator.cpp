// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

#ifdef BREAK
using D = f16;  // bf16 operands accumulate in f32 alone
#else
using D = f32;
#endif
using ATile = SharedTile<bf16, 128, 64, K_major, swizzle_128B>;
using BTile = SharedTile<bf16, 64, 64, K_major, swizzle_128B>;
void body(Thread t, Tmem<D, 128, 64> d, Shared<ATile> a, Shared<BTile> b) {
  t.mma(d, a.k_slice(0), b.k_slice(0), accumulate(true));
}

// CHECK-DAG: error: {{.*}}D must be f32; f16 operands of kind::f16 and kind::f8f6f4 also accumulate in f16, kind::i8 in s32 alone [tcgen05-mma-accumulator]
// CHECK-DAG: tcgen05-mma-accumulator.cpp:17:

// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

// With M = 32, B may shift by 16 columns.
using ATile = SharedTile<bf16, 32, 64, K_major, swizzle_128B>;
using BTile = SharedTile<bf16, 64, 64, K_major, swizzle_128B>;
using Mma = tcgen05_mma<kind_f16, bf16, bf16, f32, 32, 64, weight_stationary, max_shift<32>>;
#ifdef BREAK
constexpr int shift = 17;
#else
constexpr int shift = 16;
#endif
constexpr isa::ZeroMaskFields mask{.generate = true, .skip = 4, .use = 4, .shift = shift};
void body(Thread t, U32 d, KSlice<ATile> a, KSlice<BTile> b) {
  t.mma<Mma>(d, a, b, accumulate(true), zero_column_mask_of<mask>);
}

// CHECK-DAG: error: {{.*}}the zero-column mask must have zero reserved bits and shift B by no more than M and the instruction descriptor allow [tcgen05-zero-mask]
// CHECK-DAG: tcgen05-zero-mask.cpp:20:

// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

// Scaling elements that have no scales: f8f6f4 is not mxf8f6f4.
#ifdef BREAK
constexpr MmaKind kind = kind_f8f6f4;
#else
constexpr MmaKind kind = kind_mxf8f6f4;
#endif
using Mma = tcgen05_mma<kind, e4m3, e4m3, f32, 128, 64, block_scale<ue8m0>>;
using ATile = SharedTile<e4m3, 128, 128, K_major, swizzle_128B>;
using BTile = SharedTile<e4m3, 64, 128, K_major, swizzle_128B>;
void body(Thread t, Tmem<f32, 128, 64> d, KSlice<ATile> a, KSlice<BTile> b, U32 sf) {
  t.mma<Mma>(d, a, b, accumulate(true), scales(sf, sf));
}

// CHECK-DAG: error: {{.*}}kind::mxf8f6f4, mxf4 and mxf4nvf4 are block-scaled, and no other kind is [tcgen05-block-scale]
// CHECK-DAG: tcgen05-block-scale.cpp:19:

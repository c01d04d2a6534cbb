// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

// A descriptor has one bit for the scales of both operands.
using ATile = SharedTile<e2m1, 128, 128, K_major, swizzle_64B>;
using BTile = SharedTile<e2m1, 64, 128, K_major, swizzle_64B>;
#ifdef BREAK
using SFB_type = ue8m0;
#else
using SFB_type = ue4m3;
#endif
using Mma = tcgen05_mma<kind_mxf4nvf4, e2m1, e2m1, f32, 128, 64, block16, block_scale<ue4m3, SFB_type>>;
void body(Thread t, Tmem<f32, 128, 64> d, KSlice<ATile> a, KSlice<BTile> b, U32 sf) {
  t.mma<Mma>(d, a, b, accumulate(true), scales(sf, sf));
}

// CHECK-DAG: error: {{.*}}both operands' scales must have one type, and the kind must scale blocks of that many elements with it: ue8m0, or for mxf4nvf4 with blocks of 16 also ue4m3{{.*}} [tcgen05-scale-types]
// CHECK-DAG: tcgen05-scale-types.cpp:19:

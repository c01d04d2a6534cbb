// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

// mxf4 has two scales a row, in blocks of 32.
using ATile = SharedTile<e2m1, 128, 128, K_major, swizzle_64B>;
using BTile = SharedTile<e2m1, 64, 128, K_major, swizzle_64B>;
#ifdef BREAK
constexpr ScaleVector vector = scale_vec_4X;
#else
constexpr ScaleVector vector = scale_vec_2X;
#endif
using Mma = tcgen05_mma<kind_mxf4, e2m1, e2m1, f32, 128, 64, vector>;
void body(Thread t, Tmem<f32, 128, 64> d, KSlice<ATile> a, KSlice<BTile> b, U32 sf) {
  t.mma<Mma>(d, a, b, accumulate(true), scales(sf, sf));
}

// CHECK-DAG: error: {{.*}}the scale vector size must be one of the kind's: mxf8f6f4 1X, mxf4 2X, mxf4nvf4 2X or 4X, which it must write; block32 and block16 are their other names [tcgen05-scale-vector]
// CHECK-DAG: tcgen05-scale-vector.cpp:19:

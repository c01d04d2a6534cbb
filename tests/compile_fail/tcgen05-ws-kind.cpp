// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

using ATile = SharedTile<e4m3, 128, 128, K_major, swizzle_128B>;
using BTile = SharedTile<e4m3, 64, 128, K_major, swizzle_128B>;
#ifdef BREAK
constexpr MmaKind kind = kind_mxf8f6f4;
#else
constexpr MmaKind kind = kind_f8f6f4;
#endif
using Mma = tcgen05_mma<kind, e4m3, e4m3, f32, 128, 64, weight_stationary>;
void body(Thread t, U32 d, KSlice<ATile> a, KSlice<BTile> b) {
  t.mma<Mma>(d, a, b, accumulate(true));
}

// CHECK-DAG: error: {{.*}}tcgen05.mma.ws takes kind::f16, tf32, f8f6f4 and i8 [tcgen05-ws-kind]
// CHECK-DAG: tcgen05-ws-kind.cpp:18:

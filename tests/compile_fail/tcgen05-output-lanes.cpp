// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

using ATile = SharedTile<bf16, 128, 64, K_major, swizzle_128B>;
using BTile = SharedTile<bf16, 64, 64, K_major, swizzle_128B>;
void body(Thread t, Tmem<f32, 128, 64> d, KSlice<ATile> a, KSlice<BTile> b, U32 m) {
#ifdef BREAK
  const auto lanes = disable_output_lane(m, m, m, m, m, m, m, m);
#else
  const auto lanes = disable_output_lane(m, m, m, m);
#endif
  t.mma(d, a, b, accumulate(true), lanes);
}

// CHECK-DAG: error: {{.*}}disable-output-lane is four masks for cta_group::1 and eight for cta_group::2, on MMAs that are neither .ws nor block-scaled [tcgen05-output-lanes]
// CHECK-DAG: tcgen05-output-lanes.cpp:17:

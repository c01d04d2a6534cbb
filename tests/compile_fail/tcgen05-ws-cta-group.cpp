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
constexpr CtaGroup group = cta_group_2;
#else
constexpr CtaGroup group = cta_group_1;
#endif
using Mma = tcgen05_mma<kind_f16, bf16, bf16, f32, 128, 64, group, weight_stationary>;
void body(Thread t, U32 d, KSlice<ATile> a, KSlice<BTile> b) {
  t.mma<Mma>(d, a, b, accumulate(true));
}

// CHECK-DAG: error: {{.*}}tcgen05.mma.ws is for cta_group::1 [tcgen05-ws-cta-group]
// CHECK-DAG: tcgen05-ws-cta-group.cpp:18:

// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

// 96 elements of K make no pair of M = 128.
#ifdef BREAK
constexpr int M = 128;
#else
constexpr int M = 256;
#endif
using Mma = tcgen05_mma<kind_mxf4, e2m1, e2m1, f32, M, 64, cta_group_2, K_96>;
void body(Thread t, U32 d, SharedDescriptor a, SharedDescriptor b, U32 sf) {
  t.mma<Mma>(d, a, b, accumulate(true), scales(sf, sf));
}

// CHECK-DAG: error: {{.*}}K = 96 is for sm_103a: dense kind::mxf4 and mxf4nvf4 with M of 128 for cta_group::1, 256 for cta_group::2 [tcgen05-mma-k96]
// CHECK-DAG: tcgen05-mma-k96.cpp:17:

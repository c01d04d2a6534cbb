// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

// Operands of 16 bits have one K.
#ifdef BREAK
using Mma = tcgen05_mma<kind_f16, f16, f16, f32, 128, 64, wide_K>;
#else
using Mma = tcgen05_mma<kind_f8f6f4, e4m3, e4m3, f32, 128, 64, wide_K>;
static_assert(Mma::K == 64);
#endif
void body(Thread t, U32 d, SharedDescriptor a, SharedDescriptor b) {
  t.mma<Mma>(d, a, b, accumulate(true));
}

// CHECK-DAG: error: {{.*}}K of 64 bytes is for sm_107: dense kind::f8f6f4, mxf4 and mxf4nvf4, and kind::mxf8f6f4 [tcgen05-mma-wide]
// CHECK-DAG: tcgen05-mma-wide.cpp:17:

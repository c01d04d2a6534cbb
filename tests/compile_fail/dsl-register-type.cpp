// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

void body(Warpgroup g, TmemA<bf16, 128, 64> to, Registers<f32, 32> values) {
#ifdef BREAK
  g.store(to, values);
#else
  g.store(to, cvt<bf16>(values));
#endif
}

// CHECK: dsl-register-type.cpp:11:{{.*}}error: {{.*}}A in tensor memory holds other elements than the registers{{.*}}[dsl-register-type]

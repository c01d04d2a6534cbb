// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

void body(Thread t, Warp w, U32 slot) {
#ifdef BREAK
  t.tcgen05_alloc<64>(slot);
#else
  w.tcgen05_alloc<64>(slot);
#endif
  (void)t, (void)w, (void)slot;
}

// CHECK-DAG: error: {{.*}}a whole warp executes this: a role of warp<i> or warpgroup<i> [dsl-warp-issuer]
// CHECK-DAG: dsl-warp-issuer.cpp:11:

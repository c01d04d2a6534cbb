// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

void body(Thread t, U32 trips, Mbarrier b) {
  t.loop(trips, [&](U32 i) {
    t.arrive(b);
#ifdef BREAK
    return i;
#else
    (void)i;
#endif
  });
}

// CHECK-DAG: error: {{.*}}the body of a loop, branch or role returns nothing; a host return would not leave the device loop [dsl-body-result]
// CHECK-DAG: dsl-body-result.cpp:10:

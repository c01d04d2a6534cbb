// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

void body(Thread t, Warpgroup g, Tmem<f32, 128, 64> acc) {
#ifdef BREAK
  (void)g;
  t.load(acc);
#else
  (void)t;
  (void)g.load(acc);
#endif
}

// CHECK-DAG: error: {{.*}}a warpgroup loads and stores: a role of warpgroup<i> [tcgen05-ld-issuer]
// CHECK-DAG: tcgen05-ld-issuer.cpp:12:

// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

void body(Warpgroup g, Tmem<f32, 128, 64> acc) {
#ifdef BREAK
  (void)cvt<bf16>(g.load(acc));
#else
  (void)cvt<bf16>(g.wait(g.load(acc)));
#endif
}

// CHECK-DAG: error: {{.*}}loaded registers are readable only after tcgen05.wait::ld; wrap the load in wait(...) [tcgen05-ld-wait]
// CHECK-DAG: tcgen05-ld-wait.cpp:11:

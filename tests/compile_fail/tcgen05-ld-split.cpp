// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

void body(Warp w, U32 cells) {
#ifdef BREAK
  (void)w.tcgen05_ld<shape_16x32bx2, 4>(cells);
#else
  (void)w.tcgen05_ld<shape_16x32bx2, 4, 16>(cells);
#endif
}

// CHECK-DAG: error: {{.*}}16x32bx2 needs the distance of its two column ranges, and no other shape has one [tcgen05-ld-split]
// CHECK-DAG: tcgen05-ld-split.cpp:11:

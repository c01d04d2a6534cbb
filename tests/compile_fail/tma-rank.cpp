// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

void body(TensorMapHandle<bf16, 3> map) {
#ifdef BREAK
  (void)map.at(0, 0);
#else
  (void)map.at(0, 0, 0);
#endif
}

// CHECK-DAG: error: {{.*}}a tensor copy must give as many coordinates as its dimension says [tma-rank]
// CHECK-DAG: tma_rank{{.*}}2{{.*}}3
// CHECK-DAG: tma-rank.cpp:11:

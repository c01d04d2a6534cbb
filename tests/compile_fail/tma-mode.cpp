// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

void body(Thread t, U32 to, TensorMapHandle<bf16, 2> map, Mbarrier full) {
#ifdef BREAK
  t.cp_async_bulk_tensor(to, map.scatter4(0, {0, 1, 2, 3}), full);
#else
  t.cp_async_bulk_tensor(to, map.gather4(0, {0, 1, 2, 3}), full);
#endif
}

// CHECK-DAG: error: {{.*}}gather4 reads and scatter4 writes at rank 2, the im2col modes read and im2col_no_offs writes at rank 3 to 5 [tma-mode]
// CHECK-DAG: tma-mode.cpp:11:

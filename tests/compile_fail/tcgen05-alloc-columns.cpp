// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

void body(Warp w, U32 slot) {
#ifdef BREAK
  w.tcgen05_alloc<48>(slot);
#else
  w.tcgen05_alloc<64>(slot);
#endif
}

// CHECK-DAG: error: {{.*}}the column count must be a power of two in [32, 512], with .exclusive a multiple of 32 [tcgen05-alloc-columns]
// CHECK-DAG: alloc_columns{{.*}}48{{.*}}64
// CHECK-DAG: tcgen05-alloc-columns.cpp:11:

// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/dsl.hpp"
using namespace kiln;
using namespace kiln::dsl;

void body(Thread t, U32 i) {
#ifdef BREAK
  U32 sum = i + 1;
#else
  auto sum = t.var(i + 1);
#endif
  sum = sum + i;
  (void)t;
}

// CHECK-DAG: error: {{.*}}device values are immutable; keep state that changes in a Var{{.*}} [dsl-value-assignment]
// CHECK-DAG: dsl-value-assignment.cpp:15:

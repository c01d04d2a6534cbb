// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/dsl.hpp"
using namespace kiln;
using namespace kiln::dsl;

void body(Thread t, U32 i, Mbarrier b) {
#ifdef BREAK
  if (i == 0) t.arrive(b);
#else
  t.when(i == 0, [&] { t.arrive(b); });
#endif
}

// CHECK-DAG: error: {{.*}}a device predicate has no value on the host; use t.when(predicate, [&] {{.*}}) or select(predicate, a, b) [dsl-host-condition]
// CHECK-DAG: dsl-host-condition.cpp:11:

// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

#ifdef BREAK
constexpr int registers = 100;
#else
constexpr int registers = 96;
#endif
void body(Warpgroup g) { g.setmaxnreg_dec<registers>(); }

// CHECK-DAG: error: {{.*}}the register count of setmaxnreg must be a multiple of 8 in [24, 256] [setmaxnreg-count]
// CHECK-DAG: setmaxnreg_count{{.*}}100{{.*}}96
// CHECK-DAG: setmaxnreg-count.cpp:14:

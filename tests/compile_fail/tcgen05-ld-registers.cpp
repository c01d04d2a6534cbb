// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

#ifdef BREAK
constexpr int repeat = 4;
#else
constexpr int repeat = 2;
#endif
void body(Warp w, U32 cells, Registers<b32, 2> pair) { w.tcgen05_st<shape_32x32b, repeat>(cells, pair); }

// CHECK-DAG: error: {{.*}}the register vector must match the shape and the repeat count [tcgen05-ld-registers]
// CHECK-DAG: ld_registers{{.*}}2{{.*}}4
// CHECK-DAG: tcgen05-ld-registers.cpp:14:

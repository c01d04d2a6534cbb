// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

#ifdef BREAK
constexpr int repeat = 1;
#else
constexpr int repeat = 2;
#endif
void body(Warp w, U32 cells) { (void)w.tcgen05_ld_red<shape_32x32b, repeat, RedOp::max, f32>(cells); }

// CHECK-DAG: error: {{.*}}tcgen05.ld.red takes 32x32b and 16x32bx2 from .x2 on; .abs and .NaN are for f32 [tcgen05-ld-red]
// CHECK-DAG: ld_red{{.*}}1{{.*}}2
// CHECK-DAG: tcgen05-ld-red.cpp:14:

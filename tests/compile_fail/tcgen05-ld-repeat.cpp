// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

#ifdef BREAK
constexpr int N = 48;
#else
constexpr int N = 32;
#endif
void body(Warpgroup g, Tmem<f32, 128, N> acc) { (void)g.load(acc); }

// CHECK-DAG: error: {{.*}}the repeat count must be one that the shape has{{.*}} [tcgen05-ld-repeat]
// CHECK-DAG: tcgen05-ld-repeat.cpp:14:

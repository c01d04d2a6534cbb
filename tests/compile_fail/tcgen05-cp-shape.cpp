// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

#ifdef BREAK
constexpr auto multicast = no_multicast;
#else
constexpr auto multicast = warpx4;
#endif
void body(Thread t, U32 to, SharedDescriptor from) {
  t.tcgen05_cp<shape_32x128b, multicast>(to, from);
}

// CHECK-DAG: error: {{.*}}tcgen05.cp multicasts 64x128b to .warpx2 and 32x128b to .warpx4, and no other shape; its two formats come together [tcgen05-cp-shape]
// CHECK-DAG: tcgen05-cp-shape.cpp:15:

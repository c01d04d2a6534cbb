// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

#ifdef BREAK
constexpr int dimension = 4;
#else
constexpr int dimension = 3;
#endif
void body(Thread t, U32 map, U64 bytes) { t.tensormap_replace<TensorMapField::global_stride, dimension>(map, bytes); }

// CHECK-DAG: error: {{.*}}tensormap.replace must name a dimension or a code that the field has [tensormap-field]
// CHECK-DAG: tensormap_field{{.*}}4{{.*}}3
// CHECK-DAG: tensormap-field.cpp:14:

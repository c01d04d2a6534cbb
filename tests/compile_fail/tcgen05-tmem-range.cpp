// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/builder.hpp"
using namespace kiln;
using namespace kiln::dsl;

#ifdef BREAK
constexpr int N = 1024;
#else
constexpr int N = 512;
#endif
auto body(KernelBuilder& k) { return k.tmem<f32, 128, N>("acc"); }

// CHECK-DAG: the columns used must lie inside the allocation [tcgen05-tmem-range]
// CHECK-DAG: {{(N = |, )1024}}
// CHECK-DAG: tcgen05-tmem-range.cpp:14:

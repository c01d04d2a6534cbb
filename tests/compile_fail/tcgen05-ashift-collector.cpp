// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

using BTile = SharedTile<bf16, 64, 64, K_major, swizzle_128B>;
#ifdef BREAK
constexpr auto collector = collector_a_fill;
#else
constexpr auto collector = collector_a_lastuse;
#endif
void body(Thread t, Tmem<f32, 128, 64> d, TmemSlice<bf16, 128> a, KSlice<BTile> b) {
  t.mma(d, a, b, accumulate(true), ashift, collector);
}

// CHECK-DAG: error: {{.*}}.ashift must not be combined with collector::a::fill or collector::a::use [tcgen05-ashift-collector]
// CHECK-DAG: tcgen05-ashift-collector.cpp:16:

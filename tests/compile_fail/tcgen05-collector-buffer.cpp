// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

using ATile = SharedTile<bf16, 128, 64, K_major, swizzle_128B>;
using BTile = SharedTile<bf16, 64, 64, K_major, swizzle_128B>;
#ifdef BREAK
constexpr auto collector = collector_b0_fill;
#else
constexpr auto collector = collector_a_fill;
#endif
void body(Thread t, Tmem<f32, 128, 64> d, KSlice<ATile> a, KSlice<BTile> b) {
  t.mma(d, a, b, accumulate(true), collector);
}

// CHECK-DAG: error: {{.*}}tcgen05.mma has collector buffer a, on sm_107 b as well, and tcgen05.mma.ws has b0 to b3 [tcgen05-collector-buffer]
// CHECK-DAG: tcgen05-collector-buffer.cpp:17:

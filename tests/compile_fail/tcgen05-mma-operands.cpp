// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

#ifdef BREAK
constexpr int N = 128;  // B has 64 rows
#else
constexpr int N = 64;
#endif
using ATile = SharedTile<bf16, 128, 64, K_major, swizzle_128B>;
using BTile = SharedTile<bf16, 64, 64, K_major, swizzle_128B>;
void body(Thread t, Tmem<f32, 128, N> d, Shared<ATile> a, Shared<BTile> b) {
  t.mma(d, a.k_slice(0), b.k_slice(0), accumulate(true));
}

// CHECK-DAG: A must be M x K and B must be N x K, with the K extent of the instruction [tcgen05-mma-operands]
// CHECK-DAG: given<64>{{.*}}nearest<128>
// CHECK-DAG: tcgen05-mma-operands.cpp:17:

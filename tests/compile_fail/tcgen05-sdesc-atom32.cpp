// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

#ifdef BREAK
constexpr Layout layout = swizzle_128B_atom_32B;  // for MN-major tf32
#else
constexpr Layout layout = swizzle_128B;
#endif
using ATile = SharedTile<bf16, 128, 64, K_major, layout>;
using BTile = SharedTile<bf16, 64, 64, K_major, swizzle_128B>;
void body(Thread t, Tmem<f32, 128, 64> d, Shared<ATile> a, Shared<BTile> b) {
  t.mma(d, a.k_slice(0), b.k_slice(0), accumulate(true));
}

// CHECK-DAG: error: {{.*}}the 128B swizzle with 32-byte atoms serves MN-major tf32 and nothing else; MN-major tf32 needs it [tcgen05-sdesc-atom32]
// CHECK-DAG: tcgen05-sdesc-atom32.cpp:17:

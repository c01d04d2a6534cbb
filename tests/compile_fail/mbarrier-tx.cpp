// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/ring.hpp"
using namespace kiln;
using namespace kiln::dsl;

#ifdef BREAK
constexpr int tiles = 32;  // 1 MiB in one slot
#else
constexpr int tiles = 4;
#endif
using Tile = SharedTile<bf16, 256, 64 * tiles, K_major, swizzle_128B>;
void body(Ring<1, Tile> ring, Thread t) { (void)ring.acquire(t); }

// CHECK-DAG: error: {{.*}}the transaction count of an mbarrier must stay in [0, 1048575] bytes [mbarrier-tx]
// CHECK-DAG: mbarrier_tx{{.*}}1048576{{.*}}1048575
// CHECK-DAG: mbarrier-tx.cpp:15:

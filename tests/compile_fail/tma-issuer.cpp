// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

using Tile = SharedTile<bf16, 128, 64, K_major, swizzle_128B>;
void body(Warpgroup g, Shared<Tile> tile, Box<Tile> box, Mbarrier full) {
#ifdef BREAK
  g.tma_load(tile, box, full);
#else
  g.elect([&](Thread t) { t.tma_load(tile, box, full); });
#endif
}

// CHECK-DAG: error: {{.*}}one thread issues this: inside elect({{.*}}), or in a role of warp<i>.elect() [tma-issuer]
// CHECK-DAG: tma-issuer.cpp:12:

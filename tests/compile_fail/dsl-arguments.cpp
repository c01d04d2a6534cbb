// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

using Tile = SharedTile<bf16, 128, 64, K_major, swizzle_128B>;
void body(Thread t, Shared<Tile> tile, TensorMap<Tile> map, U32 i, Mbarrier full) {
#ifdef BREAK
  t.tma_load(map.at(i, 0), tile, full);
#else
  t.tma_load(tile, map.at(i, 0), full);
#endif
}

// CHECK: dsl-arguments.cpp:12:{{.*}}error: {{.*}}tma_load(tile, box, mbarrier): {{.*}}[dsl-arguments]

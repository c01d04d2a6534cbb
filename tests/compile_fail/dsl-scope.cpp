// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/dsl.hpp"
using namespace kiln;
using namespace kiln::dsl;

using Tile = SharedTile<bf16, 128, 64, K_major, swizzle_128B>;
void body(Thread t, Warp w, Ring<4, Tile> ring) {
#ifdef BREAK
  (void)ring.acquire(w);
#else
  (void)ring.acquire(t);
#endif
  (void)t, (void)w;
}

// CHECK: dsl-scope.cpp:12:{{.*}}error: {{.*}}one thread fills a ring: {{.*}}[dsl-scope]

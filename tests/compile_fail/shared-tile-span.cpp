// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/tile.hpp"
using namespace kiln;
using namespace kiln::dsl;

#ifdef BREAK
constexpr int K = 96;  // 192 bytes: one span and a half
#else
constexpr int K = 128;
#endif
constexpr int bytes = SharedTile<bf16, 128, K, K_major, swizzle_128B>::bytes;

// CHECK-DAG: error: {{.*}}a swizzled tile's rows must be a multiple of the swizzle span, or no longer than it [shared-tile-span]
// CHECK-DAG: tile_span{{.*}}192{{.*}}256
// CHECK-DAG: shared-tile-span.cpp:14:

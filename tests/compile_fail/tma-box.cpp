// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/tile.hpp"
using namespace kiln;
using namespace kiln::dsl;

#ifdef BREAK
constexpr int columns = 512;  // one packed row of 512 elements: one box
#else
constexpr int columns = 256;
#endif
constexpr int bytes = SharedTile<u8, 64, columns, K_major, packed>::bytes;

// CHECK-DAG: error: {{.*}}every extent of a tensor-map box must be in [1, 256] [tma-box]
// CHECK-DAG: tma_box{{.*}}512{{.*}}256
// CHECK-DAG: tma-box.cpp:14:

// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/tile.hpp"
using namespace kiln;
using namespace kiln::dsl;

#ifdef BREAK
constexpr int columns = 12;  // 24 bytes
#else
constexpr int columns = 16;
#endif
constexpr int bytes = SharedTile<bf16, 64, columns, K_major, swizzle_128B>::bytes;

// CHECK-DAG: error: {{.*}}the inner extent of a tensor-map box must be a multiple of 16 bytes [tma-inner-bytes]
// CHECK-DAG: tma_inner_bytes{{.*}}24{{.*}}32
// CHECK-DAG: tma-inner-bytes.cpp:14:

// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/memory.hpp"
using namespace kiln;
using namespace kiln::dsl;

#ifdef BREAK
constexpr Layout layout = packed;
#else
constexpr Layout layout = swizzle_none;
#endif
auto body(Shared<SharedTile<bf16, 128, 64, K_major, layout>> a) { return a.k_slice(16); }

// CHECK-DAG: error: {{.*}}a tensor core reads core-matrix or swizzled tiles; packed rows serve TMA and threads alone [shared-tile-layout]
// CHECK-DAG: shared-tile-layout.cpp:14:

// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/memory.hpp"
using namespace kiln;
using namespace kiln::dsl;

#ifdef BREAK
constexpr int k = 24;
#else
constexpr int k = 32;
#endif
auto body(Shared<SharedTile<bf16, 128, 64, K_major, swizzle_128B>> a) { return a.k_slice<k>(); }

// CHECK-DAG: a K slice must start at a multiple of the instruction's K and lie inside the tile [shared-tile-slice]
// CHECK-DAG: k_slice{{.*(k = |<)}}24
// CHECK-DAG: shared-tile-slice.cpp:14:

// RUN: %gxx %s
// RUN: not %gxx -DBREAK=1 %s 2>&1 | %at_most 12 | FileCheck %s --check-prefixes=CHECK,LOAD
// RUN: not %gxx -DBREAK=2 %s 2>&1 | %at_most 12 | FileCheck %s --check-prefixes=CHECK,STORE
// RUN: not %gxx -DBREAK=3 %s 2>&1 | %at_most 12 | FileCheck %s --check-prefixes=CHECK,SLOT
// RUN: not %gxx -DBREAK=4 %s 2>&1 | %at_most 12 | FileCheck %s --check-prefixes=CHECK,PUBLISH
// RUN: not %gxx -DBREAK=5 %s 2>&1 | %at_most 12 | FileCheck %s --check-prefixes=CHECK,ROW
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK=1 %s 2>&1 | %at_most 20 | FileCheck %s --check-prefixes=CHECK,LOAD
// RUN: not %clangxx -DBREAK=2 %s 2>&1 | %at_most 20 | FileCheck %s --check-prefixes=CHECK,STORE
// RUN: not %clangxx -DBREAK=3 %s 2>&1 | %at_most 20 | FileCheck %s --check-prefixes=CHECK,SLOT
// RUN: not %clangxx -DBREAK=4 %s 2>&1 | %at_most 20 | FileCheck %s --check-prefixes=CHECK,PUBLISH
// RUN: not %clangxx -DBREAK=5 %s 2>&1 | %at_most 20 | FileCheck %s --check-prefixes=CHECK,ROW
#include "dsl/ring.hpp"
using namespace kiln;
using namespace kiln::dsl;

using ATile = SharedTile<bf16, 128, 64, K_major, swizzle_128B>;
using BTile = SharedTile<bf16, 256, 64, K_major, swizzle_128B>;

#ifndef BREAK
#define BREAK 0
#endif

void body(Thread t, Warpgroup g, Slot<ATile, BTile> slot, TensorMap<ATile> a, TensorMap<BTile> b, Slot<ATile> other,
          StoreRing<2, ATile> out, Shared<ATile> tile, Registers<bf16, 32> half, Registers<bf16, 64> row) {
#if BREAK == 1
  t.tma_load(slot.get<BTile>(), a.at(0, 0), slot.full);  // LOAD-DAG: dsl-tile-type.cpp:[[# @LINE]]:
#elif BREAK == 2
  t.tma_store(b.at(0, 0), tile);  // STORE-DAG: dsl-tile-type.cpp:[[# @LINE]]:
#elif BREAK == 3
  (void)other.get<BTile>();  // SLOT-DAG: dsl-tile-type.cpp:[[# @LINE]]:
#elif BREAK == 4
  out.publish(g, tile, b.at(0, 0));  // PUBLISH-DAG: dsl-tile-type.cpp:[[# @LINE]]:
#elif BREAK == 5
  g.store(tile, half);  // ROW-DAG: dsl-tile-type.cpp:[[# @LINE]]:
#else
  t.tma_load(slot.get<BTile>(), b.at(0, 0), slot.full);
  t.tma_store(a.at(0, 0), tile);
  (void)other.get<ATile>();
  out.publish(g, tile, a.at(0, 0));
  g.store(tile, row);
  g.store_row(tile, g.row(), 32, half);
#endif
  (void)t, (void)g, (void)slot, (void)a, (void)b, (void)other, (void)out, (void)tile, (void)half, (void)row;
}

// CHECK-DAG: error: {{.*}}tile{{.*}} [dsl-tile-type]

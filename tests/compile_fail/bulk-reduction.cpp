// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

#ifdef BREAK
using T = s64;
#else
using T = u64;
#endif
void body(Thread t, U64 to, U32 from) { t.cp_reduce_async_bulk<RedOp::add, T>(to, from, 64); }

// CHECK-DAG: error: {{.*}}cp.reduce.async.bulk must combine with an operation that the type has in the destination's space [bulk-reduction]
// CHECK-DAG: bulk-reduction.cpp:14:

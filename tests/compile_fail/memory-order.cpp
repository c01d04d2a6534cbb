// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/warp.hpp"
using namespace kiln;
using namespace kiln::dsl;

#ifdef BREAK
constexpr auto order = acquire_cta;
#else
constexpr auto order = release_cta;
#endif
void body(Thread t, Mbarrier b) { t.mbarrier_arrive(b, 1, order); }

// CHECK-DAG: error: {{.*}}arrivals are release or relaxed, waits acquire or relaxed, at cta or cluster scope; so are stores and loads, and atom is also acq_rel, at any scope; fences are anything but relaxed; the cluster's barrier says no scope [memory-order]
// CHECK-DAG: memory-order.cpp:14:

// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/builder.hpp"
using namespace kiln;
using namespace kiln::dsl;

#ifdef BREAK
constexpr int arrivals = 0;
#else
constexpr int arrivals = 1;
#endif
auto body(KernelBuilder& k) { return k.mbarrier<arrivals>("done"); }

// CHECK-DAG: the arrival count of an mbarrier must be in [1, 1048575], with .layout::v1 in [1, 511] [mbarrier-count]
// CHECK-DAG: {{(arrivals = |mbarrier<)0}}
// CHECK-DAG: mbarrier-count.cpp:14:

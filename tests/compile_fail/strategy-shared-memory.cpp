// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/dsl.hpp"
#include "kernels/problem.hpp"
using namespace kiln::kernels;
using namespace kiln::dsl;

constexpr GemmProblem problem = product<f16, f16, f32, f16>("product", kind_f16, {});
#ifdef BREAK
constexpr GemmStrategy strategy{cta_group_1, 256, 128, 5};  // 48 KiB to a slot
#else
constexpr GemmStrategy strategy{cta_group_1, 256, 128, 4};
#endif
Checked<problem, strategy> checked;

// CHECK-DAG: error: {{.*}}the shared memory of a kernel must fit what the target has [shared-budget]
// CHECK-DAG: shared_budget{{.*}}245760{{.*}}232448
// CHECK-DAG: strategy-shared-memory.cpp:16:

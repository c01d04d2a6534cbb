// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/dsl.hpp"
#include "kernels/problem.hpp"
using namespace kiln::kernels;
using namespace kiln::dsl;

constexpr GemmProblem problem =
    product<e2m1, e2m1, f32, bf16>("product", kind_mxf4nvf4, {}).scaled<ue4m3>(block16);
#ifdef BREAK
constexpr GemmStrategy strategy{cta_group_2, 256, 128, 5};  // two accumulators of 256 columns and five slots of scales
#else
constexpr GemmStrategy strategy{cta_group_2, 256, 128, 5, 1};
#endif
Checked<problem, strategy> checked;

// CHECK-DAG: error: {{.*}}the tensor-memory handles of a kernel must fit 512 columns [tcgen05-tmem-budget]
// CHECK-DAG: tmem_budget{{.*}}752{{.*}}512
// CHECK-DAG: strategy-tensor-memory.cpp:17:

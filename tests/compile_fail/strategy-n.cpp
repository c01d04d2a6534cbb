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
constexpr GemmStrategy strategy{cta_group_1, 252, 128, 4};  // no multiple of 8
#else
constexpr GemmStrategy strategy{cta_group_1, 248, 128, 4};
#endif
Checked<problem, strategy> checked;

// CHECK-DAG: error: {{.*}}N must be a multiple of the step for this kind and cta_group, and at most 256 [tcgen05-mma-n]
// CHECK-DAG: mma_n{{.*}}252{{.*}}256
// CHECK-DAG: strategy-n.cpp:16:

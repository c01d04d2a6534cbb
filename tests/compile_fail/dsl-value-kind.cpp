// RUN: %gxx %s
// RUN: %gxx -fsanitize=address,undefined %s
// RUN: not %gxx -DBREAK=1 %s 2>&1 | %at_most 12 | FileCheck %s --check-prefixes=CHECK,OPERATOR
// RUN: not %gxx -DBREAK=2 %s 2>&1 | %at_most 12 | FileCheck %s --check-prefixes=CHECK,FUNCTION
// RUN: not %gxx -DBREAK=3 %s 2>&1 | %at_most 12 | FileCheck %s --check-prefixes=CHECK,NUMBER
// RUN: not %gxx -DBREAK=4 %s 2>&1 | %at_most 12 | FileCheck %s --check-prefixes=CHECK,SHUFFLE
// RUN: not %gxx -DBREAK=5 %s 2>&1 | %at_most 12 | FileCheck %s --check-prefixes=CHECK,ATOMIC
// RUN: not %gxx -DBREAK=6 %s 2>&1 | %at_most 12 | FileCheck %s --check-prefixes=CHECK,CONVERSION
// RUN: not %gxx -DBREAK=7 %s 2>&1 | %at_most 12 | FileCheck %s --check-prefixes=CHECK,VARIABLE
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK=1 %s 2>&1 | %at_most 20 | FileCheck %s --check-prefixes=CHECK,OPERATOR
// RUN: not %clangxx -DBREAK=2 %s 2>&1 | %at_most 20 | FileCheck %s --check-prefixes=CHECK,FUNCTION
// RUN: not %clangxx -DBREAK=3 %s 2>&1 | %at_most 20 | FileCheck %s --check-prefixes=CHECK,NUMBER
// RUN: not %clangxx -DBREAK=4 %s 2>&1 | %at_most 20 | FileCheck %s --check-prefixes=CHECK,SHUFFLE
// RUN: not %clangxx -DBREAK=5 %s 2>&1 | %at_most 20 | FileCheck %s --check-prefixes=CHECK,ATOMIC
// RUN: not %clangxx -DBREAK=6 %s 2>&1 | %at_most 20 | FileCheck %s --check-prefixes=CHECK,CONVERSION
// RUN: not %clangxx -DBREAK=7 %s 2>&1 | %at_most 20 | FileCheck %s --check-prefixes=CHECK,VARIABLE
#include "dsl/warp.hpp"

#include "dsl/packed.hpp"
using namespace kiln;
using namespace kiln::dsl;

#ifndef BREAK
#define BREAK 0
#endif

void body(Warp w, U32 n, F32 x, U64 address) {
#if BREAK == 1
  const F32 sum = x + n;  // OPERATOR-DAG: dsl-value-kind.cpp:[[# @LINE]]:
#elif BREAK == 2
  const F32 sum = sqrt_rn(n);  // FUNCTION-DAG: dsl-value-kind.cpp:[[# @LINE]]:
#elif BREAK == 3
  const U32 sum = n * 0.5f;  // NUMBER-DAG: dsl-value-kind.cpp:[[# @LINE]]:
#elif BREAK == 4
  const Pred sum = w.shfl_sync_bfly(x < 1, 1);  // SHUFFLE-DAG: dsl-value-kind.cpp:[[# @LINE]]:
#elif BREAK == 5
  const F32 sum = w.atom<RedOp::max>(address, x);  // ATOMIC-DAG: dsl-value-kind.cpp:[[# @LINE]]:
#elif BREAK == 6
  const F32 sum = bit_cast<F32>(address);  // CONVERSION-DAG: dsl-value-kind.cpp:[[# @LINE]]:
#elif BREAK == 7
  auto sum = w.var(0.0f);
  sum = n;  // VARIABLE-DAG: dsl-value-kind.cpp:[[# @LINE]]:
#else
  auto sum = w.var(0.0f);
  sum = sqrt_rn(x) + convert<F32>(n) * 0.5f + bit_cast<F32>(narrow(address)) + w.atom<RedOp::add>(address, x);
  sum = w.ptx<"cvt.rn.f32.u32", F32(U32)>(n);
  sum += w.shfl_sync_bfly(sum, 1);
  w.trap_if(sum > x && n == 3);
#endif
  (void)w, (void)n, (void)x, (void)address, (void)sum;
}

// CHECK-DAG: error: {{.*}}[dsl-value-kind]

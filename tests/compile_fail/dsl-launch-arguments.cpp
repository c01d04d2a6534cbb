// RUN: %gxx %s
// RUN: not %gxx -DBREAK %s 2>&1 | %at_most 12 | FileCheck %s
// RUN: %clangxx %s
// RUN: not %clangxx -DBREAK %s 2>&1 | %at_most 20 | FileCheck %s
#include "dsl/launch.hpp"
using namespace kiln;
using namespace kiln::dsl;

constexpr auto list = parameters("D"_arg.is<Pointer<bf16>>(), "m"_arg.is<u32>());
void body(launch::Contract& c, const Kernel& k) {
#ifdef BREAK
  launch_kernel(c, k, list, {1, 1, 1}, "D"_arg = std::string("D"), "n"_arg = 8);
#else
  launch_kernel(c, k, list, {1, 1, 1}, "m"_arg = 8, "D"_arg = std::string("D"));
#endif
}

// CHECK-DAG: error: {{.*}}a launch must give every parameter of the kernel's list once, by its name, with a value of its type [dsl-launch-arguments]
// CHECK-DAG: dsl-launch-arguments.cpp:12:

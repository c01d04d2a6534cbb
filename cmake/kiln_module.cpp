// Compiled into every module of kernels by kiln_add_module: what the command looks for.
#include "dsl/module.hpp"

extern "C" __attribute__((visibility("default"))) const kiln::dsl::KernelModule kiln_kernel_module;
extern "C" const kiln::dsl::KernelModule kiln_kernel_module{KILN_VERSION, kiln::dsl::module_sizes(),
                                                            &kiln::dsl::kernel_table};

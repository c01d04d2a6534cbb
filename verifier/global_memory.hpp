// What a kernel does with global memory, as far as its accesses show it.
#pragma once

#include <vector>

#include "launch/contract.hpp"
#include "ptx/diag/diagnostic.hpp"
#include "ptx/ir/module.hpp"

namespace kiln::verifier {

/// Whether threads of a kernel may touch global memory that others of its threads write: by two instructions with one
/// pointer, one of them a write, by atomics, or by addresses that are not followed. With a launch, of the kernels that
/// it starts, and two pointers into one buffer are one. Different parameters are taken for different memory otherwise;
/// that threads store over each other by one instruction is not looked at.
bool may_race_in_global_memory(const ir::Module&, const launch::Contract* launch = nullptr);

/// Places of global loads whose words may reach nothing in some threads: all that is made of them is stored, or decides
/// something, under conditions that do not hold wherever the load is executed. Compilers let several threads load one
/// element of which a single one goes on.
std::vector<diag::Place> loads_that_may_reach_nothing(const ir::Module&);

}  // namespace kiln::verifier

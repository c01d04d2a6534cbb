// What a kernel does with global memory, as far as its accesses show it.
#pragma once

#include "launch/contract.hpp"
#include "ptx/ir/module.hpp"

namespace kiln::verifier {

/// Whether threads of a kernel may touch global memory that others of its threads write: by two instructions with one
/// pointer, one of them a write, by atomics, or by addresses that are not followed. With a launch, of the kernels that
/// it starts, and two pointers into one buffer are one. Different parameters are taken for different memory otherwise;
/// that threads store over each other by one instruction is not looked at.
bool may_race_in_global_memory(const ir::Module&, const launch::Contract* launch = nullptr);

}  // namespace kiln::verifier

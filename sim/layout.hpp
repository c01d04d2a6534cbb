// Where a kernel's variables and parameters lie in one launch.
#pragma once

#include "launch/contract.hpp"
#include "sim/core/global_memory.hpp"
#include "sim/core/program.hpp"

namespace kiln::sim {

/// Lays out shared and local memory and the parameter block; module variables that the kernel names are added to
/// `memory`.
Layout make_layout(const ir::Code& code, const launch::Launch& launch, GlobalMemory& memory);

/// The kernel's parameter block. InputError when the contract's parameters do not fit the kernel's.
std::vector<std::uint8_t> parameter_block(const ir::Code& code, const Layout& layout, const launch::Contract& contract,
                                          const launch::Launch& launch, const GlobalMemory& memory);

}  // namespace kiln::sim

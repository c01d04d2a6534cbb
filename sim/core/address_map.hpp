// Where things lie in a thread's address space. A generic address names every space; constant, local and global
// addresses are generic addresses already, those of shared memory and of kernel parameters become so by adding the
// window's base.
#pragma once

#include <cstdint>

#include "ptx/isa/spaces.hpp"

namespace kiln::sim {

inline constexpr std::uint64_t global_base = 0x0000'7000'0000'0000;    // buffers and module variables, upwards
inline constexpr std::uint64_t function_base = 0x0000'7B00'0000'0000;  // addresses of functions, which no load reaches
inline constexpr std::uint64_t local_base = 0x0000'7C00'0000'0000;     // one window per thread
inline constexpr std::uint64_t parameter_base = 0x0000'7D00'0000'0000;
inline constexpr std::uint64_t first_parameter = 0x1000;  // in .param space; PTX does not say what it is on a GPU
inline constexpr std::uint64_t shared_base = 0x0000'7E00'0000'0000;  // 4 GiB: the 32-bit shared::cluster addresses
inline constexpr std::uint64_t window_bytes = std::uint64_t{1} << 32;

using isa::cluster_rank_shift, isa::shared_offset_mask;

/// The first bytes of shared memory belong to the system on sm_90 and later.
inline constexpr std::uint32_t reserved_shared_bytes = 1024;

/// The least multiple of `step` that is not below `n`.
constexpr std::uint64_t round_up(std::uint64_t n, std::uint64_t step) { return (n + step - 1) / step * step; }

/// The address of the function that is item `item` of the module.
constexpr std::uint64_t function_address(std::uint64_t item) { return function_base + item * 16; }

/// Whether this is an address in .param space that nothing has made generic.
constexpr bool is_parameter(std::uint64_t address, std::uint64_t parameter_bytes) {
  return address - first_parameter < parameter_bytes;
}

constexpr bool in_window(std::uint64_t address, std::uint64_t base) { return address - base < window_bytes; }

}  // namespace kiln::sim

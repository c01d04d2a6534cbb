// What the hardware sets as limits to a launch and to what shares a streaming multiprocessor (SM). CUDA C++ Programming
// Guide, "Technical Specifications per Compute Capability".
#pragma once

#include <cstdint>

#include "ptx/isa/targets.hpp"

namespace kiln::isa {

inline constexpr std::uint32_t max_grid_x = 0x7FFFFFFF, max_grid_yz = 65535;  // CTAs
inline constexpr std::uint32_t max_cta_z = 64;                                // threads
/// CTAs of a cluster that every device with clusters runs, and those that a kernel may ask for by
/// cudaFuncAttributeNonPortableClusterSizeAllowed.
inline constexpr std::uint32_t max_portable_cluster = 8, max_cluster = 16;

/// 32-bit registers that a CTA may have, and those of a thread that ptxas never exceeds. A warp gets them in units.
inline constexpr std::uint32_t registers_per_cta = 65536, max_registers = 255, register_unit = 256;

/// Registers that a CTA of `threads` threads takes.
constexpr std::uint64_t cta_registers(std::uint64_t threads, std::uint64_t registers) {
  const std::uint64_t warps = (threads + threads_per_warp - 1) / threads_per_warp;
  return warps * ((registers * threads_per_warp + register_unit - 1) / register_unit * register_unit);
}

/// Registers of a thread with which `ctas` CTAs of `threads` threads share an SM, in the steps in which a warp gets them.
/// The warps are spread over four partitions, so that their number counts as a multiple of four. Measured with ptxas 13.0:
/// .minnctapersm beside .reqntid.
constexpr std::uint32_t registers_to_share(std::uint64_t ctas, std::uint64_t threads) {
  constexpr std::uint32_t step = register_unit / threads_per_warp;
  const std::uint64_t warps = (ctas * ((threads + threads_per_warp - 1) / threads_per_warp) + 3) / 4 * 4;
  const std::uint64_t each = warps ? registers_per_cta / (warps * threads_per_warp) / step * step : 0;
  return std::uint32_t(each < max_registers ? each : max_registers);
}

/// Registers a thread for the rest of a CTA of `threads`, alone on its SM, when `some` of them have `each`: setmaxnreg
/// shares out what the CTA was launched with, not what the SM has.
constexpr std::uint32_t registers_for_the_rest(std::uint32_t threads, std::uint32_t some, std::uint32_t each) {
  constexpr std::uint32_t step = register_unit / threads_per_warp;
  return (registers_to_share(1, threads) * threads - some * each) / (threads - some) / step * step;
}

/// Bytes of a kernel's parameters, and those of a target and a .version. Measured with ptxas 12.8 and 13.0 to 13.4.
inline constexpr int max_parameter_bytes = 32764;
constexpr int max_parameter_bytes_of(Target t, PtxVersion v) {
  return t.sm >= 70 && v >= PtxVersion{8, 1} ? max_parameter_bytes : 4352;
}

/// Threads, CTAs and bytes of shared memory of an SM; each CTA takes a KiB besides its own.
constexpr std::uint32_t sm_threads(Target t) { return t.sm == 100 || t.sm == 103 || t.sm == 90 ? 2048 : 1536; }
constexpr std::uint32_t sm_ctas(Target t) { return t.sm == 100 || t.sm == 103 || t.sm == 90 ? 32 : 24; }
inline constexpr std::uint32_t shared_reserved_per_cta = 1024;
constexpr std::uint32_t sm_shared_bytes(Target t) {
  return std::uint32_t(max_shared_bytes(t)) + shared_reserved_per_cta;
}

}  // namespace kiln::isa

// What a run on a GPU came to, as data: harness/gpu fills it in, a report prints it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/measure/timing.hpp"
#include "launch/contract.hpp"

namespace kiln::harness {

/// Clocks and power at one moment; 0 and empty: not known.
struct DeviceState {
  std::string driver{};  // "580.159.04"
  unsigned sm_mhz = 0, sm_most_mhz = 0, memory_mhz = 0;
  double watts = 0, watts_allowed = 0;
};

/// What cuBLAS did in the same minutes.
struct CublasTiming {
  std::string library{}, shown{};  // "libcublasLt.so.13 13.1.0", "bf16 * bf16 -> bf16, f32 sums"
  std::size_t algorithms = 0;      // tried, of which the fastest was measured
  Times times{};
  launch::Buffer d{};  // its result, under the name of the contract's output
};

/// What was measured.
struct Timing {
  TimingOptions options{};
  Times times{};  // of all launches together
  Rotation rotation{};
  std::uint64_t copy_bytes = 0, l2_bytes = 0;
  std::vector<std::string> restored{};  // buffers that a run changes and the next one needs as they were
  std::optional<CublasTiming> cublas{};
  std::string no_cublas{};                        // why not
  DeviceState state{};                            // half-way through
  std::vector<std::vector<std::uint8_t>> kept{};  // of each copy, the buffer that is asked for, as it is at the end
  std::vector<LaunchClock> clocks{};              // of the latest repetition of each copy, if they are asked for
};

/// What the GPU did.
struct CudaResult {
  enum class Outcome : std::uint8_t { finished, fault, hang };
  Outcome outcome = Outcome::finished;
  std::string device{};                // "NVIDIA H200"
  std::string architecture{};          // "sm_90"
  std::string driver{};                // "580.159.04"; empty: not known
  int cuda_version = 0;                // that the driver supports: 1000 * major + 10 * minor
  std::string reason{};                // fault, hang: one line
  std::vector<double> milliseconds{};  // of each launch that finished, by the GPU's events
  std::optional<Timing> timing{};      // where it was asked for and everything finished
};

}  // namespace kiln::harness

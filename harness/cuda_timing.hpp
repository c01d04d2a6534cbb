// How long a contract's launches take on a GPU, and how long cuBLAS takes for the same product in between.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "harness/cuda_device.hpp"
#include "harness/nvml.hpp"
#include "harness/timing.hpp"

namespace kiln::harness {

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
  std::string no_cublas{};  // why not
  DeviceState state{};      // half-way through
};

/// A repetition that did not end well.
struct TimingFailure {
  cuda::Status status = cuda::success;  // not_ready: it did not end
  std::string what{};
};

/// What is timed: the launches of `before`, entry by entry. A checked run made `after` of it; what it changed and
/// nobody poisoned is restored before each repetition.
struct TimedWork {
  const DeviceModule& module;
  const std::vector<std::string>& entries;
  const launch::Contract &before, &after;
  std::chrono::milliseconds timeout;
};

/// Warms up, then times each repetition between two events, cuBLAS after each where there is a counterpart. Returns the
/// failure where a launch hangs, which abandons the GPU, or dies. Throws InputError where copies of the buffers do not
/// fit the GPU.
std::optional<TimingFailure> time_launches(Gpu&, const TimedWork&, const TimingOptions&, Timing&);

/// The buffers that must be as they were before each run.
std::vector<std::string> buffers_to_restore(const launch::Contract& before, const launch::Contract& after);

}  // namespace kiln::harness

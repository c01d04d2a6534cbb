// How long a contract's launches take on a GPU, and how long cuBLAS takes for the same product in between.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "harness/gpu/cuda_device.hpp"
#include "harness/measure/cuda_result.hpp"

namespace kiln::harness {

/// A repetition that did not end well.
struct TimingFailure {
  cuda::Status status = cuda::success;  // not_ready: it did not end
  std::string what{};
};

/// What is timed: the launches of `before`, entry by entry. A checked run turned `before` into `after`. Before each
/// repetition, buffers that it changed are restored, but for those that began as poison.
struct TimedWork {
  const DeviceModule& module;
  const std::vector<std::string>& entries;
  const launch::Contract &before, &after;
  std::chrono::milliseconds timeout;
  const std::string& kept;  // a buffer that is read back from each copy at the end; may be empty
};

/// Warms up, then times each repetition between two events, cuBLAS after each where there is a counterpart. Returns the
/// failure where a launch hangs, which abandons the GPU, or dies. Throws InputError where copies of the buffers do not
/// fit the GPU.
std::optional<TimingFailure> time_launches(Gpu&, const TimedWork&, const TimingOptions&, Timing&);

/// What the driver's management library tells about the GPU on that PCI bus, which is at work. It is loaded at run time
/// and may be missing.
DeviceState device_state(const std::string& pci_bus);

/// The buffers that must be as they were before each run.
std::vector<std::string> buffers_to_restore(const launch::Contract& before, const launch::Contract& after);

}  // namespace kiln::harness

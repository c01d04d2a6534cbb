// A contract on a real GPU.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/cuda_timing.hpp"
#include "launch/contract.hpp"
#include "ptx/isa/targets.hpp"

namespace kiln::harness {

/// What to run: a cubin, what it was assembled for, and the full name of the entry of each launch of the contract.
struct CudaJob {
  std::vector<std::uint8_t> cubin{};
  isa::Target target{};
  std::vector<std::string> entries{};
  std::chrono::milliseconds timeout = std::chrono::seconds(60);
  std::optional<TimingOptions> timing{};  // nothing: run once
  std::string host_buffer{};  // a buffer to keep in the host's memory, where it can be read even when a kernel hangs
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

/// Runs the contract's launches in order on the first GPU; buffers hold the results afterwards if all finished. Then
/// times them over copies of the buffers, where that is asked for. Throws InputError when there is no driver or GPU,
/// when the cubin is for another architecture, and when the driver refuses a tensor map or a launch.
///
/// After a hang the context cannot be torn down: the caller reports and leaves with std::_Exit.
CudaResult cuda_run(const CudaJob&, launch::Contract&);

/// True when code assembled for `target` runs on a device of compute capability `major`.`minor`.
bool runs_on(isa::Target target, int major, int minor);

}  // namespace kiln::harness

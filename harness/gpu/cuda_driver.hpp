// A contract on a real GPU.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/measure/cuda_result.hpp"
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
  std::string kept{};         // a buffer that a timed run reads back from each copy (Timing::kept)
};

/// Runs the contract's launches in order on the first GPU; buffers hold the results afterwards if all finished. Then
/// times them over copies of the buffers, where that is asked for. Throws InputError when there is no driver or GPU,
/// when the cubin is for another architecture, and when the driver refuses a tensor map or a launch.
///
/// After a hang the context cannot be torn down: the caller reports and leaves with std::_Exit.
CudaResult cuda_run(const CudaJob&, launch::Contract&);

}  // namespace kiln::harness

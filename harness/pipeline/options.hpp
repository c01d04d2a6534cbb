// What a run is asked for.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "harness/measure/timing.hpp"
#include "harness/ptxas/ptxas.hpp"
#include "launch/contract.hpp"
#include "ptx/diag/source.hpp"
#include "ptx/ir/module.hpp"
#include "sim/simulate.hpp"

namespace kiln::harness {

enum class Backend : std::uint8_t { sim, cuda };

/// Where views go; empty: not wanted.
struct ViewOptions {
  std::string trace{};  // a trace-event JSON file
  std::string maps{};   // a folder for pictures of tensor and shared memory, made if need be

  bool any() const { return !trace.empty() || !maps.empty(); }
};

/// Where a profile's records lie while a GPU writes them. The host's memory is slower, but there when a kernel hangs.
enum class ProfileMemory : std::uint8_t { device, host };

/// The profiler in the kernel; without a file there is none.
struct ProfileOptions {
  std::string file{};  // a trace-event JSON file
  ProfileMemory memory = ProfileMemory::device;
};

struct RunOptions {
  Backend backend = Backend::sim;
  sim::Options simulation{};
  std::chrono::milliseconds gpu_timeout = std::chrono::seconds(60);
  std::optional<TimingOptions> timing{};                              // of a run on a GPU
  TensorMemoryChecks tensor_memory_checks = TensorMemoryChecks::off;  // the same
  /// Elements of a gemm to compare, chosen by the simulation's seed; 0: all. Nothing: all, but 4096 of a gemm of more
  /// than 2^34 multiply-adds on a GPU.
  std::optional<std::uint64_t> sample{};
  std::string contract{};  // the contract's file, for findings about it; may be empty
  std::string folder{};    // where relative .npy paths of the contract start; empty: the working directory
  ViewOptions views{};     // of a simulated run
  ProfileOptions profile{};
  std::string keep{};  // a folder for the PTX, the cubin and the contract; empty: nothing is kept
  std::function<void(std::string_view stage)> on_stage = [](std::string_view) {};
  /// Called when everything is ready to be simulated; false: leave it at that. May be empty.
  std::function<bool(const ir::Module&, const diag::SourcePtr& ptx, const launch::Contract&)> on_ready{};
};

}  // namespace kiln::harness

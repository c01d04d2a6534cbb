// The pipeline behind `kiln run` and `kiln sim`: what is done in which order, and everything that came of it.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/compare.hpp"
#include "harness/cuda_driver.hpp"
#include "harness/profile/profile.hpp"
#include "harness/ptxas.hpp"
#include "harness/timing.hpp"
#include "harness/views/views.hpp"
#include "launch/contract.hpp"
#include "ptx/diag/diagnostic.hpp"
#include "ptx/ir/module.hpp"
#include "sim/simulate.hpp"

namespace kiln::harness {

enum class Backend : std::uint8_t { sim, cuda };

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

/// One step and how long it took.
struct Stage {
  std::string name{};
  double seconds = 0;
};

/// Everything that is known after a run, however far it came.
struct RunReport {
  std::vector<Stage> stages{};
  diag::Sink findings{};
  std::string verified{};  // the verifier's findings in one line: "clean"
  diag::SourcePtr ptx{};   // the text that was assembled and run; null when nothing was emitted
  std::optional<Assembly> assembly{};
  std::optional<sim::Result> simulation{};
  std::optional<CudaResult> cuda{};
  std::vector<Comparison> comparisons{};   // of the contract's expectations, in order
  std::optional<Work> work{};              // of a timed run
  std::optional<Comparison> cublas{};      // of what cuBLAS computed beside it
  std::vector<std::string> written{};      // output files, and those of views
  std::vector<std::string> last_phases{};  // of a profiled run that did not end: where its warps were

  /// The launches ran to their end.
  bool finished() const;
  /// 0 clean, 1 findings that are errors, wrong results, a GPU that faulted or hung; 3 incomplete.
  int exit_code() const;
};

/// Fills the inputs, verifies a built module, emits it, assembles the text, parses it back, runs that on the simulator
/// or a GPU, writes the outputs and compares them. Stops at the first stage that fails. Without ptxas a simulation goes
/// on and `assembly` says so. Throws InputError for inputs, contracts and environments that cannot be used.
RunReport run_module(ir::Module, const std::string& name, launch::Contract&, const RunOptions&);

/// Parses a PTX text, fills the inputs, simulates every launch or assembles the text and runs it on a GPU, writes the
/// outputs and compares them.
RunReport run_text(const diag::SourcePtr&, launch::Contract&, const RunOptions&);

/// Verifies and emits: null, and findings in the sink, when the verifier gives no proof.
diag::SourcePtr emit_verified(ir::Module, const std::string& source_name, diag::Sink&);

}  // namespace kiln::harness

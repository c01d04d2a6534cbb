// What `kiln run` and `kiln gpu` say about a run on a GPU.
#pragma once

#include <functional>
#include <string>

#include "harness/pipeline/options.hpp"
#include "harness/pipeline/report.hpp"
#include "tools/command/report/summary.hpp"
#include "tools/command/subcommands.hpp"

namespace kiln::command {

/// The options as they were written.
struct GpuArguments {
  std::string timeout = "60", repetitions{}, warm_up{}, sample{}, profile{}, profile_memory{}, chip{}, l2{};
  bool time = false, clocks = false, compare_time = false, cublas = true, check_tensor_memory = false;
};

/// Adds --timeout, --time, --compare-time, --chip, --repetitions, --warm-up, --no-cublas, --l2, --clocks, --sample,
/// --profile, --profile-memory and --check-tensor-memory.
void add_gpu_options(CLI::App&, GpuArguments&);

/// Takes them over; the backend must be chosen by then. Throws InputError for numbers that are none and for what only a
/// GPU can do.
void apply(const GpuArguments&, harness::RunOptions&);

/// What a prediction of a timed run is made from.
struct Timed {
  diag::SourcePtr ptx{};
  launch::Contract contract{};
};

/// Prints the summary of a run, with a prediction of what was timed where --compare-time asks for it.
void print_summary(const GpuArguments&, const RunFacts&, const harness::RunReport&, bool json,
                   const std::function<Timed()>& timed);

/// Leaves with the report's exit code. After a hang the driver's own exit handlers would wait for the kernel.
int finish_gpu_run(const harness::RunReport&);

}  // namespace kiln::command

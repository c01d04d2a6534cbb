#include "harness/run/run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/contract/contract_json.hpp"
#include "harness/entry/entry.hpp"
#include "harness/gpu/cuda_driver.hpp"
#include "harness/host/files.hpp"
#include "harness/measure/timing.hpp"
#include "harness/pipeline/pipeline.hpp"
#include "harness/profile/profile.hpp"
#include "harness/run/launch_clocks.hpp"
#include "harness/views/views.hpp"

namespace kiln::harness {
namespace {

class FullPipeline final : public Pipeline {
 public:
  using Pipeline::Pipeline;

 private:
  void check_files() const override {
    check_views(options_.views);
    if (!options_.profile.file.empty()) check_writable(options_.profile.file);
  }

  bool notes_clocks() const { return options_.timing && options_.timing->clocks; }

  bool instrument(ir::Module& module) override {
    if (options_.profile.file.empty() && !notes_clocks()) return false;
    named(
        [&] { plan_ = notes_clocks() ? instrument_ends(module, contract_) : harness::instrument(module, contract_); });
    return true;
  }

  void keep_contract() const override { keep(".json", write_contract(contract_)); }

  void execute(const ir::Module& module, isa::Target target) override {
    if (options_.backend == Backend::cuda) return run_on_gpu(module, target);
    if (!wanted(module)) return;
    Views views(options_.views);
    simulate(module, views.observer());
    if (options_.views.any()) report_.written = stage("views", [&] { return views.write(name_); });
  }

  // When a kernel hangs, everything in the GPU's memory is lost with the context.
  bool reads_profile_of_hang() const { return plan_ && options_.profile.memory == ProfileMemory::host; }

  void read_instrument() override {
    const bool lost =
        report_.cuda && report_.cuda->outcome != CudaResult::Outcome::finished && !reads_profile_of_hang();
    if (!plan_ || lost) return;
    if (notes_clocks()) return read_clocks();
    stage("profile", [&] {
      const std::vector<WarpProfile> warps = read_profile(*plan_, contract_);
      write_file(options_.profile.file,
                 profile_json(*plan_, contract_, warps, name_,
                              options_.backend == Backend::sim ? ProfileClock::simulated : ProfileClock::gpu));
      report_.written.push_back(options_.profile.file);
      if (!report_.finished()) report_.last_phases = last_phases(*plan_, warps);
    });
  }

  void read_clocks() {
    if (!report_.cuda || !report_.cuda->timing) return;
    Timing& timing = *report_.cuda->timing;
    for (const auto& bytes : timing.kept) {
      const std::vector<LaunchClock> clocks = launch_clocks(read_ends(*plan_, contract_, bytes));
      timing.clocks.insert(timing.clocks.end(), clocks.begin(), clocks.end());
    }
    timing.kept.clear();
  }

  void run_on_gpu(const ir::Module& module, isa::Target target) {
    CudaJob job{
        report_.assembly->cubin, target, entry_names(module, contract_), options_.gpu_timeout, options_.timing, {}, {}};
    if (plan_ && options_.profile.memory == ProfileMemory::host) job.host_buffer = ProfilePlan::buffer;
    if (notes_clocks()) job.kept = ProfilePlan::buffer;
    report_.cuda = stage("gpu", [&] { return named([&] { return cuda_run(job, contract_); }); });
    if (report_.cuda->timing) report_.work = work_of(contract_);
    if (report_.cuda->outcome != CudaResult::Outcome::finished) report_.findings.report(failure());
  }

  // A kernel that died or hangs, and what may tell why.
  diag::Diagnostic failure() const {
    diag::Diagnostic d;
    d.message = report_.cuda->reason;
    if (report_.cuda->outcome == CudaResult::Outcome::hang && !reads_profile_of_hang())
      d.notes.push_back({"--profile FILE --profile-memory host tells what each role was waiting for", {}});
    const std::vector<std::string>& checks = report_.assembly->tensor_memory_checks;
    if (report_.cuda->outcome == CudaResult::Outcome::fault && !checks.empty())
      d.notes.push_back({fmt::format("a trap may be one of ptxas's checks of tensor memory; cuda-gdb stops in the "
                                     "function that bears its name: {}",
                                     fmt::join(checks, ", ")),
                         {}});
    return d;
  }

  // A large gemm that a GPU did in no time would take the CPU minutes.
  Sample sample() const override {
    constexpr double whole_limit = 0x1p34;  // multiply-adds: some ten seconds of a CPU
    if (!options_.sample && options_.backend == Backend::cuda && work_of(contract_)->operations / 2 > whole_limit)
      return {Sample{}.elements, options_.simulation.seed};
    return Pipeline::sample();
  }

  // Whether cuBLAS was asked for the right product, which is one without factors and epilogue.
  void compare_beside() override {
    if (!report_.cuda || !report_.cuda->timing || !report_.cuda->timing->cublas) return;
    launch::Expectation e = contract_.expectations[0];
    e.factors.clear();
    e.c.clear(), e.beta.clear(), e.bias.clear();
    e.activation = launch::Activation::none;
    launch::Buffer& ours = contract_.at(e.output);
    std::swap(ours, report_.cuda->timing->cublas->d);
    report_.cublas = compare_sample(contract_, e, {std::min<std::uint64_t>(sample().elements, 1024), sample().seed});
    std::swap(ours, report_.cuda->timing->cublas->d);
  }

  std::optional<ProfilePlan> plan_{};
};

}  // namespace

RunReport run_module(ir::Module built, const std::string& name, launch::Contract& contract, const RunOptions& options) {
  return FullPipeline(name, contract, options).run(std::move(built));
}

RunReport run_text(const diag::SourcePtr& source, launch::Contract& contract, const RunOptions& options) {
  return FullPipeline(source->name(), contract, options).run(source);
}

}  // namespace kiln::harness

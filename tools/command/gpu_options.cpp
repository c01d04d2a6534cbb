#include "tools/command/gpu_options.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <optional>

#include "harness/host/files.hpp"
#include "ptx/diag/error.hpp"
#include "tools/command/compare_time.hpp"
#include "tools/command/json.hpp"
#include "tools/command/report/console.hpp"
#include "tools/command/report/numbers.hpp"

namespace kiln::command {
namespace {

constexpr std::uint64_t most_repetitions = 100'000, most_elements = UINT32_MAX;

unsigned count(const std::string& text, const char* option, std::uint64_t least,
               std::uint64_t most = most_repetitions) {
  const std::uint64_t n = whole_number(text, option);
  if (n < least || n > most)
    throw diag::InputError(fmt::format("{}: must be in [{}, {}]; got {}", option, least, most, n));
  return unsigned(n);
}

}  // namespace

void add_gpu_options(CLI::App& sub, GpuArguments& a) {
  constexpr const char* group = "GPU";
  sub.add_option("--timeout", a.timeout, "for each launch [60]")->type_name("SECONDS")->group(group);
  sub.add_flag("--time", a.time, "time the launches, and cuBLAS beside them")->group(group);
  sub.add_flag("--compare-time", a.compare_time,
               "print what kiln time predicts beside what --time measures, or beside the waits that --profile records")
      ->group(group);
  if (!sub.get_option_no_throw("--chip"))  // `gemm` has it already
    sub.add_option("--chip", a.chip, "the chip that --compare-time predicts for [by the GPU's name]")
        ->type_name("CHIP")
        ->group(group);
  sub.add_option("--repetitions", a.repetitions, "to time [20]")->type_name("N")->group(group);
  sub.add_option("--warm-up", a.warm_up, "repetitions before those [5]")->type_name("N")->group(group);
  sub.add_flag("--cublas,!--no-cublas", a.cublas, "time cuBLAS's gemm too [on]")->group(group);
  sub.add_option("--l2", a.l2,
                 "what L2 holds when a repetition begins: something else, or what the one before it left [cold]")
      ->check(one_of({"cold", "warm"}))
      ->type_name("cold|warm")
      ->group(group);
  sub.add_flag("--clocks", a.clocks,
               "time launches whose warps note their SM's clock at both ends: cycles, and the clock under this load")
      ->group(group);
  sub.add_option("--sample", a.sample, "elements of a gemm to compare, or all [all; 4096 of a large gemm on a GPU]")
      ->type_name("N|all");
  sub.add_option("--profile", a.profile, "write which phase each warp was in when, for ui.perfetto.dev")
      ->type_name("FILE.json");
  sub.add_flag("--check-tensor-memory", a.check_tensor_memory,
               "assemble with ptxas's checks of tensor memory, which trap (sm_100 and its kin)")
      ->group(group);
  sub.add_option("--profile-memory", a.profile_memory,
                 "where a GPU writes the profile; host: slower, but readable when the kernel hangs [device]")
      ->check(one_of({"device", "host"}))
      ->type_name("device|host")
      ->group(group);
}

namespace {

void apply_profile(const GpuArguments& a, harness::RunOptions& options) {
  if (a.profile.empty() && !a.profile_memory.empty())
    throw diag::InputError("--profile-memory says where --profile writes, and there is no --profile");
  if (!a.profile.empty() && a.time)
    throw diag::InputError("--profile puts instructions into the kernel, whose --time would be another one's");
  options.profile.file = a.profile;
  if (a.profile_memory == "host") options.profile.memory = harness::ProfileMemory::host;
}

void apply_checks(const GpuArguments& a, harness::RunOptions& options) {
  if (!a.check_tensor_memory) return;
  if (options.backend != harness::Backend::cuda)
    throw diag::InputError("--check-tensor-memory is about code for a GPU: it needs --backend cuda");
  if (a.time)
    throw diag::InputError("--check-tensor-memory puts checks into the kernel, whose --time would be another one's");
  options.tensor_memory_checks = harness::TensorMemoryChecks::on;
}

}  // namespace

void apply(const GpuArguments& a, harness::RunOptions& options) {
  options.gpu_timeout = std::chrono::milliseconds(long(positive_number(a.timeout, "--timeout") * 1000));
  if (a.sample == "all")
    options.sample = 0;
  else if (!a.sample.empty())
    options.sample = count(a.sample, "--sample", 1, most_elements);
  apply_profile(a, options);
  apply_checks(a, options);
  if (!a.chip.empty() && !a.compare_time)
    throw diag::InputError("--chip is the one that --compare-time predicts for, and there is no --compare-time");
  if (a.compare_time && !a.time && a.profile.empty())
    throw diag::InputError("--compare-time compares what --time or --profile measures, and there is neither");
  if (a.compare_time && options.backend != harness::Backend::cuda)
    throw diag::InputError("--compare-time compares what a GPU measures: it needs --backend cuda");
  if (!a.time) {
    for (const auto& [given, option] : {std::pair{!a.repetitions.empty(), "--repetitions"},
                                        {!a.warm_up.empty(), "--warm-up"},
                                        {!a.l2.empty(), "--l2"},
                                        {a.clocks, "--clocks"},
                                        {!a.cublas, "--no-cublas"}})
      if (given) throw diag::InputError(fmt::format("{} says how --time measures, and there is no --time", option));
    return;
  }
  if (options.backend != harness::Backend::cuda)
    throw diag::InputError("--time measures a GPU: it needs --backend cuda (simulated ticks are no time)");
  options.timing.emplace();
  if (!a.repetitions.empty()) options.timing->repetitions = count(a.repetitions, "--repetitions", 1);
  if (!a.warm_up.empty()) options.timing->warm_up = count(a.warm_up, "--warm-up", 0);
  options.timing->l2 = a.l2 == "warm" ? harness::L2State::warm : harness::L2State::cold;
  options.timing->clocks = a.clocks;
  options.timing->beside = a.cublas ? harness::Beside::cublas : harness::Beside::nothing;
}

void print_summary(const GpuArguments& a, const RunFacts& facts, const harness::RunReport& report, bool json,
                   const std::function<Timed()>& timed) {
  std::optional<ComparedTime> compared;
  std::vector<RoleWait> waits;
  if (a.compare_time && !a.profile.empty() && report.cuda && report.finished()) {
    const Timed t = timed();
    const auto bytes = harness::read_file(a.profile);
    waits = compare_waits(report, {bytes.begin(), bytes.end()}, t.ptx, t.contract, facts.options.folder, a.chip);
  }
  if (a.compare_time && report.cuda && report.cuda->timing) {
    const Timed t = timed();
    compared = compare_time(report, t.ptx, t.contract, facts.options.folder, a.chip);
  }
  if (json) {
    const std::string text = summary_json(facts, report);
    print(!waits.empty() ? with_waits(text, waits) : compared ? with_comparison(text, *compared) : text);
  } else {
    print(summary_text(facts, report, colour_of(1)));
    if (compared) print(compared_text(*compared));
    if (!waits.empty()) print(waits_text(waits));
  }
}

int finish_gpu_run(const harness::RunReport& report) {
  const bool hangs = report.cuda && report.cuda->outcome == harness::CudaResult::Outcome::hang;
  if (hangs) std::_Exit(report.exit_code());
  return report.exit_code();
}

}  // namespace kiln::command

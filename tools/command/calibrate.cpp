#include "tools/command/calibrate.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>

#include "harness/calibrate/calibrate.hpp"
#include "harness/calibrate/gpu_machine.hpp"
#include "harness/chip/chip_json.hpp"
#include "harness/host/files.hpp"
#include "ptx/diag/error.hpp"
#include "tools/command/report/console.hpp"

namespace kiln::command {
namespace {

// The chip whose numbers stay where nothing is measured.
std::string base_of(const harness::MachineFacts& facts) {
  if (!facts.target.starts_with("sm_90")) return "b200";
  return harness::chip_of_device(facts.name).value_or("h100");
}

}  // namespace

int calibrate_gpu(const std::string& out, double budget) {
  if (!out.empty() && !out.ends_with(".json")) throw diag::InputError("--out: a chip is a .json file; got " + out);
  if (!out.empty()) harness::check_writable(out);
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(); };
  harness::GpuMachine gpu;
  harness::Calibration result;
  {
    Progress progress;
    result = harness::calibrate(gpu, harness::chip_of(base_of(gpu.facts())), today(),
                                [&](std::string_view probe) {
                                  progress.stage(probe);
                                  return budget <= 0 || seconds() < budget;
                                });
  }
  if (!out.empty()) result.chip.name = std::filesystem::path(out).stem().string();
  const std::string text = harness::write_chip(result.chip);
  if (out.empty()) {
    print(text);
  } else {
    harness::write_file(out, text);
    print(fmt::format("{}: {}, {:.0f} s\n", out, result.chip.title, seconds()));
  }
  for (const std::string& f : result.failures) complain(fmt::format("not measured: {}\n", f));
  return result.failures.empty() ? 0 : 3;
}

}  // namespace kiln::command

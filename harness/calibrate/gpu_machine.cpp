#include "harness/calibrate/gpu_machine.hpp"

#include <fmt/format.h>

#include "harness/gpu/cuda_driver.hpp"
#include "harness/gpu/cuda_timing.hpp"
#include "ptx/diag/refuse.hpp"
#include "ptx/diag/source.hpp"

namespace kiln::harness {
namespace {

constexpr std::chrono::seconds patience{20};

std::string target_of(const Gpu& gpu) { return gpu.architecture() + "a"; }

}  // namespace

GpuMachine::GpuMachine() : ptxas_(find_ptxas()) {
  if (!ptxas_.found()) throw diag::InputError(ptxas_.missing);
  facts_.name = gpu_.name();
  facts_.target = target_of(gpu_);
  const DeviceState state = device_state(gpu_.pci_bus());
  facts_.driver = state.driver;
  facts_.sms = unsigned(gpu_.attribute(cuda::attribute_sms));
  facts_.max_clock = state.sm_most_mhz * 1e-3;
  if (!isa::parse_target(facts_.target))
    diag::refuse("{} is {}: no target is known for it", facts_.name, gpu_.architecture());
}

std::vector<double> GpuMachine::run(const std::string& ptx, launch::Contract& contract) {
  if (hangs_) throw diag::InputError("a kernel before it did not come to its end");
  diag::Sink sink;
  const auto source = std::make_shared<const diag::Source>("microbenchmark.ptx", ptx);
  const isa::Target target = *isa::parse_target(facts_.target);
  if (ptx != assembled_) {  // a loop is run with two counts
    Assembly assembly = assemble(ptxas_, source, target, sink);
    if (assembly.status != Assembly::Status::assembled)
      diag::refuse("ptxas does not assemble it: {}", sink.all().empty() ? assembly.reason : sink.all().front().message);
    assembled_ = ptx, cubin_ = std::move(assembly.cubin);
  }
  CudaJob job;
  job.cubin = cubin_;
  job.target = target;
  job.entries.assign(contract.launches.size(), "probe");
  job.timeout = patience;
  CudaResult result = cuda_run(job, contract);
  if (result.outcome == CudaResult::Outcome::finished) return result.milliseconds;
  gpu_.abandoned = hangs_ = result.outcome == CudaResult::Outcome::hang;
  throw diag::InputError(result.reason);
}

}  // namespace kiln::harness

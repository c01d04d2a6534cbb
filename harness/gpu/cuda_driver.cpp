#include "harness/gpu/cuda_driver.hpp"

#include <fmt/format.h>

#include "harness/gpu/cuda_device.hpp"
#include "harness/gpu/cuda_timing.hpp"
#include "ptx/diag/refuse.hpp"

namespace kiln::harness {
namespace {

using launch::Contract;

void died(Gpu& gpu, CudaResult& result, const std::string& who, cuda::Status status,
          std::chrono::milliseconds timeout) {
  if (status == cuda::not_ready) {
    gpu.abandoned = true;
    result.outcome = CudaResult::Outcome::hang;
    result.reason = fmt::format("{} did not finish within {} s", who, double(timeout.count()) / 1000);
  } else {
    result.outcome = CudaResult::Outcome::fault;
    result.reason = fmt::format("{} died: {}", who, gpu.api().explain(status));
  }
}

// Runs one launch; false when it did not finish, with the reason in `result`.
bool run_launch(Gpu& gpu, const DeviceModule& module, const CudaJob& job, std::size_t index, const Contract& contract,
                const ParameterContext& context, CudaResult& result) {
  const std::string& name = job.entries.at(index);
  const DeviceLaunch launch(gpu, module, name, contract.launches[index], context);
  Stopwatch watch(gpu);
  watch.start();
  launch.start();
  watch.stop();
  const cuda::Status status = watch.wait(job.timeout);
  if (status != cuda::success) {
    died(gpu, result, shown(contract, index, name), status, job.timeout);
    return false;
  }
  result.milliseconds.push_back(watch.milliseconds());
  return true;
}

void run_timed(Gpu& gpu, const DeviceModule& module, const CudaJob& job, const Contract& before, const Contract& after,
               CudaResult& result) {
  result.timing.emplace();
  const TimedWork work{module, job.entries, before, after, job.timeout, job.kept};
  const auto failure = time_launches(gpu, work, *job.timing, *result.timing);
  if (!failure) return;
  result.timing.reset();
  died(gpu, result, fmt::format("{}, while it was timed,", failure->what), failure->status, job.timeout);
}

}  // namespace

CudaResult cuda_run(const CudaJob& job, Contract& contract) {
  Gpu gpu;
  CudaResult result;
  result.device = gpu.name();
  result.architecture = gpu.architecture();
  result.driver = device_state(gpu.pci_bus()).driver;
  gpu.api().cuDriverGetVersion(&result.cuda_version);
  if (!gpu.runs(job.target))
    diag::refuse("the cubin is for {}, the device {} is {}", isa::spelling(job.target), gpu.name(), gpu.architecture());
  const DeviceModule module(gpu, job.cubin);
  std::optional<Contract> before;
  if (job.timing) before = contract;
  {
    const DeviceBuffers buffers(gpu, contract, job.host_buffer);
    const ParameterContext context{
        [&](const std::string& name) { return buffers.address(name); },
        [&](const std::string& name) { return encode(gpu, buffers, name, contract.tensor_maps.at(name)); }};
    for (std::size_t i = 0; i < contract.launches.size(); ++i)
      if (!run_launch(gpu, module, job, i, contract, context, result)) {
        buffers.download_host_buffer(contract);
        return result;
      }
    buffers.download(contract);
  }
  if (job.timing) run_timed(gpu, module, job, *before, contract, result);
  return result;
}

}  // namespace kiln::harness

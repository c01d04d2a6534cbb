#include "harness/cuda_driver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <thread>

#include "harness/cuda_api.hpp"
#include "harness/parameters.hpp"
#include "ptx/diag/error.hpp"

namespace kiln::harness {
namespace {

using launch::Contract;

/// The first GPU, with its primary context current.
class Gpu {
 public:
  Gpu() {
    int count = 0;
    if (api_.cuDeviceGetCount(&count) != cuda::success || count == 0)
      throw diag::InputError("there is a CUDA driver here, but no GPU");
    api_.check(api_.cuDeviceGet(&device_, 0), "the GPU cannot be opened");
    std::array<char, 256> name{};
    api_.cuDeviceGetName(name.data(), int(name.size()) - 1, device_);
    name_ = name.data();
    api_.cuDeviceGetAttribute(&major_, cuda::attribute_capability_major, device_);
    api_.cuDeviceGetAttribute(&minor_, cuda::attribute_capability_minor, device_);
    api_.check(api_.cuDevicePrimaryCtxRetain(&context_, device_), "no context on the GPU");
    api_.check(api_.cuCtxSetCurrent(context_), "no context on the GPU");
  }
  ~Gpu() {
    if (!abandoned) api_.cuDevicePrimaryCtxRelease_v2(device_);
  }
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const cuda::Api& api() const { return api_; }
  const std::string& name() const { return name_; }
  std::string architecture() const { return fmt::format("sm_{}{}", major_, minor_); }
  bool runs(isa::Target t) const { return runs_on(t, major_, minor_); }

  /// A kernel hangs: every call that waits for the GPU would hang too, so nothing is freed.
  bool abandoned = false;

 private:
  const cuda::Api& api_ = cuda::api();
  cuda::Device device_ = 0;
  cuda::Context context_ = nullptr;
  std::string name_;
  int major_ = 0, minor_ = 0;
};

/// The contract's buffers in GPU memory.
class DeviceBuffers {
 public:
  DeviceBuffers(const Gpu& gpu, const Contract& contract) : gpu_(gpu) {
    if (!contract.multimems.empty()) throw diag::InputError("/multimem: no multimem objects on a GPU yet");
    for (const launch::Buffer& b : contract.buffers) {
      const auto what = fmt::format("buffer {} of {} bytes does not fit the GPU", b.name, b.bytes.size());
      gpu.api().check(gpu.api().cuMemAlloc_v2(&at_[b.name], std::max<std::size_t>(b.bytes.size(), 1)), what.c_str());
      gpu.api().check(gpu.api().cuMemcpyHtoD_v2(at_[b.name], b.bytes.data(), b.bytes.size()), what.c_str());
    }
  }
  ~DeviceBuffers() {
    if (!gpu_.abandoned)
      for (const auto& [name, address] : at_) gpu_.api().cuMemFree_v2(address);
  }
  DeviceBuffers(const DeviceBuffers&) = delete;
  DeviceBuffers& operator=(const DeviceBuffers&) = delete;

  cuda::Address address(const std::string& name) const {
    const auto found = at_.find(name);
    if (found == at_.end()) throw diag::InputError(fmt::format("there is no buffer {}", name));
    return found->second;
  }

  void download(Contract& contract) const {
    for (launch::Buffer& b : contract.buffers)
      gpu_.api().check(gpu_.api().cuMemcpyDtoH_v2(b.bytes.data(), address(b.name), b.bytes.size()),
                       "the results cannot be copied back");
  }

 private:
  const Gpu& gpu_;
  std::map<std::string, cuda::Address> at_;
};

/// A loaded cubin.
class DeviceModule {
 public:
  DeviceModule(const Gpu& gpu, const std::vector<std::uint8_t>& cubin) : gpu_(gpu) {
    std::string log(8192, '\0');
    std::array options{cuda::jit_error_log_buffer, cuda::jit_error_log_buffer_bytes};
    std::array<void*, 2> values{log.data(), reinterpret_cast<void*>(log.size())};
    const cuda::Status status =
        gpu.api().cuModuleLoadDataEx(&module_, cubin.data(), unsigned(options.size()), options.data(), values.data());
    if (status == cuda::success) return;
    log.resize(std::strlen(log.c_str()));
    std::replace(log.begin(), log.end(), '\n', ' ');
    throw diag::InputError(fmt::format("the GPU's driver refuses the cubin: {}{}{}", gpu.api().explain(status),
                                       log.empty() ? "" : ": ", log));
  }
  ~DeviceModule() {
    if (!gpu_.abandoned) gpu_.api().cuModuleUnload(module_);
  }
  DeviceModule(const DeviceModule&) = delete;
  DeviceModule& operator=(const DeviceModule&) = delete;

  cuda::Function function(const std::string& name) const {
    cuda::Function f = nullptr;
    gpu_.api().check(gpu_.api().cuModuleGetFunction(&f, module_, name.c_str()), ("no entry " + name).c_str());
    return f;
  }

 private:
  const Gpu& gpu_;
  cuda::Module module_ = nullptr;
};

std::array<std::uint8_t, isa::tensor_map_bytes> encode(const Gpu& gpu, const DeviceBuffers& buffers,
                                                       const std::string& name, const launch::TensorMap& m) {
  const auto type = isa::tensor_map_type(m.dtype, m.is_padded());
  if (!type)
    throw diag::InputError(
        fmt::format("/tensor_maps/{}/dtype: no tensor map of {} on a GPU yet", name, isa::spelling(m.dtype)));
  if (m.im2col && m.im2col->walk != isa::Im2colWalk::window)
    throw diag::InputError(fmt::format("/tensor_maps/{}/im2col/walk: no such tensor map on a GPU yet", name));
  cuda::TensorMapWords words{};
  const auto address = reinterpret_cast<void*>(buffers.address(m.buffer) + m.offset);
  const int swizzle = isa::tensor_map_code(m.swizzle), nan = m.oob == launch::OutOfBounds::nan;
  const cuda::Api& api = gpu.api();
  const auto rank = std::uint32_t(m.rank);
  const cuda::Status status =
      m.im2col ? api.cuTensorMapEncodeIm2col(&words, int(*type), rank, address, m.dims.data(), m.strides.data() + 1,
                                             m.im2col->lower.data(), m.im2col->upper.data(), m.im2col->channels,
                                             m.im2col->pixels, m.element_strides.data(), 0, swizzle, 0, nan)
               : api.cuTensorMapEncodeTiled(&words, int(*type), rank, address, m.dims.data(), m.strides.data() + 1,
                                            m.box.data(), m.element_strides.data(), 0, swizzle, 0, nan);
  if (status != cuda::success)
    throw diag::InputError(fmt::format("/tensor_maps/{}: the driver refuses it: {}", name, gpu.api().explain(status)));
  std::array<std::uint8_t, isa::tensor_map_bytes> bytes;
  static_assert(sizeof words == sizeof bytes);
  std::memcpy(bytes.data(), &words, sizeof words);
  return bytes;
}

/// Two events around a launch.
class Stopwatch {
 public:
  explicit Stopwatch(const Gpu& gpu) : gpu_(gpu) {
    gpu.api().check(gpu.api().cuEventCreate(&start_, 0), "no event on the GPU");
    gpu.api().check(gpu.api().cuEventCreate(&stop_, 0), "no event on the GPU");
  }
  ~Stopwatch() {
    if (gpu_.abandoned) return;
    gpu_.api().cuEventDestroy_v2(start_);
    gpu_.api().cuEventDestroy_v2(stop_);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  void start() { gpu_.api().check(gpu_.api().cuEventRecord(start_, nullptr), "no event on the GPU"); }
  /// A kernel may have died by now; wait() says so.
  void stop() { gpu_.api().cuEventRecord(stop_, nullptr); }

  /// Waits until the second event has passed, the GPU has faulted, or time is up (then not_ready).
  cuda::Status wait(std::chrono::milliseconds timeout) const {
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    while (true) {
      const cuda::Status status = gpu_.api().cuEventQuery(stop_);
      if (status != cuda::not_ready || std::chrono::steady_clock::now() > deadline) return status;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  }

  double milliseconds() const {
    float ms = 0;
    gpu_.api().cuEventElapsedTime(&ms, start_, stop_);
    return double(ms);
  }

 private:
  const Gpu& gpu_;
  cuda::Event start_ = nullptr, stop_ = nullptr;
};

void start_launch(const Gpu& gpu, cuda::Function function, const launch::Launch& l,
                  const std::vector<std::vector<std::uint8_t>>& images) {
  const cuda::Api& api = gpu.api();
  api.check(api.cuFuncSetAttribute(function, cuda::function_max_dynamic_shared, int(l.dynamic_smem)),
            fmt::format("/dynamic_smem: {} bytes are too many", l.dynamic_smem).c_str());
  if (l.cluster.volume() > 8) api.cuFuncSetAttribute(function, cuda::function_non_portable_cluster, 1);
  std::vector<void*> parameters;
  for (const auto& image : images) parameters.push_back(const_cast<std::uint8_t*>(image.data()));
  cuda::LaunchAttribute cluster{};
  cluster.id = cuda::launch_attribute_cluster;
  cluster.cluster = {l.cluster.x, l.cluster.y, l.cluster.z};
  const bool clustered = l.cluster.volume() > 1;  // one CTA: what the PTX says, if it says anything
  const cuda::LaunchConfig config{l.grid.x,  l.grid.y,       l.grid.z, l.block.x, l.block.y,
                                  l.block.z, l.dynamic_smem, nullptr,  &cluster,  clustered ? 1u : 0u};
  api.check(api.cuLaunchKernelEx(&config, function, parameters.data(), nullptr), "the GPU refuses the launch");
}

std::string shown(const launch::Launch& l) {
  return fmt::format("{}x{}x{} CTAs of {} threads, clusters of {}, {} bytes of dynamic shared memory", l.grid.x,
                     l.grid.y, l.grid.z, l.block.volume(), l.cluster.volume(), l.dynamic_smem);
}

// Runs one launch; false when it did not finish, with the reason in `result`.
bool run_launch(Gpu& gpu, const DeviceModule& module, const CudaJob& job, std::size_t index, const launch::Launch& l,
                const ParameterContext& context, CudaResult& result) {
  std::vector<std::vector<std::uint8_t>> images;
  for (const launch::Param& p : l.params) images.push_back(parameter_image(p, context));
  const std::string& name = job.entries.at(index);
  const cuda::Function function = module.function(name);
  Stopwatch watch(gpu);
  watch.start();
  start_launch(gpu, function, l, images);
  watch.stop();
  const cuda::Status status = watch.wait(job.timeout);
  if (status == cuda::success) {
    result.milliseconds.push_back(watch.milliseconds());
    return true;
  }
  const std::string who = fmt::format("launch {} of {}, {} ({})", index + 1, job.entries.size(), name, shown(l));
  if (status == cuda::not_ready) {
    gpu.abandoned = true;
    result.outcome = CudaResult::Outcome::hang;
    result.reason = fmt::format("{} did not finish within {} s", who, double(job.timeout.count()) / 1000);
  } else {
    result.outcome = CudaResult::Outcome::fault;
    result.reason = fmt::format("{} died: {}", who, gpu.api().explain(status));
  }
  return false;
}

}  // namespace

bool runs_on(isa::Target target, int major, int minor) {
  const int target_major = target.sm / 10, target_minor = target.sm % 10;
  if (target_major != major) return false;
  return target.suffix == isa::TargetSuffix::a ? target_minor == minor : target_minor <= minor;
}

CudaResult cuda_run(const CudaJob& job, Contract& contract) {
  Gpu gpu;
  CudaResult result;
  result.device = gpu.name();
  result.architecture = gpu.architecture();
  if (!gpu.runs(job.target))
    throw diag::InputError(fmt::format("the cubin is for {}, the device {} is {}", isa::spelling(job.target),
                                       gpu.name(), gpu.architecture()));
  const DeviceModule module(gpu, job.cubin);
  const DeviceBuffers buffers(gpu, contract);
  const ParameterContext context{
      [&](const std::string& name) { return buffers.address(name); },
      [&](const std::string& name) { return encode(gpu, buffers, name, contract.tensor_maps.at(name)); }};
  for (std::size_t i = 0; i < contract.launches.size(); ++i)
    if (!run_launch(gpu, module, job, i, contract.launches[i], context, result)) return result;
  buffers.download(contract);
  return result;
}

}  // namespace kiln::harness

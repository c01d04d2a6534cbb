#include "harness/gpu/cuda_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "ptx/diag/refuse.hpp"

namespace kiln::harness {

bool runs_on(isa::Target target, int major, int minor) {
  return target.sm / 10 == major && isa::runs_on(target, {major * 10 + minor, isa::TargetSuffix::a});
}

Gpu::Gpu() {
  int count = 0;
  if (api_.cuDeviceGetCount(&count) != cuda::success || count == 0)
    throw diag::InputError("there is a CUDA driver here, but no GPU");
  api_.check(api_.cuDeviceGet(&device_, 0), "the GPU cannot be opened");
  std::array<char, 256> name{};
  api_.cuDeviceGetName(name.data(), int(name.size()) - 1, device_);
  name_ = name.data();
  major_ = int(attribute(cuda::attribute_capability_major));
  minor_ = int(attribute(cuda::attribute_capability_minor));
  api_.check(api_.cuDevicePrimaryCtxRetain(&context_, device_), "no context on the GPU");
  api_.check(api_.cuCtxSetCurrent(context_), "no context on the GPU");
}

Gpu::~Gpu() {
  if (!abandoned) api_.cuDevicePrimaryCtxRelease_v2(device_);
}

std::string Gpu::architecture() const { return fmt::format("sm_{}{}", major_, minor_); }

std::string Gpu::pci_bus() const {
  std::array<char, 64> text{};
  if (api_.cuDeviceGetPCIBusId(text.data(), int(text.size()) - 1, device_) != cuda::success) return {};
  return text.data();
}

std::uint64_t Gpu::attribute(int number) const {
  int value = 0;
  return api_.cuDeviceGetAttribute(&value, number, device_) == cuda::success && value > 0 ? std::uint64_t(value) : 0;
}

std::uint64_t Gpu::free_bytes() const {
  std::size_t free = 0, total = 0;
  api_.check(api_.cuMemGetInfo_v2(&free, &total), "the GPU does not say how much memory is free");
  return free;
}

bool Gpu::runs(isa::Target t) const { return runs_on(t, major_, minor_); }

DeviceMemory::DeviceMemory(const Gpu& gpu, std::uint64_t bytes, const std::string& what) : gpu_(gpu) {
  gpu.api().check(gpu.api().cuMemAlloc_v2(&at_, std::max<std::uint64_t>(bytes, 1)),
                  fmt::format("{} of {} bytes does not fit the GPU", what, bytes).c_str());
}

DeviceMemory::~DeviceMemory() {
  if (!gpu_.abandoned) gpu_.api().cuMemFree_v2(at_);
}

DeviceBuffers::DeviceBuffers(const Gpu& gpu, const launch::Contract& contract, const std::string& host_buffer)
    : gpu_(gpu), host_name_(host_buffer) {
  if (!contract.multimems.empty()) throw diag::InputError("/multimem: no multimem objects on a GPU yet");
  for (const launch::Buffer& b : contract.buffers) {
    const auto what = fmt::format("buffer {} of {} bytes does not fit the GPU", b.name, b.bytes.size());
    const std::size_t bytes = std::max<std::size_t>(b.bytes.size(), 1);
    if (b.name == host_name_) {  // under unified addressing its address is the GPU's too
      gpu.api().check(gpu.api().cuMemHostAlloc(&host_, bytes, cuda::host_device_mapped), what.c_str());
      std::copy(b.bytes.begin(), b.bytes.end(), static_cast<std::uint8_t*>(host_));
      at_[b.name] = reinterpret_cast<cuda::Address>(host_);
      continue;
    }
    gpu.api().check(gpu.api().cuMemAlloc_v2(&at_[b.name], bytes), what.c_str());
    gpu.api().check(gpu.api().cuMemcpyHtoD_v2(at_[b.name], b.bytes.data(), b.bytes.size()), what.c_str());
  }
}

DeviceBuffers::~DeviceBuffers() {
  if (gpu_.abandoned) return;
  for (const auto& [name, address] : at_)
    if (name != host_name_) gpu_.api().cuMemFree_v2(address);
  if (host_) gpu_.api().cuMemFreeHost(host_);
}

cuda::Address DeviceBuffers::address(const std::string& name) const {
  const auto found = at_.find(name);
  if (found == at_.end()) diag::refuse("there is no buffer {}", name);
  return found->second;
}

void DeviceBuffers::download(launch::Contract& contract) const {
  download_host_buffer(contract);
  for (launch::Buffer& b : contract.buffers)
    if (b.name != host_name_)
      gpu_.api().check(gpu_.api().cuMemcpyDtoH_v2(b.bytes.data(), address(b.name), b.bytes.size()),
                       "the results cannot be copied back");
}

void DeviceBuffers::download_host_buffer(launch::Contract& contract) const {
  if (!host_) return;
  std::vector<std::uint8_t>& bytes = contract.at(host_name_).bytes;
  std::memcpy(bytes.data(), host_, bytes.size());
}

std::array<std::uint8_t, isa::tensor_map_bytes> encode(const Gpu& gpu, const DeviceBuffers& buffers,
                                                       const std::string& name, const launch::TensorMap& m) {
  const auto type = isa::tensor_map_type(m.dtype, m.is_padded());
  if (!type) diag::refuse("/tensor_maps/{}/dtype: no tensor map of {} on a GPU yet", name, isa::spelling(m.dtype));
  if (m.im2col && m.im2col->walk != isa::Im2colWalk::window)
    diag::refuse("/tensor_maps/{}/im2col/walk: no such tensor map on a GPU yet", name);
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
  if (status != cuda::success) diag::refuse("/tensor_maps/{}: the driver refuses it: {}", name, api.explain(status));
  std::array<std::uint8_t, isa::tensor_map_bytes> bytes;
  static_assert(sizeof words == sizeof bytes);
  std::memcpy(bytes.data(), &words, sizeof words);
  return bytes;
}

DeviceModule::DeviceModule(const Gpu& gpu, const std::vector<std::uint8_t>& cubin) : gpu_(gpu) {
  std::string log(8192, '\0');
  std::array options{cuda::jit_error_log_buffer, cuda::jit_error_log_buffer_bytes};
  std::array<void*, 2> values{log.data(), reinterpret_cast<void*>(log.size())};
  const cuda::Status status =
      gpu.api().cuModuleLoadDataEx(&module_, cubin.data(), unsigned(options.size()), options.data(), values.data());
  if (status == cuda::success) return;
  log.resize(std::strlen(log.c_str()));
  std::replace(log.begin(), log.end(), '\n', ' ');
  diag::refuse("the GPU's driver refuses the cubin: {}{}{}", gpu.api().explain(status), log.empty() ? "" : ": ", log);
}

DeviceModule::~DeviceModule() {
  if (!gpu_.abandoned) gpu_.api().cuModuleUnload(module_);
}

cuda::Function DeviceModule::function(const std::string& name) const {
  cuda::Function f = nullptr;
  gpu_.api().check(gpu_.api().cuModuleGetFunction(&f, module_, name.c_str()), ("no entry " + name).c_str());
  return f;
}

Stopwatch::Stopwatch(const Gpu& gpu) : gpu_(gpu) {
  gpu.api().check(gpu.api().cuEventCreate(&start_, 0), "no event on the GPU");
  gpu.api().check(gpu.api().cuEventCreate(&stop_, 0), "no event on the GPU");
}

Stopwatch::~Stopwatch() {
  if (gpu_.abandoned) return;
  gpu_.api().cuEventDestroy_v2(start_);
  gpu_.api().cuEventDestroy_v2(stop_);
}

void Stopwatch::start() { gpu_.api().check(gpu_.api().cuEventRecord(start_, nullptr), "no event on the GPU"); }

void Stopwatch::stop() { gpu_.api().cuEventRecord(stop_, nullptr); }

cuda::Status Stopwatch::wait(std::chrono::milliseconds timeout) const {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (true) {
    const cuda::Status status = gpu_.api().cuEventQuery(stop_);
    if (status != cuda::not_ready || std::chrono::steady_clock::now() > deadline) return status;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

double Stopwatch::milliseconds() const {
  float ms = 0;
  gpu_.api().cuEventElapsedTime(&ms, start_, stop_);
  return double(ms);
}

DeviceLaunch::DeviceLaunch(const Gpu& gpu, const DeviceModule& module, const std::string& entry,
                           const launch::Launch& l, const ParameterContext& context)
    : gpu_(gpu), function_(module.function(entry)), launch_(l) {
  for (const launch::Param& p : l.params) images_.push_back(parameter_image(p, context));
}

void DeviceLaunch::start() const {
  const launch::Launch& l = launch_;
  const cuda::Api& api = gpu_.api();
  api.check(api.cuFuncSetAttribute(function_, cuda::function_max_dynamic_shared, int(l.dynamic_smem)),
            fmt::format("/dynamic_smem: {} bytes are too many", l.dynamic_smem).c_str());
  if (l.cluster.volume() > 8) api.cuFuncSetAttribute(function_, cuda::function_non_portable_cluster, 1);
  std::vector<void*> parameters;
  for (const auto& image : images_) parameters.push_back(const_cast<std::uint8_t*>(image.data()));
  cuda::LaunchAttribute cluster{};
  cluster.id = cuda::launch_attribute_cluster;
  cluster.cluster = {l.cluster.x, l.cluster.y, l.cluster.z};
  const bool clustered = l.cluster.volume() > 1;  // one CTA: what the PTX says, if it says anything
  const cuda::LaunchConfig config{l.grid.x,  l.grid.y,       l.grid.z, l.block.x, l.block.y,
                                  l.block.z, l.dynamic_smem, nullptr,  &cluster,  clustered ? 1u : 0u};
  api.check(api.cuLaunchKernelEx(&config, function_, parameters.data(), nullptr), "the GPU refuses the launch");
}

std::string shown(const launch::Contract& contract, std::size_t index, const std::string& entry) {
  const launch::Launch& l = contract.launches.at(index);
  return fmt::format(
      "launch {} of {}, {} ({}x{}x{} CTAs of {} threads, clusters of {}, {} bytes of dynamic shared "
      "memory)",
      index + 1, contract.launches.size(), entry, l.grid.x, l.grid.y, l.grid.z, l.block.volume(), l.cluster.volume(),
      l.dynamic_smem);
}

}  // namespace kiln::harness

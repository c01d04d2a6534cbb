// A GPU and what is on it, each thing for as long as its object: the parts that running and timing are made of.
#pragma once

#include <array>
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "harness/entry/parameters.hpp"
#include "harness/gpu/cuda_api.hpp"
#include "launch/contract.hpp"
#include "ptx/isa/targets.hpp"

namespace kiln::harness {

/// The first GPU, with its primary context current. Throws InputError when there is none.
class Gpu {
 public:
  Gpu();
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  const cuda::Api& api() const { return api_; }
  const std::string& name() const { return name_; }
  /// "sm_90".
  std::string architecture() const;
  /// "0000:0F:00.0"; empty where the driver does not say.
  std::string pci_bus() const;
  /// One of the driver's device attributes; 0 where there is none of that number.
  std::uint64_t attribute(int number) const;
  std::uint64_t free_bytes() const;
  bool runs(isa::Target) const;

  /// A kernel hangs: every call that waits for the GPU would hang too, so nothing is freed.
  bool abandoned = false;

 private:
  const cuda::Api& api_ = cuda::api();
  cuda::Device device_ = 0;
  cuda::Context context_ = nullptr;
  std::string name_;
  int major_ = 0, minor_ = 0;
};

/// True when code assembled for `target` runs on a device of compute capability `major`.`minor`.
bool runs_on(isa::Target target, int major, int minor);

/// Memory on a GPU. Throws InputError, which begins with `what`, where it does not fit.
class DeviceMemory {
 public:
  DeviceMemory(const Gpu&, std::uint64_t bytes, const std::string& what);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  cuda::Address address() const { return at_; }

 private:
  const Gpu& gpu_;
  cuda::Address at_ = 0;
};

/// A contract's buffers in GPU memory, filled with what the contract's hold; one of them may lie in the host's instead.
class DeviceBuffers {
 public:
  DeviceBuffers(const Gpu&, const launch::Contract&, const std::string& host_buffer = {});
  ~DeviceBuffers();
  DeviceBuffers(const DeviceBuffers&) = delete;
  DeviceBuffers& operator=(const DeviceBuffers&) = delete;

  /// Throws InputError when there is no such buffer.
  cuda::Address address(const std::string& name) const;
  void download(launch::Contract&) const;
  /// Only what lies in the host's memory, as it stands, whatever the GPU does.
  void download_host_buffer(launch::Contract&) const;

 private:
  const Gpu& gpu_;
  std::map<std::string, cuda::Address> at_;
  std::string host_name_;
  void* host_ = nullptr;
};

/// The tensor map of that name, encoded by the driver, over the buffers where they lie. Throws InputError for maps that
/// are not for GPUs yet and those that the driver refuses.
std::array<std::uint8_t, isa::tensor_map_bytes> encode(const Gpu&, const DeviceBuffers&, const std::string& name,
                                                       const launch::TensorMap&);

/// A loaded cubin. Throws InputError when the driver refuses it.
class DeviceModule {
 public:
  DeviceModule(const Gpu&, const std::vector<std::uint8_t>& cubin);
  ~DeviceModule();
  DeviceModule(const DeviceModule&) = delete;
  DeviceModule& operator=(const DeviceModule&) = delete;
  cuda::Function function(const std::string& name) const;

 private:
  const Gpu& gpu_;
  cuda::Module module_ = nullptr;
};

/// Two events around work.
class Stopwatch {
 public:
  explicit Stopwatch(const Gpu&);
  ~Stopwatch();
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

  void start();
  /// A kernel may have died by now; wait() reports it.
  void stop();
  /// Waits until the second event has passed, the GPU has faulted, or time is up (then not_ready).
  cuda::Status wait(std::chrono::milliseconds timeout) const;
  double milliseconds() const;

 private:
  const Gpu& gpu_;
  cuda::Event start_ = nullptr, stop_ = nullptr;
};

/// One launch over one set of buffers, with its parameters ready to be passed again and again.
class DeviceLaunch {
 public:
  /// Throws InputError when the entry is not there, for tensor maps and parameters that cannot be.
  DeviceLaunch(const Gpu&, const DeviceModule&, const std::string& entry, const launch::Launch&,
               const ParameterContext&);
  /// Puts it into the default stream. Throws InputError when the driver refuses it.
  void start() const;

 private:
  const Gpu& gpu_;
  cuda::Function function_ = nullptr;
  const launch::Launch& launch_;
  std::vector<std::vector<std::uint8_t>> images_;
};

/// "launch 2 of 3, gemm (4x2x1 CTAs of 192 threads, clusters of 1, 229376 bytes of dynamic shared memory)".
std::string shown(const launch::Contract&, std::size_t index, const std::string& entry);

}  // namespace kiln::harness

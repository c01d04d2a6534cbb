#include <dlfcn.h>

#include <array>
#include <optional>
#include <type_traits>

#include "harness/gpu/cuda_timing.hpp"

namespace kiln::harness {
namespace {

using Device = struct DeviceTag*;

// From nvml.h.
constexpr int clock_sm = 1, clock_memory = 2, success = 0;

struct Nvml {
  int (*nvmlInit_v2)();
  int (*nvmlSystemGetDriverVersion)(char* version, unsigned size);
  int (*nvmlDeviceGetHandleByPciBusId_v2)(const char* bus, Device*);
  int (*nvmlDeviceGetClockInfo)(Device, int clock, unsigned* mhz);
  int (*nvmlDeviceGetMaxClockInfo)(Device, int clock, unsigned* mhz);
  int (*nvmlDeviceGetPowerUsage)(Device, unsigned* milliwatts);
  int (*nvmlDeviceGetEnforcedPowerLimit)(Device, unsigned* milliwatts);
};

std::optional<Nvml> load_nvml() {
  void* handle = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!handle) return std::nullopt;
  Nvml a{};
  bool whole = true;
  const auto bind = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
    whole = whole && function;
  };
#define BIND(name) bind(a.name, #name)
  BIND(nvmlInit_v2), BIND(nvmlSystemGetDriverVersion), BIND(nvmlDeviceGetHandleByPciBusId_v2);
  BIND(nvmlDeviceGetClockInfo), BIND(nvmlDeviceGetMaxClockInfo), BIND(nvmlDeviceGetPowerUsage);
  BIND(nvmlDeviceGetEnforcedPowerLimit);
#undef BIND
  if (!whole || a.nvmlInit_v2() != success) return std::nullopt;
  return a;
}

}  // namespace

DeviceState device_state(const std::string& pci_bus) {
  static const std::optional<Nvml> api = load_nvml();
  DeviceState s;
  if (!api) return s;
  std::array<char, 96> version{};
  if (api->nvmlSystemGetDriverVersion(version.data(), unsigned(version.size()) - 1) == success)
    s.driver = version.data();
  Device device = nullptr;
  if (api->nvmlDeviceGetHandleByPciBusId_v2(pci_bus.c_str(), &device) != success) return s;
  api->nvmlDeviceGetClockInfo(device, clock_sm, &s.sm_mhz);
  api->nvmlDeviceGetMaxClockInfo(device, clock_sm, &s.sm_most_mhz);
  api->nvmlDeviceGetClockInfo(device, clock_memory, &s.memory_mhz);
  unsigned used = 0, allowed = 0;
  api->nvmlDeviceGetPowerUsage(device, &used);
  api->nvmlDeviceGetEnforcedPowerLimit(device, &allowed);
  s.watts = used * 1e-3, s.watts_allowed = allowed * 1e-3;
  return s;
}

}  // namespace kiln::harness

#include "harness/gpu/cuda_api.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <type_traits>

#include "ptx/diag/refuse.hpp"

namespace kiln::harness::cuda {
namespace {

constexpr const char* library = "libcuda.so.1";

Api load() {
  void* handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle) diag::refuse("no CUDA driver here: {}", ::dlerror());
  Api a{};
  const auto bind = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
    if (!function) diag::refuse("{} has no {}: the CUDA driver is too old", library, name);
  };
#define BIND(name) bind(a.name, #name)
  BIND(cuInit), BIND(cuDriverGetVersion), BIND(cuDeviceGetCount), BIND(cuDeviceGet), BIND(cuDeviceGetName);
  BIND(cuDeviceGetPCIBusId), BIND(cuMemGetInfo_v2), BIND(cuMemcpyDtoDAsync_v2), BIND(cuMemsetD8Async);
  BIND(cuMemHostAlloc), BIND(cuMemFreeHost);
  BIND(cuDeviceGetAttribute), BIND(cuDevicePrimaryCtxRetain), BIND(cuDevicePrimaryCtxRelease_v2);
  BIND(cuCtxSetCurrent), BIND(cuCtxSynchronize), BIND(cuModuleLoadDataEx), BIND(cuModuleUnload);
  BIND(cuModuleGetFunction), BIND(cuFuncSetAttribute), BIND(cuMemAlloc_v2), BIND(cuMemFree_v2);
  BIND(cuMemcpyHtoD_v2), BIND(cuMemcpyDtoH_v2), BIND(cuTensorMapEncodeTiled), BIND(cuTensorMapEncodeIm2col);
  BIND(cuLaunchKernelEx), BIND(cuEventCreate), BIND(cuEventDestroy_v2), BIND(cuEventRecord), BIND(cuEventQuery);
  BIND(cuEventElapsedTime), BIND(cuGetErrorName), BIND(cuGetErrorString);
#undef BIND
  a.check(a.cuInit(0), "the CUDA driver cannot start");
  return a;
}

}  // namespace

std::string Api::explain(Status status) const {
  const char *name = nullptr, *text = nullptr;
  cuGetErrorName(status, &name);
  cuGetErrorString(status, &text);
  return fmt::format("{}, {}", name ? name : std::to_string(status).c_str(), text ? text : "no explanation");
}

void Api::check(Status status, const char* what) const {
  if (status != success) diag::refuse("{}: {}", what, explain(status));
}

const Api& api() {
  static const Api loaded = load();
  return loaded;
}

}  // namespace kiln::harness::cuda

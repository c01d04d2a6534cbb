// The part of the CUDA driver's interface that Kiln calls. It is declared here so that building needs no CUDA, and
// running needs none until a GPU is asked for. The names carry the version suffixes that macros in cuda.h add.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace kiln::harness::cuda {

using Status = int;  // CUresult
using Device = int;
using Address = std::uint64_t;
using Context = struct ContextTag*;
using Module = struct ModuleTag*;
using Function = struct FunctionTag*;
using Stream = struct StreamTag*;
using Event = struct EventTag*;

inline constexpr Status success = 0, out_of_memory = 2, no_device = 100, not_ready = 600;
inline constexpr int attribute_capability_major = 75, attribute_capability_minor = 76, attribute_l2_bytes = 38;
inline constexpr int attribute_sms = 16;
inline constexpr unsigned host_device_mapped = 2;
inline constexpr int function_max_dynamic_shared = 8, function_non_portable_cluster = 14;
inline constexpr int jit_error_log_buffer = 5, jit_error_log_buffer_bytes = 6;
inline constexpr int launch_attribute_cluster = 4;

/// CUtensorMap.
struct alignas(64) TensorMapWords {
  std::uint64_t words[16];
};

/// CUlaunchAttribute, whose value Kiln uses for cluster dimensions alone.
struct LaunchAttribute {
  int id;
  int padding;
  union {
    char bytes[64];
    struct {
      unsigned x, y, z;
    } cluster;
  };
};

/// CUlaunchConfig.
struct LaunchConfig {
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, dynamic_shared;
  Stream stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

/// The driver's functions.
struct Api {
  Status (*cuInit)(unsigned flags);
  Status (*cuDriverGetVersion)(int* version);
  Status (*cuDeviceGetCount)(int* count);
  Status (*cuDeviceGet)(Device*, int ordinal);
  Status (*cuDeviceGetName)(char* name, int size, Device);
  Status (*cuDeviceGetAttribute)(int* value, int attribute, Device);
  Status (*cuDeviceGetPCIBusId)(char* text, int size, Device);
  Status (*cuDevicePrimaryCtxRetain)(Context*, Device);
  Status (*cuDevicePrimaryCtxRelease_v2)(Device);
  Status (*cuCtxSetCurrent)(Context);
  Status (*cuCtxSynchronize)();
  Status (*cuModuleLoadDataEx)(Module*, const void* image, unsigned count, int* options, void** values);
  Status (*cuModuleUnload)(Module);
  Status (*cuModuleGetFunction)(Function*, Module, const char* name);
  Status (*cuFuncSetAttribute)(Function, int attribute, int value);
  Status (*cuMemAlloc_v2)(Address*, std::size_t bytes);
  Status (*cuMemFree_v2)(Address);
  Status (*cuMemGetInfo_v2)(std::size_t* free, std::size_t* total);
  Status (*cuMemHostAlloc)(void**, std::size_t bytes, unsigned flags);
  Status (*cuMemFreeHost)(void*);
  Status (*cuMemcpyHtoD_v2)(Address, const void*, std::size_t bytes);
  Status (*cuMemcpyDtoH_v2)(void*, Address, std::size_t bytes);
  Status (*cuMemcpyDtoDAsync_v2)(Address to, Address from, std::size_t bytes, Stream);
  Status (*cuMemsetD8Async)(Address, unsigned char, std::size_t bytes, Stream);
  Status (*cuTensorMapEncodeTiled)(TensorMapWords*, int type, std::uint32_t rank, void* address,
                                   const std::uint64_t* dims, const std::uint64_t* strides, const std::uint32_t* box,
                                   const std::uint32_t* element_strides, int interleave, int swizzle, int l2, int oob);
  Status (*cuTensorMapEncodeIm2col)(TensorMapWords*, int type, std::uint32_t rank, void* address,
                                    const std::uint64_t* dims, const std::uint64_t* strides, const int* lower,
                                    const int* upper, std::uint32_t channels, std::uint32_t pixels,
                                    const std::uint32_t* element_strides, int interleave, int swizzle, int l2, int oob);
  Status (*cuLaunchKernelEx)(const LaunchConfig*, Function, void** parameters, void** extra);
  Status (*cuEventCreate)(Event*, unsigned flags);
  Status (*cuEventDestroy_v2)(Event);
  Status (*cuEventRecord)(Event, Stream);
  Status (*cuEventQuery)(Event);
  Status (*cuEventElapsedTime)(float* milliseconds, Event, Event);
  Status (*cuGetErrorName)(Status, const char**);
  Status (*cuGetErrorString)(Status, const char**);

  /// "CUDA_ERROR_ILLEGAL_ADDRESS, an illegal memory access was encountered".
  std::string explain(Status) const;
  /// Throws InputError "what: the driver's explanation" unless the status is success.
  void check(Status, const char* what) const;
};

/// The driver, loaded and initialised on the first call. Throws InputError saying what is missing.
const Api& api();

}  // namespace kiln::harness::cuda

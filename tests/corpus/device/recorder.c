// A CUDA driver and runtime without a GPU: memory is the host's, nothing runs, and every launch is told to a hook. With
// it the host code of other compilers' kernels fills parameters and tensor maps as it does on a machine with a GPU.
#define _GNU_SOURCE
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef cuGetProcAddress
#undef cudaGetDeviceProperties
#define EXPORT __attribute__((visibility("default")))

// The image that holds a kernel is 0 where the program registered it when it started.
typedef void (*LaunchHook)(const void* image, const char* kernel, const unsigned* extents, unsigned shared,
                           void** values, int dependent);
typedef void (*MapHook)(void* map, int type, int rank, void* address, const cuuint64_t* dims, const cuuint64_t* strides,
                        const cuuint32_t* box, const cuuint32_t* steps, int interleave, int swizzle, int fill);
typedef void (*ImageHook)(const void* image);

static LaunchHook on_launch;
static MapHook on_map;
static ImageHook on_image;
EXPORT void recorder_set_hooks(LaunchHook launch, MapHook map, ImageHook image) {
  on_launch = launch;
  on_map = map;
  on_image = image;
}

struct Kernel {
  const void* image;
  const void* host;  // the function that stands for it in a host program
  char* name;
  unsigned shared;
  int cluster[3];
};
#define MOST 65536
static struct Kernel kernels[MOST];
static int kernel_count;

static struct Kernel* kernel_of(const void* image, const void* host, const char* name) {
  if (kernel_count == MOST) abort();
  struct Kernel* k = &kernels[kernel_count++];
  k->image = image;
  k->host = host;
  k->name = strdup(name);
  return k;
}

static struct Kernel* find(const void* handle) {
  if (handle >= (void*)kernels && handle < (void*)(kernels + MOST)) return (struct Kernel*)handle;
  for (int i = 0; i < kernel_count; ++i)
    if (kernels[i].host == handle) return &kernels[i];
  return NULL;
}

static int launch(const void* handle, dim3 grid, dim3 block, size_t shared, const void* attributes, unsigned count,
                  void** values) {
  const struct Kernel* k = find(handle);
  if (k == NULL || on_launch == NULL) return 1;
  dim3 cluster = {1, 1, 1};
  int dependent = 0;
  const CUlaunchAttribute* each = attributes;  // a cudaLaunchAttribute has the same layout
  for (unsigned i = 0; i < count; ++i) {
    if (each[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION && each[i].value.clusterDim.x)
      cluster = (dim3){each[i].value.clusterDim.x, each[i].value.clusterDim.y, each[i].value.clusterDim.z};
    if (each[i].id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
      dependent = each[i].value.programmaticStreamSerializationAllowed;
  }
  const unsigned extents[9] = {grid.x, grid.y, grid.z, block.x, block.y, block.z, cluster.x, cluster.y, cluster.z};
  on_launch(k->image, k->name, extents, (unsigned)shared, values, dependent);
  return 0;
}

// A B200, as far as anything here asks.
static int attribute(int which) {
  switch (which) {
    case cudaDevAttrMaxThreadsPerBlock: return 1024;
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY: return 1024;
    case cudaDevAttrMaxBlockDimZ: return 64;
    case cudaDevAttrMaxGridDimX: return 2147483647;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ: return 65535;
    case cudaDevAttrMaxSharedMemoryPerBlock: return 49152;
    case cudaDevAttrWarpSize: return 32;
    case cudaDevAttrMaxRegistersPerBlock:
    case cudaDevAttrMaxRegistersPerMultiprocessor: return 65536;
    case cudaDevAttrMultiProcessorCount: {
      const char* sms = getenv("RECORDER_SMS");
      return sms ? atoi(sms) : 148;
    }
    case cudaDevAttrMaxThreadsPerMultiProcessor: return 2048;
    case cudaDevAttrMaxBlocksPerMultiprocessor: return 32;
    case cudaDevAttrComputeCapabilityMajor: return 10;
    case cudaDevAttrComputeCapabilityMinor: return 0;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: return 233472;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: return 232448;
    case cudaDevAttrReservedSharedMemoryPerBlock: return 1024;
    case cudaDevAttrL2CacheSize: return 132644864;
    case cudaDevAttrClockRate: return 1965000;
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrUnifiedAddressing:
    case cudaDevAttrMemoryPoolsSupported:
    case cudaDevAttrConcurrentKernels:
    case 124 /* tensor maps */:
    case 120 /* clusters */: return 1;
    default: return 0;
  }
}

#define OK(result, name, ...) \
  EXPORT result name(__VA_ARGS__) { return (result)0; }

// The driver.
OK(CUresult, cuInit, unsigned flags)
EXPORT CUresult cuDriverGetVersion(int* version) {
  *version = 13000;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = 0;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuDeviceGetCount(int* count) {
  *count = 1;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice device) {
  *value = attribute((int)which);
  return CUDA_SUCCESS;
}
EXPORT CUresult cuDeviceGetName(char* name, int size, CUdevice device) {
  snprintf(name, (size_t)size, "NVIDIA B200");
  return CUDA_SUCCESS;
}
EXPORT CUresult cuCtxGetDevice(CUdevice* device) {
  *device = 0;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = (CUcontext)1;
  return CUDA_SUCCESS;
}
OK(CUresult, cuCtxSetCurrent, CUcontext context)
OK(CUresult, cuCtxSetLimit, CUlimit limit, size_t value)
EXPORT CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
  *value = 0;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  *context = (CUcontext)1;
  return CUDA_SUCCESS;
}
OK(CUresult, cuCtxResetPersistingL2Cache, void)
EXPORT CUresult cuGetErrorName(CUresult error, const char** name) {
  *name = "an error";
  return CUDA_SUCCESS;
}
EXPORT CUresult cuGetErrorString(CUresult error, const char** name) {
  *name = "an error";
  return CUDA_SUCCESS;
}
EXPORT CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  if (on_image) on_image(image);
  *module = (CUmodule)image;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count, CUjit_option* options,
                                   void** values) {
  return cuModuleLoadData(module, image);
}
OK(CUresult, cuModuleUnload, CUmodule module)
EXPORT CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  *function = (CUfunction)kernel_of(module, NULL, name);
  return CUDA_SUCCESS;
}
EXPORT CUresult cuModuleGetGlobal_v2(CUdeviceptr* at, size_t* size, CUmodule module, const char* name) {
  return CUDA_ERROR_NOT_FOUND;
}
EXPORT CUresult cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option* options, void** values,
                                  unsigned count, CUlibraryOption* more, void** its, unsigned its_count) {
  return cuModuleLoadData((CUmodule*)library, image);
}
EXPORT CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  return cuModuleGetFunction((CUfunction*)kernel, (CUmodule)library, name);
}
EXPORT CUresult cuLibraryGetKernelCount(unsigned* count, CUlibrary library) {
  *count = 1;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned count, CUlibrary library) {
  for (unsigned i = 0; i < count; ++i) kernels[i] = (CUkernel)kernel_of(library, NULL, "enumerated");
  return CUDA_SUCCESS;
}
EXPORT CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction function, const CUlaunchConfig* config) {
  *clusters = 8;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int size, size_t shared) {
  *blocks = 1;
  return CUDA_SUCCESS;
}
OK(CUresult, cuLibraryUnload, CUlibrary library)
EXPORT CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  *function = (CUfunction)kernel;
  return CUDA_SUCCESS;
}
OK(CUresult, cuFuncSetAttribute, CUfunction function, CUfunction_attribute which, int value)
EXPORT CUresult cuFuncGetAttribute(int* value, CUfunction_attribute which, CUfunction function) {
  *value = which == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuKernelGetAttribute(int* value, CUfunction_attribute which, CUkernel kernel, CUdevice device) {
  return cuFuncGetAttribute(value, which, (CUfunction)kernel);
}
OK(CUresult, cuKernelSetAttribute, CUfunction_attribute which, int value, CUkernel kernel, CUdevice device)
OK(CUresult, cuStreamSetAttribute, CUstream stream, CUstreamAttrID which, const CUstreamAttrValue* value)
EXPORT CUresult cuMemsetD32_v2(CUdeviceptr at, unsigned value, size_t count) {
  for (size_t i = 0; i < count; ++i) ((unsigned*)at)[i] = value;
  return CUDA_SUCCESS;
}
EXPORT CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                               unsigned bz, unsigned shared, CUstream stream, void** values, void** extra) {
  return (CUresult)launch(function, (dim3){gx, gy, gz}, (dim3){bx, by, bz}, shared, NULL, 0, values);
}
EXPORT CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                          unsigned by, unsigned bz, unsigned shared, CUstream stream, void** values) {
  return (CUresult)launch(function, (dim3){gx, gy, gz}, (dim3){bx, by, bz}, shared, NULL, 0, values);
}
EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig* c, CUfunction function, void** values, void** extra) {
  return (CUresult)launch(function, (dim3){c->gridDimX, c->gridDimY, c->gridDimZ},
                          (dim3){c->blockDimX, c->blockDimY, c->blockDimZ}, c->sharedMemBytes, c->attrs, c->numAttrs,
                          values);
}
EXPORT CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                       const cuuint64_t* dims, const cuuint64_t* strides, const cuuint32_t* box,
                                       const cuuint32_t* steps, CUtensorMapInterleave interleave,
                                       CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion,
                                       CUtensorMapFloatOOBfill fill) {
  memset(map, 0, sizeof *map);
  if (on_map)
    on_map(map, (int)type, (int)rank, address, dims, strides, box, steps, (int)interleave, (int)swizzle, (int)fill);
  return CUDA_SUCCESS;
}
EXPORT CUresult cuGetProcAddress_v2(const char* name, void** at, int version, cuuint64_t flags,
                                    CUdriverProcAddressQueryResult* status) {
  *at = dlsym(RTLD_DEFAULT, name);
  return *at ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

// The runtime.
EXPORT cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
EXPORT cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
OK(cudaError_t, cudaSetDevice, int device)
EXPORT cudaError_t cudaDriverGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}
EXPORT cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = 13000;
  return cudaSuccess;
}
EXPORT cudaError_t cudaDeviceGetAttribute(int* value, enum cudaDeviceAttr which, int device) {
  *value = attribute((int)which);
  return cudaSuccess;
}
EXPORT cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp* p, int device) {
  memset(p, 0, sizeof *p);
  snprintf(p->name, sizeof p->name, "NVIDIA B200");
  p->major = 10;
  p->multiProcessorCount = attribute(cudaDevAttrMultiProcessorCount);
  p->sharedMemPerBlockOptin = 232448;
  p->sharedMemPerMultiprocessor = 233472;
  p->sharedMemPerBlock = 49152;
  p->maxThreadsPerBlock = 1024;
  p->maxThreadsPerMultiProcessor = 2048;
  p->warpSize = 32;
  p->regsPerBlock = p->regsPerMultiprocessor = 65536;
  p->l2CacheSize = 132644864;
  return cudaSuccess;
}
OK(cudaError_t, cudaDeviceSynchronize, void)
OK(cudaError_t, cudaGetLastError, void)
OK(cudaError_t, cudaPeekAtLastError, void)
EXPORT const char* cudaGetErrorName(cudaError_t error) { return "an error"; }
EXPORT const char* cudaGetErrorString(cudaError_t error) { return "an error"; }
EXPORT cudaError_t cudaMalloc(void** at, size_t size) {
  *at = aligned_alloc(256, (size + 255) / 256 * 256);
  return cudaSuccess;
}
EXPORT cudaError_t cudaMallocAsync(void** at, size_t size, cudaStream_t stream) { return cudaMalloc(at, size); }
EXPORT cudaError_t cudaMallocManaged(void** at, size_t size, unsigned flags) { return cudaMalloc(at, size); }
EXPORT cudaError_t cudaMallocHost(void** at, size_t size) { return cudaMalloc(at, size); }
EXPORT cudaError_t cudaFree(void* at) {
  free(at);
  return cudaSuccess;
}
EXPORT cudaError_t cudaFreeAsync(void* at, cudaStream_t stream) { return cudaFree(at); }
EXPORT cudaError_t cudaFreeHost(void* at) { return cudaFree(at); }
EXPORT cudaError_t cudaMemcpy(void* to, const void* from, size_t size, enum cudaMemcpyKind kind) {
  memcpy(to, from, size);
  return cudaSuccess;
}
EXPORT cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, enum cudaMemcpyKind kind, cudaStream_t s) {
  return cudaMemcpy(to, from, size, kind);
}
EXPORT cudaError_t cudaMemset(void* at, int value, size_t size) {
  memset(at, value, size);
  return cudaSuccess;
}
EXPORT cudaError_t cudaMemsetAsync(void* at, int value, size_t size, cudaStream_t stream) {
  return cudaMemset(at, value, size);
}
OK(cudaError_t, cudaFuncSetAttribute, const void* kernel, enum cudaFuncAttribute which, int value)
OK(cudaError_t, cudaFuncSetCacheConfig, const void* kernel, enum cudaFuncCache which)
EXPORT cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes* a, const void* kernel) {
  memset(a, 0, sizeof *a);
  a->maxThreadsPerBlock = 1024;
  a->numRegs = 64;
  return cudaSuccess;
}
OK(cudaError_t, cudaKernelSetAttributeForDevice, cudaKernel_t kernel, enum cudaFuncAttribute which, int value,
   int device)
EXPORT cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel, int size,
                                                                 size_t shared) {
  *blocks = 1;
  return cudaSuccess;
}
EXPORT cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* kernel, int size,
                                                                          size_t shared, unsigned flags) {
  *blocks = 1;
  return cudaSuccess;
}
EXPORT cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* kernel, const cudaLaunchConfig_t* config) {
  *clusters = 8;
  return cudaSuccess;
}
OK(cudaError_t, cudaStreamSynchronize, cudaStream_t stream)
OK(cudaError_t, cudaStreamWaitEvent, cudaStream_t stream, cudaEvent_t event, unsigned flags)
EXPORT cudaError_t cudaStreamIsCapturing(cudaStream_t s, enum cudaStreamCaptureStatus* status) {
  *status = cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
EXPORT cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* image, enum cudaJitOption* options,
                                       void** values, unsigned count, enum cudaLibraryOption* more, void** its,
                                       unsigned its_count) {
  return (cudaError_t)cuModuleLoadData((CUmodule*)library, image);
}
OK(cudaError_t, cudaLibraryUnload, cudaLibrary_t library)
EXPORT cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  return (cudaError_t)cuModuleGetFunction((CUfunction*)kernel, (CUmodule)library, name);
}
EXPORT cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** at, unsigned version,
                                                    unsigned long long flags,
                                                    enum cudaDriverEntryPointQueryResult* result) {
  *at = dlsym(RTLD_DEFAULT, name);
  if (result) *result = *at ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
EXPORT cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* c, const void* kernel, void** values) {
  return (cudaError_t)launch(kernel, c->gridDim, c->blockDim, c->dynamicSmemBytes, c->attrs, c->numAttrs, values);
}
EXPORT cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** values, size_t shared,
                                    cudaStream_t stream) {
  return (cudaError_t)launch(kernel, grid, block, shared, NULL, 0, values);
}
EXPORT cudaError_t cudaLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block, void** values, size_t shared,
                                               cudaStream_t stream) {
  return (cudaError_t)launch(kernel, grid, block, shared, NULL, 0, values);
}

// What nvcc's stubs call.
EXPORT void** __cudaRegisterFatBinary(void* binary) {
  static void* handle;
  return &handle;
}
EXPORT void __cudaRegisterFatBinaryEnd(void** handle) {}
EXPORT void __cudaUnregisterFatBinary(void** handle) {}
EXPORT void __cudaRegisterFunction(void** handle, const char* host, char* device, const char* name, int threads,
                                   uint3* a, uint3* b, dim3* c, dim3* d, int* e) {
  kernel_of(NULL, host, name);
}
EXPORT void __cudaRegisterVar(void** handle, char* host, char* device, const char* name, int a, size_t b, int c,
                              int d) {}
EXPORT char __cudaInitModule(void** handle) { return 0; }
EXPORT cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host) {
  *kernel = (cudaKernel_t)host;
  return cudaSuccess;
}
EXPORT cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** values, size_t shared,
                                      cudaStream_t stream) {
  return (cudaError_t)launch((const void*)kernel, grid, block, shared, NULL, 0, values);
}
static struct {
  dim3 grid, block;
  size_t shared;
  struct CUstream_st* stream;
} pushed;
EXPORT unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st* stream) {
  pushed.grid = grid;
  pushed.block = block;
  pushed.shared = shared;
  pushed.stream = stream;
  return 0;
}
EXPORT cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream) {
  *grid = pushed.grid;
  *block = pushed.block;
  *shared = pushed.shared;
  *(struct CUstream_st**)stream = pushed.stream;
  return cudaSuccess;
}

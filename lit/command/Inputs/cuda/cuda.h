// What an emitted header needs of the CUDA driver API, with functions that print what they are told. The names and types are
// those of CUDA's cuda.h; enumerators that the header casts to have none here.
#pragma once

#include <cinttypes>
#include <cstdio>
#include <cstring>

enum CUresult { CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_FOUND = 500 };
typedef unsigned long long CUdeviceptr;
typedef std::uint64_t cuuint64_t;
typedef std::uint32_t cuuint32_t;
typedef struct CUmod_st* CUmodule;
typedef struct CUfunc_st* CUfunction;
typedef struct CUstream_st* CUstream;
enum CUfunction_attribute { CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8 };
enum CUlaunchAttributeID { CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION = 4 };
struct CUlaunchAttribute {
  CUlaunchAttributeID id;
  union {
    struct { unsigned x, y, z; } clusterDim;
  } value;
};
struct CUlaunchConfig {
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes;
  CUstream hStream;
  CUlaunchAttribute* attrs;
  unsigned numAttrs;
};
struct alignas(64) CUtensorMap {
  cuuint64_t opaque[16];
};
enum CUtensorMapDataType {};
enum CUtensorMapSwizzle {};
enum CUtensorMapInterleave { CU_TENSOR_MAP_INTERLEAVE_NONE };
enum CUtensorMapL2promotion { CU_TENSOR_MAP_L2_PROMOTION_NONE };
enum CUtensorMapFloatOOBfill {};

inline CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  std::printf("load %.3s\n", static_cast<const char*>(image) + 1);
  *module = reinterpret_cast<CUmodule>(1);
  return CUDA_SUCCESS;
}
inline CUresult cuModuleUnload(CUmodule) { return std::printf("unload\n"), CUDA_SUCCESS; }
inline CUresult cuModuleGetFunction(CUfunction*, CUmodule, const char* name) {
  return std::printf("function %s\n", name), CUDA_SUCCESS;
}
inline CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute, int value) {
  return std::printf("dynamic shared memory %d\n", value), CUDA_SUCCESS;
}
inline CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                       const cuuint64_t* dims, const cuuint64_t* strides, const cuuint32_t* box,
                                       const cuuint32_t*, CUtensorMapInterleave, CUtensorMapSwizzle swizzle,
                                       CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  std::printf("map at %p type %d rank %u dims %" PRIu64 " %" PRIu64 " stride %" PRIu64 " box %u %u swizzle %d\n", address,
              int(type), rank, dims[0], dims[1], strides[0], box[0], box[1], int(swizzle));
  *map = {{reinterpret_cast<cuuint64_t>(address), dims[0], dims[1]}};
  return CUDA_SUCCESS;
}
inline CUresult cuMemAlloc(CUdeviceptr* address, std::size_t bytes) {
  *address = 4096;
  return std::printf("memory of %zu bytes\n", bytes), CUDA_SUCCESS;
}
inline CUresult cuMemsetD8(CUdeviceptr, unsigned char byte, std::size_t bytes) {
  return std::printf("bytes of %d: %zu\n", byte, bytes), CUDA_SUCCESS;
}
inline CUresult cuMemFree(CUdeviceptr) { return std::printf("free\n"), CUDA_SUCCESS; }
// Of a kernel whose first parameter has FIRST_PARAMETER_BYTES, all bytes of it; of others the sixth parameter.
inline CUresult cuLaunchKernelEx(const CUlaunchConfig* c, CUfunction, void** parameters, void**) {
  std::printf("launch %u %u %u CTAs of %u threads, %u attributes, cluster %u, ", c->gridDimX, c->gridDimY, c->gridDimZ,
              c->blockDimX, c->numAttrs, c->attrs->value.clusterDim.x);
#ifdef FIRST_PARAMETER_BYTES
  std::printf("parameter 0 is ");
  for (int i = 0; i < FIRST_PARAMETER_BYTES; ++i) std::printf("%02x", static_cast<unsigned char*>(parameters[0])[i]);
  std::printf("\n");
#else
  unsigned last;
  std::memcpy(&last, parameters[5], sizeof last);
  std::printf("parameter 5 is %u\n", last);
#endif
  return CUDA_SUCCESS;
}

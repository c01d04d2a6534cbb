// The GEMM loops for avx2, 8 lanes at a time.
#include "ptx/num/gemm_panel.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif

#define KILN_LANES 8

namespace kiln::num::avx2 {

#include "ptx/num/gemm_lanes.inl"

}  // namespace kiln::num::avx2

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif  // __x86_64__

// The GEMM loops for avx512, 16 lanes at a time.
#include "ptx/num/gemm_panel.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma"))), \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")
#endif

#define KILN_LANES 16

namespace kiln::num::avx512 {

#include "ptx/num/gemm_lanes.inl"

}  // namespace kiln::num::avx512

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#endif  // __x86_64__

// Half, bfloat16, fp8, fp6, fp4 and packed arithmetic. nvcc -arch=sm_100a -ptx
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

extern "C" __global__ void convert(const float* in, __half* h, __nv_bfloat16* b, __nv_fp8_e4m3* e4, __nv_fp8x4_e5m2* e5,
                                   __nv_fp4x2_e2m1* f4, __nv_fp6_e3m2* f6, __nv_fp8_e8m0* e8, float2* back) {
  const int i = threadIdx.x;
  h[i] = __hfma(__float2half_rn(in[i]), __float2half_rz(in[i + 1]), h[i]);
  b[i] = __hmax(__float2bfloat16_rn(in[i]), b[i + 1]) + __nv_bfloat16(0.5f);
  e4[i] = __nv_fp8_e4m3(in[i]);
  e5[i] = __nv_fp8x4_e5m2(make_float4(in[0], in[1], in[2], in[3]));
  f4[i] = __nv_fp4x2_e2m1(make_float2(in[i], in[i + 1]));
  f6[i] = __nv_fp6_e3m2(in[i]);
  e8[i] = __nv_fp8_e8m0(in[i]);
  back[i] = __half22float2(__hadd2(__half2half2(h[i]), __floats2half2_rn(in[0], in[1])));
  back[i + 1] = make_float2(float(e4[i + 1]), __bfloat162float(hexp(b[i + 2])));
  back[i + 2].x = float(__half(__float2int_rn(in[i]))) + __double2float_rd(double(in[i])) + float(char(in[i]));
  float2 p;
  asm("{ .reg .b64 x, y; mov.b64 x, {%2, %3}; fma.rn.ftz.f32x2 y, x, x, x; mov.b64 {%0, %1}, y; }"
      : "=f"(p.x), "=f"(p.y) : "f"(in[4]), "f"(in[5]));
  asm("cvt.rs.satfinite.e4m3x4.f32 %0, {%1, %2, %3, %4}, %5;" : "=r"(*(unsigned*)&p.x)
      : "f"(in[0]), "f"(in[1]), "f"(in[2]), "f"(in[3]), "r"(i));
  back[i + 3] = p;
}

// Textures and surfaces. nvcc -arch=sm_80 -ptx
extern "C" __global__ void sample(cudaTextureObject_t t1, cudaTextureObject_t t2, cudaTextureObject_t t3,
                                  cudaSurfaceObject_t s2, float4* out) {
  const float x = threadIdx.x * 0.25f, y = threadIdx.y;
  float4 v = tex2D<float4>(t2, x, y);
  v.x += tex1Dfetch<float>(t1, int(threadIdx.x));
  v.y += tex3D<float>(t3, x, y, 1.f) + tex2DLod<float>(t2, x, y, 2.f) + tex2DLayered<float>(t3, x, y, 3);
  v.z += texCubemap<float>(t3, x, y, 0.f) + tex2Dgather<float4>(t2, x, y, 1).w + tex2DGrad<float>(t2, x, y, {1, 0}, {0, 1});
  bool resident;
  v.w += tex2D<float>(t2, x, y, &resident);
  int4 s;
  surf2Dread(&s, s2, 16 * int(threadIdx.x), 2, cudaBoundaryModeTrap);
  surf2Dwrite(s, s2, 16 * int(threadIdx.y), 3, cudaBoundaryModeClamp);
  v.w += s.x + resident;
  unsigned width;
  asm("txq.width.b32 %0, [%1];" : "=r"(width) : "l"(t2));
  out[threadIdx.x] = make_float4(v.x, v.y, v.z, v.w + width);
}

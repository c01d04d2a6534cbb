/// Measures what warps of which only some lanes come do at a barrier: at one with a thread count after the other lanes
/// have exited, before they exit, and while they go on; at `bar.sync`, which is .aligned, while the others are
/// elsewhere. Each case runs in a process of its own, as some hang; that is the answer there.
///
///     nvcc -arch=sm_90a -o partial_warps partial_warps.cu
///     for k in 0 1 2 3 4 5 6 7 8; do timeout 10 ./partial_warps $k || echo "case $k hangs"; done
#include <cstdio>
#include <cstdlib>

#define BARRIER(text) asm volatile(text ::: "memory")

constexpr int threads = 64;
constexpr long long soon = 200'000, later = 2'000'000;  // ns

struct Case {
  const char* name;
};
constexpr Case cases[] = {
    {"barrier.sync 1, 64 by lane 0; the others have exited"},
    {"barrier.sync 1, 64 by lane 0; the others exit 2 ms later"},
    {"bar.sync 1, 64 by lane 0; the others exit 2 ms later"},
    {"barrier.arrive 1, 64 by lane 0 of warp 0, .sync by that of warp 1; the others exit 2 ms later"},
    {"barrier.sync 1, 64 by lane 0; 1 to 15 exit 0.2 ms later, 16 to 31 come 2 ms later"},
    {"bar.sync 0 by lanes 0 to 15; the others go on for 2 ms and exit"},
    {"bar.sync 0 by lanes 0 to 15; the others come to another bar.sync 0"},
    {"bar.sync 1, 64 by lanes 0 to 15; bar.sync 2, 64 by the others"},
    {"bar.sync 0 by lanes 0 to 15; the others wait for them at bar.warp.sync"},
};

__device__ long long passed[threads];  // ns after the start

__device__ long long now() {
  long long t;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
  return t;
}
__device__ void wait(long long ns) {
  const long long began = now();
  while (now() - began < ns) {
  }
}

__global__ void meet(int which) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const long long began = now();
  const auto pass = [&] { passed[threadIdx.x] = now() - began; };
  if (which == 0) {
    if (lane) return;
    wait(soon);
    BARRIER("barrier.sync 1, 64;");
  } else if (which <= 3) {
    if (lane) return wait(later);
    if (which == 2)
      BARRIER("bar.sync 1, 64;");
    else if (which == 3 && warp == 0)
      BARRIER("barrier.arrive 1, 64;");
    else
      BARRIER("barrier.sync 1, 64;");
  } else if (which == 4) {
    if (lane != 0 && lane < 16) return wait(soon);
    if (lane) {
      wait(later);
      BARRIER("barrier.sync 1, 64;");
    } else {
      BARRIER("barrier.sync 1, 64;");
    }
  } else if (lane < 16) {
    if (which == 7)
      BARRIER("bar.sync 1, 64;");
    else
      BARRIER("bar.sync 0;");
  } else {
    if (which == 5) return wait(later);
    if (which == 6) BARRIER("bar.sync 0;");
    if (which == 7) BARRIER("bar.sync 2, 64;");
  }
  if (which == 8) BARRIER("bar.warp.sync 0xffffffff;");
  pass();
}

int main(int n, char** arguments) {
  const int which = n > 1 ? std::atoi(arguments[1]) : 0;
  meet<<<1, threads>>>(which);
  const cudaError_t error = cudaDeviceSynchronize();
  long long at[threads];
  if (error != cudaSuccess || cudaMemcpyFromSymbol(at, passed, sizeof at) != cudaSuccess) return 3;
  std::printf("%s:", cases[which].name);
  for (int t = 0; t < threads; ++t)
    if (at[t] && (t % 16 == 0)) std::printf(" thread %d %.1f ms", t, double(at[t]) / 1e6);
  std::printf("\n");
}

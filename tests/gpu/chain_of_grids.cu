/// Measures what a programmatic dependent launch may rely on. The first grid stores a word for each thread, late; the
/// last one of its chain counts the words that it does not see.
///
///     nvcc -arch=sm_90a -o chain_of_grids chain_of_grids.cu && ./chain_of_grids
///
/// - two grids: the second waits, or it does not, and the first lets it begin early, or only as its CTAs exit;
/// - three: the third waits for the second, or it does not. Of the second no thread waits for the first, or one of each
///   CTA does, before or after the CTA lets the third begin; or the third begins as the CTAs of the second exit.
#include <cstdio>

constexpr int ctas = 66, threads = 256, words = ctas * threads, rounds = 200;
constexpr long long late = 300'000;  // ns

/// What each CTA of the second grid does.
enum class Between { begins, begins_waits, waits_begins, exits, waits_exits };

__device__ unsigned stale;

__device__ void wait() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
__device__ void let_begin() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }

__device__ long long now() {
  long long t;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
  return t;
}

__global__ void write(unsigned* out, unsigned value, bool early) {
  if (early) let_begin();
  for (const long long began = now(); now() - began < late;) {
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

__global__ void between(Between order) {
  if (order == Between::begins || order == Between::begins_waits) let_begin();
  if ((order == Between::begins_waits || order == Between::waits_exits) && threadIdx.x == 0) wait();
  if (order != Between::waits_begins || threadIdx.x != 0) return;
  wait();
  let_begin();
}

__global__ void read(const volatile unsigned* in, unsigned value, bool waits) {
  if (waits) wait();
  if (in[blockIdx.x * blockDim.x + threadIdx.x] != value) atomicAdd(&stale, 1);
}

template <class... P, class... A>
void launch(void (*kernel)(P...), int grid, bool overlaps, A... arguments) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = threads;
  config.attrs = &attribute;
  config.numAttrs = overlaps;
  cudaLaunchKernelEx(&config, kernel, P(arguments)...);
}

/// Words that the last grid did not see, of all rounds; -1 where something failed.
template <class Chain>
long long count(unsigned* buffer, Chain chain) {
  unsigned n = 0;
  cudaMemcpyToSymbol(stale, &n, sizeof n);
  cudaMemset(buffer, 0, words * sizeof(unsigned));
  for (unsigned round = 1; round <= rounds; ++round) {
    chain(round);
    if (cudaDeviceSynchronize() != cudaSuccess) return -1;
  }
  cudaMemcpyFromSymbol(&n, stale, sizeof n);
  return n;
}

int main() {
  unsigned* buffer = nullptr;
  if (cudaMalloc(&buffer, words * sizeof(unsigned)) != cudaSuccess) return 3;
  const auto say = [](const char* what, long long n) { std::printf("%-76s %lld of %d\n", what, n, words * rounds); };
  for (const bool early : {false, true})
    for (const bool waits : {false, true}) {
      const long long n = count(buffer, [&](unsigned round) {
        launch(write, ctas, false, buffer, round, early);
        launch(read, ctas, true, buffer, round, waits);
      });
      char what[80];
      std::snprintf(what, sizeof what, "2 grids, begins %s, the second %s", early ? "early" : "at the exits",
                    waits ? "waits" : "does not wait");
      say(what, n);
    }
  const char* orders[] = {"lets it begin", "lets it begin, then waits", "waits, then lets it begin", "exits",
                          "waits and exits"};
  for (const bool waits : {false, true})
    for (int order = 0; order < 5; ++order) {
      const long long n = count(buffer, [&](unsigned round) {
        launch(write, ctas, false, buffer, round, true);
        launch(between, ctas, true, Between(order));
        launch(read, ctas, true, buffer, round, waits);
      });
      char what[96];
      std::snprintf(what, sizeof what, "3 grids, the second %s, the third %s", orders[order],
                    waits ? "waits" : "does not wait");
      say(what, n);
    }
  return 0;
}

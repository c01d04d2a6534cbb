// cuBLAS is column-major: what it computes is D^T = B * A^T, so our B is its A, and a matrix that is row-major and
// K-major for us is one that it transposes.
#include "harness/gpu/cublas.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <type_traits>

#include "ptx/diag/refuse.hpp"

namespace kiln::harness {
namespace {

// From cublasLt.h, which need not be installed.
using Handle = struct HandleTag*;
using Operation = struct OperationTag*;  // cublasLtMatmulDesc_t
using Layout = struct LayoutTag*;
using Preference = struct PreferenceTag*;
using Status = int;
struct Algorithm {
  std::uint64_t data[8];
};
struct Heuristic {
  Algorithm algorithm;
  std::size_t workspace_bytes;
  Status state;
  float waves;
  int reserved[4];
};
constexpr int operation_transa = 3, operation_transb = 4, operation_a_scale = 17, operation_b_scale = 18,
              operation_fast_accumulation = 25;
constexpr int layout_batch = 5, layout_batch_stride = 6, preference_workspace = 1;
constexpr std::uint64_t workspace_bytes = 64 << 20;  // 32 MiB is what cuBLAS itself takes on Hopper

struct Api {
  std::size_t (*cublasLtGetVersion)();
  Status (*cublasLtCreate)(Handle*);
  Status (*cublasLtDestroy)(Handle);
  Status (*cublasLtMatmulDescCreate)(Operation*, int compute_type, int scale_type);
  Status (*cublasLtMatmulDescDestroy)(Operation);
  Status (*cublasLtMatmulDescSetAttribute)(Operation, int attribute, const void*, std::size_t bytes);
  Status (*cublasLtMatrixLayoutCreate)(Layout*, int type, std::uint64_t rows, std::uint64_t columns,
                                       std::int64_t stride);
  Status (*cublasLtMatrixLayoutDestroy)(Layout);
  Status (*cublasLtMatrixLayoutSetAttribute)(Layout, int attribute, const void*, std::size_t bytes);
  Status (*cublasLtMatmulPreferenceCreate)(Preference*);
  Status (*cublasLtMatmulPreferenceDestroy)(Preference);
  Status (*cublasLtMatmulPreferenceSetAttribute)(Preference, int attribute, const void*, std::size_t bytes);
  Status (*cublasLtMatmulAlgoGetHeuristic)(Handle, Operation, Layout a, Layout b, Layout c, Layout d, Preference,
                                           int wanted, Heuristic*, int* found);
  Status (*cublasLtMatmul)(Handle, Operation, const void* alpha, const void* a, Layout, const void* b, Layout,
                           const void* beta, const void* c, Layout, void* d, Layout, const Algorithm*, void* workspace,
                           std::size_t workspace_bytes, cuda::Stream);
  const char* (*cublasLtGetStatusName)(Status);
  std::string library;

  void check(Status status, const char* what) const {
    if (status != 0) diag::refuse("{}: {}", what, cublasLtGetStatusName(status));
  }
};

void* open_library(std::string& name) {
  const char* given = std::getenv("KILN_CUBLASLT");
  std::vector<std::string> names{"libcublasLt.so.13", "libcublasLt.so.12", "/usr/local/cuda/lib64/libcublasLt.so"};
  if (given && *given) names = {given};
  std::string why;
  for (const std::string& candidate : names) {
    name = candidate;
    if (void* handle = ::dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
    if (why.empty()) why = ::dlerror();
  }
  diag::refuse("no cublasLt here ({}); $KILN_CUBLASLT may name it", why);
}

Api load() {
  Api a{};
  void* handle = open_library(a.library);
  const auto bind = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
    if (!function) diag::refuse("{} has no {}", a.library, name);
  };
#define BIND(name) bind(a.name, #name)
  BIND(cublasLtGetVersion), BIND(cublasLtCreate), BIND(cublasLtDestroy), BIND(cublasLtGetStatusName);
  BIND(cublasLtMatmulDescCreate), BIND(cublasLtMatmulDescDestroy), BIND(cublasLtMatmulDescSetAttribute);
  BIND(cublasLtMatrixLayoutCreate), BIND(cublasLtMatrixLayoutDestroy), BIND(cublasLtMatrixLayoutSetAttribute);
  BIND(cublasLtMatmulPreferenceCreate), BIND(cublasLtMatmulPreferenceDestroy);
  BIND(cublasLtMatmulPreferenceSetAttribute), BIND(cublasLtMatmulAlgoGetHeuristic), BIND(cublasLtMatmul);
#undef BIND
  return a;
}

const Api& api() {
  static const Api loaded = load();
  return loaded;
}

// 1 and 0 in the type that alpha and beta have.
struct Scale {
  std::array<std::uint8_t, 4> one{}, zero{};
  explicit Scale(int type) {
    const std::uint32_t bits = type == 2 ? 0x3C00 : type == 10 ? 1 : 0x3F800000;
    for (std::size_t i = 0; i < one.size(); ++i) one[i] = std::uint8_t(bits >> 8 * i);
  }
};

}  // namespace

/// The library's objects.
struct Cublas::State {
  State(const Gpu& on, const CublasGemm& g)
      : gpu(on),
        workspace(on, workspace_bytes, "the workspace of cuBLAS"),
        scales(on, 256, "a scale"),
        scale(g.scale_type) {}
  ~State() {
    if (gpu.abandoned) return;
    if (preference) cublas.cublasLtMatmulPreferenceDestroy(preference);
    for (Layout l : {a, b, d})
      if (l) cublas.cublasLtMatrixLayoutDestroy(l);
    if (operation) cublas.cublasLtMatmulDescDestroy(operation);
    if (handle) cublas.cublasLtDestroy(handle);
  }

  void set(int attribute, const auto& value) {
    cublas.check(cublas.cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof value),
                 "cuBLAS does not take the gemm");
  }

  // A column-major matrix of so many rows and columns, without gaps.
  Layout layout(int type, std::uint64_t rows, std::uint64_t columns, std::uint64_t batch) {
    Layout l = nullptr;
    cublas.check(cublas.cublasLtMatrixLayoutCreate(&l, type, rows, columns, std::int64_t(rows)),
                 "cuBLAS does not take a matrix");
    const auto count = std::int32_t(batch);
    const auto stride = std::int64_t(rows * columns);
    cublas.cublasLtMatrixLayoutSetAttribute(l, layout_batch, &count, sizeof count);
    cublas.cublasLtMatrixLayoutSetAttribute(l, layout_batch_stride, &stride, sizeof stride);
    return l;
  }

  void describe(const CublasGemm& g) {
    cublas.check(cublas.cublasLtMatmulDescCreate(&operation, g.compute_type, g.scale_type),
                 "cuBLAS does not take the gemm");
    const std::int32_t transpose_first = !g.b.transposed, transpose_second = g.a.transposed;
    set(operation_transa, transpose_first);
    set(operation_transb, transpose_second);
    if (g.fp8()) {
      const float one = 1;
      gpu.api().check(gpu.api().cuMemcpyHtoD_v2(scales.address(), &one, sizeof one), "a scale cannot be copied");
      set(operation_a_scale, scales.address());
      set(operation_b_scale, scales.address());
      set(operation_fast_accumulation, std::int8_t{1});
    }
    a = g.b.transposed ? layout(g.b.type, g.n, g.k, g.batch) : layout(g.b.type, g.k, g.n, g.batch);
    b = g.a.transposed ? layout(g.a.type, g.m, g.k, g.batch) : layout(g.a.type, g.k, g.m, g.batch);
    d = layout(g.d_type, g.n, g.m, g.batch);
  }

  void choose(const CublasGemm& g) {
    cublas.check(cublas.cublasLtMatmulPreferenceCreate(&preference), "cuBLAS has no preferences");
    cublas.cublasLtMatmulPreferenceSetAttribute(preference, preference_workspace, &workspace_bytes,
                                                sizeof workspace_bytes);
    found.resize(most_algorithms);
    int count = 0;
    const Status status = cublas.cublasLtMatmulAlgoGetHeuristic(handle, operation, a, b, d, d, preference,
                                                                most_algorithms, found.data(), &count);
    found.resize(std::size_t(count));
    std::erase_if(found, [](const Heuristic& h) { return h.state != 0; });
    if (status != 0 || found.empty())
      diag::refuse("cublasLt has no algorithm for {} of {} x {} x {}: {}", g.shown, g.m, g.n, g.k,
                   cublas.cublasLtGetStatusName(status));
  }

  const Api& cublas = api();
  const Gpu& gpu;
  DeviceMemory workspace, scales;
  Scale scale;
  Handle handle = nullptr;
  Operation operation = nullptr;
  Layout a = nullptr, b = nullptr, d = nullptr;  // as cuBLAS names them
  Preference preference = nullptr;
  std::vector<Heuristic> found{};
};

Cublas::Cublas(const Gpu& gpu, const CublasGemm& g) {
  auto state = std::make_unique<State>(gpu, g);
  const std::size_t version = state->cublas.cublasLtGetVersion();
  library_ = fmt::format("{} {}.{}.{}", state->cublas.library, version / 10000, version / 100 % 100, version % 100);
  state->cublas.check(state->cublas.cublasLtCreate(&state->handle), "cublasLt cannot start");
  state->describe(g);
  state->choose(g);
  state_ = std::move(state);
}

Cublas::~Cublas() = default;

std::size_t Cublas::algorithms() const { return state_->found.size(); }

void Cublas::start(std::size_t algorithm, cuda::Address a, cuda::Address b, cuda::Address d) const {
  const State& s = *state_;
  const auto pointer = [](cuda::Address at) { return reinterpret_cast<void*>(at); };
  s.cublas.check(
      s.cublas.cublasLtMatmul(s.handle, s.operation, s.scale.one.data(), pointer(b), s.a, pointer(a), s.b,
                              s.scale.zero.data(), pointer(d), s.d, pointer(d), s.d, &s.found.at(algorithm).algorithm,
                              pointer(s.workspace.address()), workspace_bytes, nullptr),
      "cuBLAS refuses");
}

}  // namespace kiln::harness

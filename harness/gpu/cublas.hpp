// cuBLAS beside a kernel: the same product of the same buffers by cublasLt, which is loaded at run time like the
// driver.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "harness/gpu/cuda_device.hpp"
#include "launch/contract.hpp"

namespace kiln::harness {

/// One operand as cuBLAS gets it. `type` is a cudaDataType_t.
struct CublasOperand {
  std::string buffer{};
  int type = 0;
  bool transposed = false;  // K is the slower extent
};

/// D[M, N] = A[M, K] * B[N, K]^T, `batch` times. Numbers of types are cudaDataType_t and cublasComputeType_t.
struct CublasGemm {
  CublasOperand a{}, b{};
  isa::ScalarType d = isa::ScalarType::none;  // what cuBLAS stores, the contract's own type where it can
  int d_type = 0, compute_type = 0, scale_type = 0;
  std::uint64_t m = 0, n = 0, k = 0, batch = 1;
  std::string shown{};  // "bf16 * bf16 -> bf16, f32 sums"

  bool fp8() const;
  std::uint64_t d_bytes() const;
  std::uint64_t bytes() const;  // of all three matrices
};

/// What cuBLAS may be asked for in place of a contract's launches, or why there is nothing.
struct CublasChoice {
  std::optional<CublasGemm> gemm{};
  std::string reason{};
};

/// The one gemm that a contract expects, without its factors and epilogue. Scales, metadata and groups have no
/// counterpart, nor have types that cublasLt does not multiply.
CublasChoice choose_cublas(const launch::Contract&);

/// cublasLt, loaded; $KILN_CUBLASLT names the library, else libcublasLt.so.13 or .12 is looked for. Throws InputError
/// saying what is missing.
class Cublas {
 public:
  static constexpr int most_algorithms = 8;

  Cublas(const Gpu&, const CublasGemm&);
  ~Cublas();
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  /// "libcublasLt.so.13 13.1.0".
  const std::string& library() const { return library_; }
  /// Those that the heuristic found, the most promising first; at least one.
  std::size_t algorithms() const;
  /// Puts one product into the default stream. Throws InputError where cuBLAS refuses.
  void start(std::size_t algorithm, cuda::Address a, cuda::Address b, cuda::Address d) const;

 private:
  struct State;
  std::string library_{};
  std::unique_ptr<State> state_;
};

}  // namespace kiln::harness

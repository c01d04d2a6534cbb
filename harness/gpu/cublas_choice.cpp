// Which of cuBLAS's products stands beside a contract's.
#include <fmt/format.h>

#include "harness/gpu/cublas.hpp"
#include "harness/problem/gemm_problem.hpp"
#include "harness/problem/parts.hpp"

namespace kiln::harness {
namespace {

using isa::ScalarType;
using launch::Contract;
using launch::Expectation;

// cudaDataType_t and cublasComputeType_t, from library_types.h and cublas_api.h.
constexpr int r_32f = 0, r_16f = 2, r_8i = 3, r_32i = 10, r_16bf = 14, r_e4m3 = 28, r_e5m2 = 29;
constexpr int compute_16f = 64, compute_32f = 68, compute_32i = 72, compute_32f_tf32 = 77;

std::optional<int> data_type(ScalarType t) {
  switch (t) {
    case ScalarType::f16: return r_16f;
    case ScalarType::bf16: return r_16bf;
    case ScalarType::f32:
    case ScalarType::tf32: return r_32f;
    case ScalarType::e4m3: return r_e4m3;
    case ScalarType::e5m2: return r_e5m2;
    case ScalarType::s8: return r_8i;
    case ScalarType::s32: return r_32i;
    default: return std::nullopt;
  }
}

bool is_input(ScalarType t) { return data_type(t) && t != ScalarType::s32; }

// What cuBLAS stores of such operands: what the contract stores, if it can.
ScalarType stored(ScalarType a, ScalarType b, ScalarType wanted) {
  if (a == ScalarType::s8) return ScalarType::s32;
  if (isa::bits(a) == 32) return ScalarType::f32;
  const bool narrow = isa::bits(a) == 8;
  if (wanted == ScalarType::f32 || wanted == (narrow ? ScalarType::bf16 : a)) return wanted;
  if (narrow && wanted == ScalarType::f16) return wanted;
  return isa::bits(b) == 8 ? ScalarType::bf16 : a;
}

std::string why_not(const Contract& contract) {
  if (contract.expectations.size() != 1) return "the contract expects no single gemm";
  const Expectation& e = contract.expectations[0];
  if (e.kind != Expectation::Kind::gemm) return "the contract expects no gemm";
  if (!e.sfa.empty()) return "no counterpart of block-scaled operands";
  if (!e.metadata.empty()) return "no counterpart of a sparse A";
  if (has_groups(e)) return "no counterpart of groups";
  const ScalarType a = contract.at(e.a).dtype, b = contract.at(e.b).dtype;
  const bool fp8 = isa::bits(a) == 8 && isa::is_floating(a) && isa::bits(b) == 8 && isa::is_floating(b);
  if (!is_input(a) || !is_input(b) || (a != b && !fp8))
    return fmt::format("cublasLt does not multiply {} by {}", isa::spelling(a), isa::spelling(b));
  return {};
}

void set_types(CublasGemm& g, ScalarType a, ScalarType b, ScalarType accumulate) {
  g.a.type = *data_type(a), g.b.type = *data_type(b), g.d_type = *data_type(g.d);
  const bool half = accumulate == ScalarType::f16 && g.d == ScalarType::f16 && a == ScalarType::f16;
  const bool integers = a == ScalarType::s8;
  g.compute_type = integers ? compute_32i : half ? compute_16f : isa::bits(a) == 32 ? compute_32f_tf32 : compute_32f;
  g.scale_type = integers ? r_32i : half ? r_16f : r_32f;
  g.shown = fmt::format("{} * {} -> {}, {} sums{}", isa::spelling(a), isa::spelling(b), isa::spelling(g.d),
                        integers ? "s32"
                        : half   ? "f16"
                                 : "f32",
                        g.fp8() ? " in fast accumulation" : "");
}

}  // namespace

bool CublasGemm::fp8() const { return a.type == r_e4m3 || a.type == r_e5m2; }

std::uint64_t CublasGemm::d_bytes() const { return batch * m * n * std::uint64_t(isa::bits(d)) / 8; }

std::uint64_t CublasGemm::bytes() const {
  const auto element = [](int type) { return type == r_32f ? 4u : type == r_16f || type == r_16bf ? 2u : 1u; };
  return d_bytes() + batch * k * (m * element(a.type) + n * element(b.type));
}

CublasChoice choose_cublas(const Contract& contract) {
  if (const std::string reason = why_not(contract); !reason.empty()) return {std::nullopt, reason};
  const Expectation& e = contract.expectations[0];
  const launch::Buffer &a = contract.at(e.a), &b = contract.at(e.b), &d = contract.at(e.output);
  CublasGemm g;
  g.batch = batch_size(contract, e).value_or(1);
  g.a.buffer = e.a, g.b.buffer = e.b;
  g.a.transposed = e.a_transposed, g.b.transposed = e.b_transposed;
  g.m = d.shape[d.shape.size() - 2], g.n = d.shape.back();
  g.k = e.a_transposed ? a.shape[a.shape.size() - 2] : a.shape.back();
  g.d = stored(a.dtype, b.dtype, d.dtype);
  set_types(g, a.dtype, b.dtype, e.accumulate);
  return {g, {}};
}

}  // namespace kiln::harness

#include "harness/gpu/cublas.hpp"

#include <doctest/doctest.h>

#include "launch/operands.hpp"
#include "tests/unit/harness/buffer.hpp"
#include "tests/unit/harness/temporary.hpp"

namespace kiln::harness::cublas_tests {
namespace {

using isa::ScalarType;
using launch::Contract;
using launch::Expectation;
using test::buffer;
using test::contains;

Contract gemm(ScalarType a, ScalarType b, ScalarType d) {
  Contract c;
  c.buffers = {buffer("A", a, {128, 64}), buffer("B", b, {256, 64}), buffer("D", d, {128, 256})};
  Expectation e;
  e.output = "D", e.a = "A", e.b = "B";
  c.expectations = {e};
  return c;
}

std::string chosen(ScalarType a, ScalarType b, ScalarType d) {
  const CublasChoice choice = choose_cublas(gemm(a, b, d));
  return choice.gemm ? choice.gemm->shown : choice.reason;
}

TEST_CASE("cuBLAS is asked for the contract's own types where it has them") {
  using enum ScalarType;
  CHECK(chosen(bf16, bf16, bf16) == "bf16 * bf16 -> bf16, f32 sums");
  CHECK(chosen(bf16, bf16, f32) == "bf16 * bf16 -> f32, f32 sums");
  CHECK(chosen(f16, f16, f16) == "f16 * f16 -> f16, f32 sums");
  CHECK(chosen(f16, f16, bf16) == "f16 * f16 -> f16, f32 sums");
  CHECK(chosen(tf32, tf32, f32) == "tf32 * tf32 -> f32, f32 sums");
  CHECK(chosen(s8, s8, s32) == "s8 * s8 -> s32, s32 sums");
  CHECK(chosen(e4m3, e4m3, bf16) == "e4m3 * e4m3 -> bf16, f32 sums in fast accumulation");
  CHECK(chosen(e4m3, e5m2, f32) == "e4m3 * e5m2 -> f32, f32 sums in fast accumulation");
  CHECK(chosen(e4m3, e4m3, e4m3) == "e4m3 * e4m3 -> bf16, f32 sums in fast accumulation");
}

TEST_CASE("numbers of types are those of cuBLAS's headers") {
  using enum ScalarType;
  const CublasGemm g = *choose_cublas(gemm(e4m3, e5m2, bf16)).gemm;
  CHECK(g.a.type == 28);
  CHECK(g.b.type == 29);
  CHECK(g.d_type == 14);
  CHECK(g.compute_type == 68);
  CHECK(g.scale_type == 0);
  CHECK(g.fp8());
  const CublasGemm i = *choose_cublas(gemm(s8, s8, s32)).gemm;
  CHECK(i.compute_type == 72);
  CHECK(i.scale_type == 10);
  CHECK(choose_cublas(gemm(tf32, tf32, f32)).gemm->compute_type == 77);
}

TEST_CASE("an f16 accumulator is asked for where the contract has one") {
  Contract c = gemm(ScalarType::f16, ScalarType::f16, ScalarType::f16);
  c.expectations[0].accumulate = ScalarType::f16;
  const CublasGemm g = *choose_cublas(c).gemm;
  CHECK(g.compute_type == 64);
  CHECK(g.scale_type == 2);
  CHECK(g.shown == "f16 * f16 -> f16, f16 sums");
}

TEST_CASE("what has no counterpart says why in one line") {
  using enum ScalarType;
  CHECK(chosen(e2m1, e2m1, f32) == "cublasLt does not multiply e2m1 by e2m1");
  CHECK(chosen(u8, s8, s32) == "cublasLt does not multiply u8 by s8");
  Contract c = gemm(e4m3, e4m3, bf16);
  c.expectations[0].sfa = "S";
  CHECK(contains(choose_cublas(c).reason, "block-scaled"));
  c.expectations[0] = gemm(e4m3, e4m3, bf16).expectations[0];
  c.expectations[0].metadata = "M";
  CHECK(contains(choose_cublas(c).reason, "sparse"));
  c.expectations[0].metadata.clear();
  c.expectations[0].groups = "E";
  CHECK(contains(choose_cublas(c).reason, "groups"));
  c.expectations[0].kind = Expectation::Kind::attention;
  CHECK(contains(choose_cublas(c).reason, "no gemm"));
  c.expectations.clear();
  CHECK(contains(choose_cublas(c).reason, "no single gemm"));
}

TEST_CASE("sizes are those of the contract, batched and transposed too") {
  CublasGemm g = *choose_cublas(gemm(ScalarType::bf16, ScalarType::bf16, ScalarType::f32)).gemm;
  CHECK(g.m == 128);
  CHECK(g.n == 256);
  CHECK(g.k == 64);
  CHECK(g.d_bytes() == 128 * 256 * 4);
  CHECK(g.bytes() == 128 * 256 * 4 + 128 * 64 * 2 + 256 * 64 * 2);
  Contract c = gemm(ScalarType::bf16, ScalarType::bf16, ScalarType::f32);
  c.buffers[0].shape = {64, 128};
  c.expectations[0].a_transposed = true;
  g = *choose_cublas(c).gemm;
  CHECK(g.k == 64);
  CHECK(g.a.transposed);
  CHECK(!g.b.transposed);
  c = gemm(ScalarType::bf16, ScalarType::bf16, ScalarType::f32);
  for (launch::Buffer& b : c.buffers) b.shape.insert(b.shape.begin(), 5);
  g = *choose_cublas(c).gemm;
  CHECK(g.batch == 5);
  CHECK(g.m == 128);
  CHECK(g.d_bytes() == 5 * 128 * 256 * 4);
}

}  // namespace
}  // namespace kiln::harness::cublas_tests

#include "harness/compare/compare.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cmath>

#include "harness/compare/reference.hpp"
#include "harness/problem/element.hpp"
#include "harness/problem/fill.hpp"
#include "ptx/num/gemm_kernel.hpp"
#include "ptx/num/window.hpp"
#include "tests/unit/harness/buffer.hpp"
#include "tests/unit/harness/temporary.hpp"

namespace kiln::harness::compare_tests {
namespace {

using isa::ScalarType;
using launch::Buffer;
using launch::Contract;
using launch::Expectation;
using launch::Init;
using test::filled;
using test::normal;

// D[M,N] = A[M,K] * B[N,K]^T with normal inputs, and D as an honest f32 accumulation would leave it.
Contract problem(ScalarType in, ScalarType out, std::uint64_t m, std::uint64_t n, std::uint64_t k) {
  Contract c;
  c.buffers = {normal("A", in, {m, k}), normal("B", in, {n, k}), filled("D", out, {m, n})};
  const Matrix a = values(c.buffers[0]), b = values(c.buffers[1]);
  for (std::uint64_t i = 0; i < m; ++i)
    for (std::uint64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (std::uint64_t x = 0; x < k; ++x) sum += float(a.at[i * k + x] * b.at[j * k + x]);
      store_element(c.buffers[2].bytes, out, i * n + j, quantise(out, double(sum)));
    }
  Expectation e;
  e.output = "D";
  e.a = "A";
  e.b = "B";
  c.expectations = {e};
  return c;
}

Comparison compared(const Contract& c, Accumulation a = Accumulation::tensor_core) {
  return compare(c, c.expectations[0], a);
}

void set(Contract& c, std::uint64_t index, double value) {
  Buffer& d = *c.find("D");
  store_element(d.bytes, d.dtype, index, quantise(d.dtype, value));
}

double at(const Contract& c, std::uint64_t index) { return test::element(*c.find("D"), index); }

TEST_CASE("the reference multiplies A by the transpose of B") {
  const Matrix a{2, 3, {1, 2, 3, 4, 5, 6}}, b{2, 3, {1, 0, 2, 0, 1, 1}};
  CHECK(multiply_transposed(a, b).at == std::vector<double>{7, 5, 16, 11});
}

TEST_CASE("the reference is exact on integers of every ragged shape") {
  const Init integers{Init::Kind::integers, -9, 9, 3, {}};
  for (std::uint64_t m : {1u, 3u, 4u, 5u, 17u})
    for (std::uint64_t n : {1u, 7u, 8u, 9u}) {
      const Matrix a = values(filled("A", ScalarType::s8, {m, 13}, integers));
      const Matrix b = values(filled("B", ScalarType::s8, {n, 13}, integers));
      const Matrix c = multiply_transposed(a, b);
      for (std::uint64_t i = 0; i < m; ++i)
        for (std::uint64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (std::uint64_t k = 0; k < 13; ++k) sum += a.at[i * 13 + k] * b.at[j * 13 + k];
          CHECK(c.at[i * n + j] == sum);
        }
    }
}

TEST_CASE("an honest result passes in every output type") {
  for (ScalarType out : {ScalarType::bf16, ScalarType::f16, ScalarType::f32}) {
    const Comparison c = compared(problem(ScalarType::bf16, out, 24, 40, 128));
    CHECK(c.pass);
    CHECK(c.elements == 960);
    CHECK(c.error <= c.bound);
    CHECK(c.max_scaled_error < 1e-2);
  }
}

TEST_CASE("the tensor core's own arithmetic stays within the bound") {
  for (ScalarType in : {ScalarType::bf16, ScalarType::f16, ScalarType::e4m3}) {
    Contract c = problem(in, ScalarType::f32, 32, 16, 256);
    Buffer& d = *c.find("D");
    std::fill(d.bytes.begin(), d.bytes.end(), std::uint8_t{0});
    num::GemmTask task;
    task.spec.kind = in == ScalarType::e4m3 ? num::MmaKind::f8f6f4 : num::MmaKind::f16;
    task.spec.a = task.spec.b = in;
    task.spec.d = ScalarType::f32;
    task.m = 32, task.n = 16, task.k = 256;
    task.a = {c.find("A")->bytes.data(), 256};
    task.b = {c.find("B")->bytes.data(), 256};
    task.d = reinterpret_cast<std::uint32_t*>(d.bytes.data());
    task.d_stride = 16;
    num::GemmKernel().run(task);
    const Comparison exact = compared(c);
    CHECK(exact.pass);
    if (in != ScalarType::e4m3) CHECK(exact.max_error > 0);  // fp8 sums of this length happen to be exact
  }
}

TEST_CASE("one element off by twice its bound fails and is named") {
  Contract c = problem(ScalarType::bf16, ScalarType::f32, 24, 40, 128);
  const Comparison before = compared(c);
  const double bound = derive_tolerance(ScalarType::bf16, ScalarType::f32, 128).of_scale * 200;
  set(c, 3 * 40 + 7, at(c, 3 * 40 + 7) + 2 * bound);
  const Comparison after = compared(c);
  CHECK(before.pass);
  CHECK(!after.pass);
  CHECK(after.wrong == 1);
  CHECK(after.worst == std::vector<std::uint64_t>{3, 7});
  CHECK(after.got == at(c, 3 * 40 + 7));
}

TEST_CASE("a lost MMA fails") {
  Contract c = problem(ScalarType::bf16, ScalarType::bf16, 8, 8, 512);
  Contract shorter = c;
  for (std::uint64_t row = 0; row < 8; ++row)
    for (std::uint64_t k = 496; k < 512; ++k)
      store_element(shorter.find("A")->bytes, ScalarType::bf16, row * 512 + k, 0);
  const Matrix lost = multiply_transposed(values(*shorter.find("A")), values(*shorter.find("B")));
  for (std::uint64_t i = 0; i < 64; ++i) set(c, i, lost.at[i]);
  const Comparison result = compared(c);
  CHECK(!result.pass);
  CHECK(result.error > 20 * result.bound);
}

TEST_CASE("a transposed operand, an unwritten element and NaN fail") {
  Contract swapped = problem(ScalarType::bf16, ScalarType::bf16, 16, 16, 64);
  std::swap(swapped.find("A")->bytes, swapped.find("B")->bytes);
  CHECK(!compared(swapped).pass);
  Contract unwritten = problem(ScalarType::bf16, ScalarType::bf16, 16, 16, 64);
  store_element(unwritten.find("D")->bytes, ScalarType::bf16, 5, 0xFFFF);
  const Comparison c = compared(unwritten);
  CHECK(c.wrong == 1);
  CHECK(std::isnan(c.got));
  CHECK(c.worst == std::vector<std::uint64_t>{0, 5});
}

TEST_CASE("NaN and overflow are right where the reference has them") {
  Contract c = problem(ScalarType::bf16, ScalarType::f16, 2, 2, 16);
  store_element(c.find("A")->bytes, ScalarType::bf16, 0, 0x7FFF);
  for (std::uint64_t k = 0; k < 16; ++k) {
    store_element(c.find("A")->bytes, ScalarType::bf16, 16 + k, quantise(ScalarType::bf16, 1000));
    store_element(c.find("B")->bytes, ScalarType::bf16, k, quantise(ScalarType::bf16, 1000));
    store_element(c.find("B")->bytes, ScalarType::bf16, 16 + k, quantise(ScalarType::bf16, 1));
  }
  Buffer& d = *c.find("D");
  for (const auto& [index, word] : {std::pair{0, 0x7FFF}, {1, 0x7FFF}, {2, 0x7C00}})
    store_element(d.bytes, d.dtype, std::uint64_t(index), std::uint64_t(word));
  set(c, 3, 16000);
  CHECK(compared(c).pass);
  store_element(d.bytes, d.dtype, 2, 0xFC00);
  CHECK(!compared(c).pass);
}

TEST_CASE("integers are compared exactly") {
  Contract c = problem(ScalarType::s8, ScalarType::s32, 8, 8, 64);
  CHECK(compared(c).pass);
  set(c, 0, at(c, 0) + 1);
  CHECK(!compared(c).pass);
}

TEST_CASE("an explicit rtol replaces the derived bound") {
  Contract c = problem(ScalarType::bf16, ScalarType::f32, 8, 8, 64);
  c.expectations[0].rtol = 1e-2;
  set(c, 0, at(c, 0) + 0.05);
  CHECK(compared(c).pass);
  c.expectations[0].rtol = 1e-9;
  CHECK(!compared(c).pass);
}

TEST_CASE("a copy is compared byte for byte") {
  Contract c;
  c.buffers = {normal("A", ScalarType::bf16, {3, 5}), normal("D", ScalarType::bf16, {3, 5})};
  c.find("D")->bytes = c.find("A")->bytes;
  Expectation e;
  e.kind = Expectation::Kind::copy;
  e.output = "D";
  e.a = "A";
  c.expectations = {e};
  CHECK(compared(c).pass);
  c.find("D")->bytes[2 * 13] ^= 1;
  const Comparison wrong = compared(c);
  CHECK(wrong.wrong == 1);
  CHECK(wrong.worst == std::vector<std::uint64_t>{2, 3});
}

TEST_CASE("the bound is the one that is written down") {
  const Tolerance t = derive_tolerance(ScalarType::bf16, ScalarType::bf16, 512);
  CHECK(t.of_scale == doctest::Approx(32 * (0x1p-23 + 17 * 0x1p-25)).epsilon(2e-3));
  CHECK(t.of_result == 0x1p-8);
  CHECK(test::contains(t.argument, "32 MMAs of K=16"));
  CHECK(derive_tolerance(ScalarType::s8, ScalarType::s32, 64).bound(5, 100) == 0);
  CHECK(derive_tolerance(ScalarType::bf16, ScalarType::f32, 64, Accumulation::f32_chain).of_scale ==
        doctest::Approx(64 * 0x1p-24).epsilon(2e-3));
}

TEST_CASE("a contract may say at which bit MMAs cut, as those of 8-bit floats by wgmma do at the 13th") {
  Contract c = problem(ScalarType::e4m3, ScalarType::f32, 4, 8, 64);
  c.expectations[0].width = 13;
  const Comparison found = compared(c);
  CHECK(found.pass);
  CHECK(test::contains(found.argument, "2 MMAs of K=32, each cutting 33 terms at 2^-13 and the sum at 2^-13"));
  const std::uint64_t index = 5;
  const double want = at(c, index);
  set(c, index, want + 0.001 * std::abs(want) + 0.001);
  CHECK(compared(c).pass);
  c.expectations[0].width = 0;
  CHECK_FALSE(compared(c).pass);
}

TEST_CASE("a subnormal counts as the smallest normal number") {
  Buffer b = filled("A", ScalarType::e4m3, {1, 2}, {Init::Kind::zeros, 0, 0, 0, {}});
  b.bytes = {0x01, 0x00};
  CHECK(magnitudes(b).at == std::vector<double>{0x1p-6, 0});
}

TEST_CASE("512 x 512 x 512 takes well under a second") {
  const Matrix a{512, 512, std::vector<double>(512 * 512, 1.0)};
  const auto start = std::chrono::steady_clock::now();
  const Matrix c = multiply_transposed(a, a);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  CHECK(c.at[12345] == 512);
  WARN(seconds < 0.5);
}

}  // namespace
}  // namespace kiln::harness::compare_tests

#include "harness/compare/sample.hpp"

#include <doctest/doctest.h>

#include <set>

#include "harness/compare/compare.hpp"
#include "harness/compare/reference.hpp"
#include "launch/operands.hpp"
#include "tests/unit/harness/buffer.hpp"
#include "tests/unit/harness/temporary.hpp"

namespace kiln::harness::sample_tests {
namespace {

using isa::ScalarType;
using launch::Buffer;
using launch::Contract;
using launch::Expectation;
using launch::Init;
using test::buffer;
using test::filled;
using test::normal;

Contract empty_gemm() {
  Contract c;
  Expectation e;
  e.output = "D", e.a = "A", e.b = "B";
  c.expectations = {e};
  return c;
}

// D is what the whole reference gives, rounded to its type.
void solve(Contract& c) {
  const GemmProblem p = gemm_problem(c, c.expectations[0]);
  const Product product = product_of(p);
  Buffer& d = c.at("D");
  d.bytes.resize(d.size());
  for (std::uint64_t i = 0; i < d.elements(); ++i)
    store_element(
        d.bytes, d.dtype, i,
        quantise(d.dtype,
                 after_epilogue(p.epilogue, {product.value.at[i], 0}, i / p.columns(), i % p.columns()).value));
}

Contract dense(std::uint64_t m, std::uint64_t n, std::uint64_t k) {
  Contract c = empty_gemm();
  c.buffers = {normal("A", ScalarType::bf16, {m, k}), normal("B", ScalarType::bf16, {n, k}),
               filled("D", ScalarType::f32, {m, n})};
  solve(c);
  return c;
}

Comparison sampled(const Contract& c, std::uint64_t elements = 256, std::uint64_t seed = 1) {
  return compare_sample(c, c.expectations[0], {elements, seed});
}

// Every element of every block is what the whole reference has at its place.
void check_blocks_agree(const Contract& c, std::uint64_t elements) {
  const Expectation& e = c.expectations[0];
  const GemmProblem whole = gemm_problem(c, e);
  const Product want = product_of(whole);
  for (const SampleBlock& block : choose_blocks(c, e, elements, 1)) {
    const Contract part = gemm_of_block(c, e, block);
    const GemmProblem p = gemm_problem(part, part.expectations[0]);
    const Product got = product_of(p);
    for (std::size_t i = 0; i < block.rows.size(); ++i)
      for (std::size_t j = 0; j < block.columns.size(); ++j) {
        const std::uint64_t at = block.rows[i] * whole.columns() + block.columns[j], in = i * block.columns.size() + j;
        const Estimate x = after_epilogue(whole.epilogue, {want.value.at[at], 0}, block.rows[i], block.columns[j]);
        const Estimate y = after_epilogue(p.epilogue, {got.value.at[in], 0}, i, j);
        CHECK(x.value == y.value);
        CHECK(want.scale.at[at] == got.scale.at[in]);
        CHECK(load_element(whole.d->bytes, whole.d->dtype, at) == load_element(p.d->bytes, p.d->dtype, in));
      }
  }
}

TEST_CASE("a sample of a right result is right, and says how much of the whole it is") {
  const Contract c = dense(96, 64, 48);
  const Comparison s = sampled(c);
  CHECK(s.pass);
  CHECK(s.elements == 256);
  CHECK(s.whole == 96 * 64);
  CHECK(compare(c, c.expectations[0]).whole == 0);
}

TEST_CASE("a result that is wrong everywhere fails, with the place in the whole and what must stand there") {
  Contract c = dense(96, 64, 48);
  Buffer& d = c.at("D");
  for (std::uint64_t i = 0; i < d.elements(); ++i)
    store_element(d.bytes, d.dtype, i, quantise(ScalarType::f32, 1000.0 + double(i)));
  const Comparison s = sampled(c);
  CHECK(!s.pass);
  CHECK(s.wrong == s.elements);
  REQUIRE(s.worst.size() == 2);
  CHECK(s.got == 1000.0 + double(s.worst[0] * 64 + s.worst[1]));
  const Comparison all = compare(c, c.expectations[0]);
  CHECK(all.max_error >= s.max_error);
}

TEST_CASE("unwritten elements are the worst, wherever they are") {
  Contract c = dense(96, 64, 48);
  Buffer& d = c.at("D");
  std::fill(d.bytes.begin() + 48 * 64 * 4, d.bytes.end(), std::uint8_t{0xFF});
  const Comparison s = sampled(c);
  CHECK(!s.pass);
  CHECK(s.worst[0] >= 48);
  CHECK(s.got != s.got);
}

TEST_CASE("small outputs and samples of everything are compared whole") {
  const Contract c = dense(16, 8, 16);
  CHECK(sampled(c, 128).whole == 0);
  CHECK(sampled(c, UINT64_MAX).elements == 128);
}

TEST_CASE("a seed chooses the same elements again, and another others, all inside the matrix") {
  const Contract c = dense(96, 64, 16);
  const auto places = [&](std::uint64_t seed) {
    std::set<std::pair<std::uint64_t, std::uint64_t>> out;
    for (const SampleBlock& b : choose_blocks(c, c.expectations[0], 512, seed)) {
      CHECK(std::set(b.rows.begin(), b.rows.end()).size() == 8);
      CHECK(std::set(b.columns.begin(), b.columns.end()).size() == 8);
      for (std::uint64_t r : b.rows)
        for (std::uint64_t col : b.columns) {
          CHECK(r < 96);
          CHECK(col < 64);
          out.insert({r, col});
        }
    }
    return out;
  };
  CHECK(places(1) == places(1));
  CHECK(places(1) != places(2));
}

TEST_CASE("a block of a dense gemm is that part of it, also of transposed operands") {
  check_blocks_agree(dense(40, 24, 32), 192);
  Contract c = empty_gemm();
  c.buffers = {normal("A", ScalarType::f16, {32, 40}), normal("B", ScalarType::f16, {32, 24}),
               filled("D", ScalarType::f16, {40, 24})};
  c.expectations[0].a_transposed = c.expectations[0].b_transposed = true;
  solve(c);
  check_blocks_agree(c, 192);
}

TEST_CASE("a block of a gemm with C, beta, bias and an activation has its own of each") {
  Contract c = dense(40, 24, 32);
  c.buffers.push_back(normal("C", ScalarType::bf16, {40, 24}));
  c.buffers.push_back(normal("beta", ScalarType::f32, {1}));
  c.buffers.push_back(normal("bias", ScalarType::f32, {24}));
  Expectation& e = c.expectations[0];
  e.c = "C", e.beta = "beta", e.bias = "bias", e.activation = launch::Activation::relu;
  solve(c);
  check_blocks_agree(c, 192);
  CHECK(sampled(c).pass);
}

TEST_CASE("a block of quantised operands has their scales and metadata") {
  for (const bool sparse : {false, true}) {
    Contract c = empty_gemm();
    const std::uint64_t k = sparse ? 256 : 128;
    c.buffers = {buffer("A", ScalarType::e4m3, {160, 128}, {Init::Kind::normal, 0, 1, 1, {}}),
                 buffer("B", ScalarType::e4m3, {136, k}, {Init::Kind::normal, 0, 1, 2, {}}),
                 buffer("D", ScalarType::f32, {160, 136})};
    launch::Quantisation a{"SFA", 32, {}, sparse ? "M" : "", 0}, b{"SFB", sparse ? 64u : 32u, {}, {}, 0};
    launch::quantise(c, "A", a);
    launch::quantise(c, "B", b);
    Expectation& e = c.expectations[0];
    e.sfa = "SFA", e.sfb = "SFB", e.block = 32;
    if (sparse) e.metadata = "M";
    fill(c);
    solve(c);
    check_blocks_agree(c, 256);
    CHECK(sampled(c).pass);
  }
}

TEST_CASE("four-bit elements are gathered one by one") {
  Contract c = empty_gemm();
  c.buffers = {normal("A", ScalarType::e2m1, {40, 32}), normal("B", ScalarType::e2m1, {24, 32}),
               filled("D", ScalarType::f32, {40, 24})};
  solve(c);
  check_blocks_agree(c, 192);
}

TEST_CASE("a batch is sampled in all of its matrices, groups in their own") {
  Contract batch = empty_gemm();
  batch.buffers = {normal("A", ScalarType::bf16, {3, 32, 16}), normal("B", ScalarType::bf16, {3, 24, 16}),
                   filled("D", ScalarType::f32, {3, 32, 24})};
  const Comparison wrong = sampled(batch, 512);
  CHECK(wrong.wrong == 512);
  CHECK(wrong.worst.size() == 3);
  std::set<std::uint64_t> matrices;
  for (const SampleBlock& b : choose_blocks(batch, batch.expectations[0], 1024, 1)) matrices.insert(b.matrix);
  CHECK(matrices.size() == 3);
}

TEST_CASE("sampled batches and groups that are right pass") {
  Contract c = empty_gemm();
  c.buffers = {normal("A", ScalarType::bf16, {40, 16}), normal("B", ScalarType::bf16, {3, 24, 16}),
               filled("D", ScalarType::f32, {40, 24}), filled("E", ScalarType::u32, {3})};
  const std::uint64_t ends[] = {20, 20, 40};
  for (std::uint64_t g = 0; g < 3; ++g) store_element(c.at("E").bytes, ScalarType::u32, g, ends[g]);
  const Matrix a = values(c.at("A"));
  for (std::uint64_t r = 0; r < 40; ++r)
    for (std::uint64_t n = 0; n < 24; ++n) {
      double sum = 0;
      const std::uint64_t matrix = r < 20 ? 0 : 2;
      for (std::uint64_t k = 0; k < 16; ++k)
        sum += a.at[r * 16 + k] * element_value(ScalarType::bf16, load_element(c.at("B").bytes, ScalarType::bf16,
                                                                               (matrix * 24 + n) * 16 + k));
      store_element(c.at("D").bytes, ScalarType::f32, r * 24 + n, quantise(ScalarType::f32, sum));
    }
  c.expectations[0].groups = "E";
  CHECK(sampled(c, 512).pass);
  store_element(c.at("E").bytes, ScalarType::u32, 1, 21);
  store_element(c.at("E").bytes, ScalarType::u32, 0, 1);
  CHECK(!sampled(c, 512).pass);
}

TEST_CASE("only gemms are sampled: a copy is compared whole") {
  Contract c;
  c.buffers = {normal("A", ScalarType::bf16, {64, 64}), normal("D", ScalarType::bf16, {64, 64})};
  c.buffers[1].bytes = c.buffers[0].bytes;
  Expectation e;
  e.kind = Expectation::Kind::copy;
  e.output = "D", e.a = "A";
  c.expectations = {e};
  CHECK(sampled(c, 8).elements == 64 * 64);
  CHECK(test::contains(test::error_of([&] { choose_blocks(c, e, 8, 1); }), "only gemms"));
}

}  // namespace
}  // namespace kiln::harness::sample_tests

// Gemms of every kind, as the tensor core computes them, against what the contract expects.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "harness/compare/compare.hpp"
#include "harness/compare/reference.hpp"
#include "harness/problem/random.hpp"
#include "launch/operands.hpp"
#include "tests/unit/harness/buffer.hpp"
#include "tests/unit/harness/mma_chain.hpp"
#include "tests/unit/harness/temporary.hpp"

namespace kiln::harness::gemm_kinds_tests {
namespace {

using isa::ScalarType;
using launch::Buffer;
using launch::Contract;
using launch::Expectation;
using launch::Init;
using num::MmaKind;
using test::buffer;
using test::contains;
using test::error_of;
using test::MmaChain;

// What distinguishes a kind: types, scales, sparsity, sums.
struct Kind {
  const char* name;
  isa::MmaKind kind;
  ScalarType a, b, d;
  ScalarType scale = ScalarType::none;
  std::uint32_t block = 0, mma_k = 0;
  bool sparse = false, saturate = false;
  double deviation = 1;
};

// Each operand quantised from normal numbers, A pruned where it is sparse.
Init quantised(const Kind& k, const char* scales, bool prune) {
  Init i;
  i.kind = isa::is_floating(k.a) ? Init::Kind::normal : Init::Kind::uniform;
  i.low = k.a == ScalarType::u8 ? 0 : -128, i.high = isa::is_floating(k.a)   ? k.deviation
                                                     : k.a == ScalarType::u8 ? 255
                                                                             : 127;
  launch::Quantisation q;
  if (k.scale != ScalarType::none) q.scales = scales, q.block = k.block * (k.sparse && !prune ? 2 : 1);
  if (prune) q.metadata = "E";
  q.mma_k = k.mma_k;
  i.quantised = q;
  return i;
}

MmaChain chain_of(const Kind& k, std::uint64_t m = 140, std::uint64_t n = 24, std::uint64_t steps = 5) {
  MmaChain t;
  const bool scaled = k.scale != ScalarType::none;
  t.spec.kind = num::mma_kind(k.kind), t.spec.a = k.a, t.spec.b = k.b, t.spec.d = k.d;
  t.spec.scale = k.scale, t.spec.sparse = k.sparse, t.spec.saturate = k.saturate;
  if (k.d == ScalarType::s32) t.spec.d = ScalarType::s32;
  const std::uint64_t stored = steps * std::uint64_t(isa::mma_k(k.kind)), depth = k.sparse ? 2 * stored : stored;
  if (scaled) t.spec.scale_vector = isa::mma_k(k.kind) / int(k.block);
  t.contract.buffers = {buffer("A", k.a, {m, stored}), buffer("B", k.b, {n, depth}), buffer("D", k.d, {m, n})};
  t["A"].init = quantised(k, "SFA", k.sparse), t["B"].init = quantised(k, "SFB", false);
  Expectation e;
  e.output = "D", e.a = "A", e.b = "B", e.mma_k = k.mma_k, e.saturate = k.saturate;
  if (k.d == ScalarType::f16) e.accumulate = ScalarType::f16;
  if (scaled) {
    e.sfa = "SFA", e.sfb = "SFB", e.block = k.block;
    t.contract.buffers.push_back(launch::scale_buffer("SFA", k.scale, m, stored / k.block, 2));
    t.contract.buffers.push_back(launch::scale_buffer("SFB", k.scale, n, stored / k.block));
  }
  if (k.sparse) {
    e.metadata = "E";
    t.contract.buffers.push_back(launch::metadata_buffer("E", k.kind, m, depth, 2));
  }
  t.contract.expectations = {e};
  fill(t.contract);
  return t;
}

Comparison compared(const MmaChain& t) { return compare(t.contract, t.contract.expectations[0]); }

using K = isa::MmaKind;
using T = ScalarType;
const Kind kinds[] = {
    {"bf16", K::f16, T::bf16, T::bf16, T::f32},
    {"f16 into f16", K::f16, T::f16, T::f16, T::f16},
    {"tf32", K::tf32, T::tf32, T::tf32, T::f32},
    {"e4m3 times e5m2", K::f8f6f4, T::e4m3, T::e5m2, T::f32},
    {"e4m3 into f16", K::f8f6f4, T::e4m3, T::e4m3, T::f16},
    {"e3m2 times e2m3", K::f8f6f4, T::e3m2, T::e2m3, T::f32},
    {"e2m1 without scales", K::f8f6f4, T::e2m1, T::e2m1, T::f32},
    {"s8 times u8", K::i8, T::s8, T::s8, T::s32},
    {"mxf8", K::mxf8f6f4, T::e4m3, T::e4m3, T::f32, T::ue8m0, 32},
    {"mxf6 times mxf4", K::mxf8f6f4, T::e2m3, T::e2m1, T::f32, T::ue8m0, 32, 32},
    {"mxf4 in bytes", K::mxf8f6f4, T::e2m1, T::e2m1, T::f32, T::ue8m0, 32, 32},
    {"mxf4", K::mxf4, T::e2m1, T::e2m1, T::f32, T::ue8m0, 32},
    {"nvfp4", K::mxf4nvf4, T::e2m1, T::e2m1, T::f32, T::ue4m3, 16},
    {"mxf4nvf4 with ue8m0", K::mxf4nvf4, T::e2m1, T::e2m1, T::f32, T::ue8m0, 16},
    {"sparse bf16", K::f16, T::bf16, T::bf16, T::f32, T::none, 0, 0, true},
    {"sparse f16 into f16", K::f16, T::f16, T::f16, T::f16, T::none, 0, 0, true},
    {"sparse tf32", K::tf32, T::tf32, T::tf32, T::f32, T::none, 0, 0, true},
    {"sparse e5m2", K::f8f6f4, T::e5m2, T::e4m3, T::f32, T::none, 0, 0, true},
    {"sparse e2m1 in bytes", K::f8f6f4, T::e2m1, T::e2m1, T::f32, T::none, 0, 0, true},
    {"sparse s8", K::i8, T::s8, T::s8, T::s32, T::none, 0, 0, true},
    {"sparse mxf8", K::mxf8f6f4, T::e4m3, T::e4m3, T::f32, T::ue8m0, 32, 0, true},
    {"sparse mxf4", K::mxf4, T::e2m1, T::e2m1, T::f32, T::ue8m0, 32, 0, true},
    {"sparse nvfp4", K::mxf4nvf4, T::e2m1, T::e2m1, T::f32, T::ue4m3, 16, 0, true},
};

TEST_CASE("what the tensor core computes is right for every kind") {
  for (const Kind& k : kinds) {
    CAPTURE(k.name);
    MmaChain t = chain_of(k);
    t.run();
    const Comparison c = compared(t);
    CHECK_MESSAGE(c.pass, c.wrong << " of " << c.elements << ", " << c.got << " for " << c.want << ", " << c.argument);
    CHECK(c.want != 0);
  }
}

// Any finite word in place of every element, and scales from a range that reaches to where sums underflow.
void fill_with_words(MmaChain& t, std::uint64_t seed, std::uint64_t least_scale, std::uint64_t scale_range) {
  for (Buffer& b : t.contract.buffers) {
    if (b.name == "D" || b.name == "E") continue;
    const RandomStream random(seed, b.name);
    for (std::uint64_t i = 0, next = 0; i < b.elements(); ++i) {
      std::uint64_t word = b.dtype == T::ue8m0 ? least_scale + random.below(next++, scale_range) : random.word(next++);
      if (b.dtype == T::ue4m3) word &= 0x7F;
      if (b.dtype == T::bf16 || b.dtype == T::tf32) word &= ~(std::uint64_t{1} << (isa::bits(b.dtype) - 2));  // below 2
      while (!std::isfinite(element_value(b.dtype, word & ((std::uint64_t{1} << isa::bits(b.dtype)) - 1))))
        word = random.word(next++) & 0x7F;
      store_element(b.bytes, b.dtype, i, word);
    }
  }
}

TEST_CASE("the bounds hold for any words, also where sums underflow") {
  for (const Kind& k : kinds) {
    CAPTURE(k.name);
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
      CAPTURE(seed);
      MmaChain t = chain_of(k, 20, 24, 3);
      fill_with_words(t, seed, seed % 2 ? 110 : 40, seed % 2 ? 40 : 36);
      t.run();
      const Comparison c = compared(t);
      CHECK_MESSAGE(c.pass, c.wrong << " of " << c.elements << ", " << c.got << " for " << c.want << ", " << c.bound);
    }
  }
}

TEST_CASE("a scale taken from the next block fails for every kind with scales") {
  for (const Kind& k : kinds) {
    if (k.scale == ScalarType::none) continue;
    CAPTURE(k.name);
    MmaChain t = chain_of(k);
    // Numbers twice as large in every other block of A make scales differ.
    Buffer& sfa = t["SFA"];
    for (std::size_t i = 0; i < sfa.bytes.size(); i += 2)
      sfa.bytes[i] = std::uint8_t(sfa.bytes[i] + (k.scale == T::ue8m0 ? 1 : 8));
    const std::vector<std::uint8_t> right = sfa.bytes;
    for (std::size_t i = 0; i + 1 < sfa.bytes.size(); i += 2) std::swap(sfa.bytes[i], sfa.bytes[i + 1]);
    t.run();
    sfa.bytes = right;
    CHECK(!compared(t).pass);
  }
}

TEST_CASE("metadata of the next row fails for every sparse kind") {
  for (const Kind& k : kinds) {
    if (!k.sparse) continue;
    CAPTURE(k.name);
    MmaChain t = chain_of(k, 32);
    Buffer& e = t["E"];
    const std::vector<std::uint8_t> right = e.bytes;
    std::rotate(e.bytes.begin(), e.bytes.begin() + 16, e.bytes.end());
    t.run();
    e.bytes = right;
    CHECK(!compared(t).pass);
  }
}

TEST_CASE("sums in f16 are allowed what f16 rounds, sums in f32 are not") {
  MmaChain t = chain_of(kinds[1], 64, 64, 20);
  t.run();
  CHECK(compared(t).pass);
  t.contract.expectations[0].accumulate = T::f32;
  CHECK(!compared(t).pass);
}

TEST_CASE("a lost MMA of ones fails against f16 sums") {
  MmaChain t = chain_of(kinds[1], 8, 8, 8);
  for (const char* name : {"A", "B"})
    for (std::uint64_t i = 0; i < t[name].elements(); ++i) store_element(t[name].bytes, T::f16, i, 0x3C00);
  t.run();
  CHECK(compared(t).pass);
  for (std::uint64_t i = 0; i < 16; ++i) store_element(t["A"].bytes, T::f16, i, 0);
  MmaChain lost = t;
  lost.run();
  t["D"].bytes = lost["D"].bytes;
  for (std::uint64_t i = 0; i < 16; ++i) store_element(t["A"].bytes, T::f16, i, 0x3C00);
  CHECK(!compared(t).pass);
}

TEST_CASE("a sum that leaves f16 on the way may be infinite, one that cannot may not") {
  MmaChain t = chain_of(kinds[1], 1, 1, 2);
  const auto set = [&](std::uint64_t first, double a) {
    for (std::uint64_t i = first; i < first + 16; ++i) {
      store_element(t["A"].bytes, T::f16, i, quantise(T::f16, a));
      store_element(t["B"].bytes, T::f16, i, quantise(T::f16, 100));
    }
  };
  set(0, 100), set(16, -100);
  t.run();
  CHECK(std::isinf(element_value(T::f16, load_element(t["D"].bytes, T::f16, 0))));
  CHECK(compared(t).pass);
  set(0, 10), set(16, -10);
  CHECK(!compared(t).pass);
}

TEST_CASE("sums of integers wrap, or saturate after each MMA") {
  const Kind u8{"", K::i8, T::u8, T::u8, T::s32};
  for (const bool saturate : {false, true}) {
    CAPTURE(saturate);
    Kind k = u8;
    k.saturate = saturate;
    MmaChain t = chain_of(k, 1, 1, 1100);
    for (const char* name : {"A", "B"}) std::fill(t[name].bytes.begin(), t[name].bytes.end(), std::uint8_t{255});
    t.run();
    const double got = element_value(T::s32, load_element(t["D"].bytes, T::s32, 0));
    CHECK(got == (saturate ? 2147483647.0 : 1100.0 * 32 * 255 * 255 - 4294967296.0));
    CHECK(compared(t).pass);
    t.contract.expectations[0].saturate = !saturate;
    CHECK(!compared(t).pass);
  }
}

TEST_CASE("an unselected infinity of B is never seen") {
  MmaChain t = chain_of(kinds[14], 16, 8, 1);
  t["A"].bytes.assign(t["A"].bytes.size(), 0);
  t["E"].bytes.assign(t["E"].bytes.size(), 0x44);  // the first two of each four
  for (std::uint64_t i = 0; i < t["A"].elements(); ++i) store_element(t["A"].bytes, T::bf16, i, 0x3F80);
  for (std::uint64_t i = 2; i < 32; i += 4) store_element(t["B"].bytes, T::bf16, i, 0x7F80);
  t.run();
  CHECK(compared(t).pass);
  store_element(t["B"].bytes, T::bf16, 0, 0x7F80);
  CHECK(!compared(t).pass);
}

TEST_CASE("factors multiply the sum") {
  MmaChain t = chain_of(kinds[0], 8, 8, 2);
  Buffer f = buffer("F", T::f32, {1});
  f.bytes.assign(4, 0);
  store_element(f.bytes, T::f32, 0, 0x3FC00000);  // 1.5
  t.contract.buffers.push_back(f);
  t.run();
  for (std::uint64_t i = 0; i < 64; ++i) {
    const double x = element_value(T::f32, load_element(t["D"].bytes, T::f32, i));
    store_element(t["D"].bytes, T::f32, i, num::encode(T::f32, 1.5 * x));
  }
  CHECK(!compared(t).pass);
  t.contract.expectations[0].factors = {"F"};
  CHECK(compared(t).pass);
}

TEST_CASE("bounds follow the arithmetic") {
  GemmArithmetic g{K::mxf4nvf4, T::f32, 640, 64, T::f32, 0, false};
  CHECK(derive_tolerance(g).of_scale == doctest::Approx(10 * (0x1p-23 + 5 * 0x1p-35)).epsilon(2e-3));
  CHECK(contains(derive_tolerance(g).argument, "10 MMAs of K=64, each cutting 5 sums at 2^-35 and the sum at 2^-23"));
  g = {K::mxf8f6f4, T::f32, 640, 32, T::f32, 0, false};
  CHECK(derive_tolerance(g).of_scale == doctest::Approx(20 * (0x1p-23 + 33 * 0x1p-25)).epsilon(2e-3));
  g = {K::f16, T::f16, 64, 16, T::f16, 0, false};
  const double each = 0x1p-11 + 17 * 0x1p-25;
  CHECK(derive_tolerance(g).of_scale == doctest::Approx(std::pow(1 + each, 4) - 1).epsilon(2e-3));
  CHECK(derive_tolerance(g).of_result == 0);  // it is f16 already
  CHECK(derive_tolerance(g, Accumulation::f32_chain).of_scale == derive_tolerance(g).of_scale);
  g = {K::i8, T::s32, 64, 32, T::f32, 0, true};
  CHECK(derive_tolerance(g).bound(5, 100) == 0);
  g.factors = 2, g.output = T::f32;
  CHECK(derive_tolerance(g).of_result == doctest::Approx(3 * 0x1p-24).epsilon(2e-3));
}

std::string refusal(const Kind& k, void (*spoil)(MmaChain&)) {
  MmaChain t = chain_of(k, 140, 24, 2);
  spoil(t);
  return error_of([&] { compared(t); });
}

TEST_CASE("a gemm that no MMA computes is refused") {
  const Kind &bf16 = kinds[0], &mxf8 = kinds[8], &nvfp4 = kinds[12], &sparse = kinds[14];
  CHECK(refusal(mxf8, [](MmaChain& t) { t.contract.expectations[0].sfb.clear(); }) == "sfa and sfb come together");
  CHECK(contains(refusal(mxf8, [](MmaChain& t) { t.contract.expectations[0].block = 0; }), "scales need a block"));
  CHECK(contains(refusal(mxf8, [](MmaChain& t) { t.contract.expectations[0].block = 16; }),
                 "e4m3 times e4m3 has no block of 16 in MMAs of K = 32"));
  CHECK(contains(refusal(mxf8,
                         [](MmaChain& t) {
                           t["SFA"].shape = {1, 2, 512};
                         }),
                 "buffer SFA [1, 2, 512] must be at least [2, 1, 512] for 2 scales in each of 140 rows"));
  CHECK(contains(refusal(mxf8, [](MmaChain& t) { t["SFA"].dtype = T::e4m3; }), "scales are ue8m0 or ue4m3; got e4m3"));
  CHECK(contains(refusal(nvfp4, [](MmaChain& t) { t["SFA"].dtype = T::ue8m0; }), "one MMA has scales of one type"));
  CHECK(contains(refusal(mxf8, [](MmaChain& t) { t["SFA"].dtype = t["SFB"].dtype = T::ue4m3; }),
                 "ue4m3 scales go with blocks of 16 of e2m1 alone"));
  CHECK(contains(refusal(sparse, [](MmaChain& t) { t["E"].dtype = T::u8; }), "metadata is u32; got u8"));
  CHECK(contains(refusal(sparse, [](MmaChain& t) { t["E"].shape = {1, 1, 512}; }), "must be at least [2, 1, 512]"));
  CHECK(contains(refusal(sparse, [](MmaChain& t) { t.contract.expectations[0].metadata.clear(); }),
                 "A has K = 32, B has K = 64"));
  CHECK(contains(refusal(sparse, [](MmaChain& t) { t["E"].bytes[0] = 0x40; }),
                 "the metadata of row 0, K 0 to 3, is 0x0, which means nothing"));
  CHECK(contains(refusal(bf16, [](MmaChain& t) { t.contract.expectations[0].accumulate = T::f16; }),
                 "bf16 times bf16 (kind::f16) has no f16 accumulator"));
  CHECK(refusal(bf16, [](MmaChain& t) { t.contract.expectations[0].saturate = true; }) ==
        "only MMAs of 8-bit integers saturate");
  CHECK(refusal(bf16, [](MmaChain& t) { t.contract.expectations[0].metadata = "X"; }) == "there is no buffer X");
  CHECK(contains(refusal(bf16, [](MmaChain& t) { t.contract.expectations[0].factors = {"A"}; }),
                 "a factor is one f32; got bf16 [140, 32]"));
}

TEST_CASE("signs of scales and metadata without a meaning are refused before a launch") {
  MmaChain scaled = chain_of(kinds[12], 140, 24, 2), sparse = chain_of(kinds[14], 140, 24, 2);
  check_contents(scaled.contract);
  check_contents(sparse.contract);
  scaled["SFB"].bytes[7] = 0x81;
  CHECK(error_of([&] { check_contents(scaled.contract); }) == "buffer SFB: scale 7 is 0x81; ue4m3 has no sign");
  sparse["E"].bytes[0] = 0x4F;
  CHECK(contains(error_of([&] { check_contents(sparse.contract); }), "row 0, K 0 to 3, is 0xf"));
  sparse["E"].init.kind = Init::Kind::poison;  // a launch is to write it
  check_contents(sparse.contract);
}

}  // namespace
}  // namespace kiln::harness::gemm_kinds_tests

#include "harness/problem/fill.hpp"
#include "harness/problem/element.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <set>

#include "harness/problem/random.hpp"
#include "tests/unit/harness/buffer.hpp"
#include "tests/unit/harness/temporary.hpp"

namespace kiln::harness::fill_tests {
namespace {

using isa::ScalarType;
using launch::Buffer;
using launch::Init;
using test::contains;
using test::element;
using test::error_of;

Buffer filled(ScalarType type, std::uint64_t count, Init init, const char* name = "A") {
  return test::filled(name, type, {count}, std::move(init));
}

Init init(Init::Kind kind, double low = 0, double high = 1, std::uint64_t seed = 1) {
  return {kind, low, high, seed, {}};
}

TEST_CASE("the first numbers of a stream never change") {
  const RandomStream random(1, "A");
  CHECK(random.word(0) == 0xF989E926006A42B3);
  CHECK(random.word(1) == 0x4D3F77A15624219B);
  CHECK(random.normal(0) == -0x1.c2cp-2);
  CHECK(random.unit(0) == 0x1.f313d24c00d48p-1);
}

TEST_CASE("the first elements of each fill never change") {
  const Buffer normal = filled(ScalarType::bf16, 4, init(Init::Kind::normal));
  CHECK(load_element(normal.bytes, normal.dtype, 0) == 0xBEE1);
  CHECK(load_element(normal.bytes, normal.dtype, 3) == 0xBE4F);
  const Buffer uniform = filled(ScalarType::f32, 2, init(Init::Kind::uniform, -1, 1));
  CHECK(load_element(uniform.bytes, uniform.dtype, 0) == 0x3F7313D2);
  const Buffer integers = filled(ScalarType::s8, 2, init(Init::Kind::integers, -5, 5));
  CHECK(element(integers, 0) == 5);
}

TEST_CASE("seed and name choose the numbers, nothing else does") {
  const auto bytes = [](std::uint64_t seed, const char* name) {
    return filled(ScalarType::bf16, 64, init(Init::Kind::normal, 0, 1, seed), name).bytes;
  };
  CHECK(bytes(1, "A") == bytes(1, "A"));
  CHECK(bytes(1, "A") != bytes(2, "A"));
  CHECK(bytes(1, "A") != bytes(1, "B"));
}

TEST_CASE("normal numbers have the mean and deviation asked for") {
  const Buffer b = filled(ScalarType::f32, 20000, init(Init::Kind::normal, 0, 2));
  double sum = 0, squares = 0;
  for (std::uint64_t i = 0; i < 20000; ++i) sum += element(b, i), squares += element(b, i) * element(b, i);
  CHECK(std::abs(sum / 20000) < 0.05);
  CHECK(std::abs(std::sqrt(squares / 20000) - 2) < 0.05);
}

TEST_CASE("integers reach both ends and no further") {
  const Buffer b = filled(ScalarType::s32, 1000, init(Init::Kind::integers, -2, 3));
  std::set<double> seen;
  for (std::uint64_t i = 0; i < 1000; ++i) seen.insert(element(b, i));
  CHECK(seen == std::set<double>{-2, -1, 0, 1, 2, 3});
}

TEST_CASE("two fp4 elements share a byte, the even one low") {
  std::vector<std::uint8_t> bytes(1, 0);
  store_element(bytes, ScalarType::e2m1, 0, 0x2);
  store_element(bytes, ScalarType::e2m1, 1, 0x7);
  CHECK(bytes[0] == 0x72);
  CHECK(load_element(bytes, ScalarType::e2m1, 1) == 0x7);
}

TEST_CASE("elements of six bits are packed, and a neighbour stays as it is") {
  std::vector<std::uint8_t> bytes(12, 0);
  for (std::uint64_t i = 0; i < 16; ++i) store_element(bytes, ScalarType::e3m2, i, i * 5 % 64);
  store_element(bytes, ScalarType::e3m2, 7, 0xFF2A);
  unsigned __int128 all = 0;
  for (std::size_t i = 12; i-- > 0;) all = all << 8 | bytes[i];
  for (std::uint64_t i = 0; i < 16; ++i) {
    CHECK(unsigned(all >> 6 * i & 63) == (i == 7 ? 0x2A : i * 5 % 64));
    CHECK(load_element(bytes, ScalarType::e3m2, i) == unsigned(all >> 6 * i & 63));
  }
  const Buffer normal = filled(ScalarType::e3m2, 16, init(Init::Kind::normal));
  CHECK(normal.bytes.size() == 12);
  CHECK(element(normal, 0) == -0.4375);  // -0x1.c2cp-2, cut to three bits
}

TEST_CASE("numbers are rounded once, to nearest even, and stay finite") {
  CHECK(quantise(ScalarType::bf16, 1.00390625) == 0x3F80);            // a tie goes to even
  CHECK(quantise(ScalarType::bf16, 1.00390625 + 0x1p-40) == 0x3F81);  // not through f32, where this is a tie
  CHECK(quantise(ScalarType::bf16, 1e39) == 0x7F7F);
  CHECK(quantise(ScalarType::e4m3, 1e9) == 0x7E);
  CHECK(quantise(ScalarType::s8, -1000) == 0xFFFFFFFFFFFFFF80);
  CHECK(quantise(ScalarType::u8, 1000) == 0xFF);
  CHECK(quantise(ScalarType::ue8m0, 3.0) == 129);  // powers of two, rounded up
}

TEST_CASE("poison is NaN, zeros are zero, hex is as written") {
  CHECK(std::isnan(element(filled(ScalarType::bf16, 4, init(Init::Kind::poison)), 3)));
  CHECK(element(filled(ScalarType::bf16, 4, init(Init::Kind::zeros)), 3) == 0);
  Init hex = init(Init::Kind::hex);
  hex.text = "01020aFF";
  CHECK(filled(ScalarType::u16, 2, hex).bytes == std::vector<std::uint8_t>{1, 2, 10, 255});
  CHECK(error_of([&] { filled(ScalarType::u16, 3, hex); }) == "buffer A: hex has 8 digits, 6 bytes need 12");
}

TEST_CASE("values are the elements, in order, and none is rounded") {
  const auto with = [](ScalarType type, std::vector<double> values) {
    Init of = init(Init::Kind::values);
    of.values = std::move(values);
    return filled(type, 3, of);
  };
  const Buffer u = with(ScalarType::u32, {2, 2, 4294967295});
  CHECK(u.bytes == std::vector<std::uint8_t>{2, 0, 0, 0, 2, 0, 0, 0, 255, 255, 255, 255});
  CHECK(element(with(ScalarType::s8, {-128, 0, 127}), 0) == -128);
  CHECK(element(with(ScalarType::e2m1, {0.5, -6, 3}), 1) == -6);
  CHECK(error_of([&] { with(ScalarType::u32, {1, 2}); }) == "buffer A: has 2 values for 3 elements");
  CHECK(error_of([&] { with(ScalarType::u32, {1, -2, 3}); }) == "buffer A: u32 does not hold -2");
  CHECK(error_of([&] { with(ScalarType::u32, {1, 2, 2.5}); }) == "buffer A: u32 does not hold 2.5");
  CHECK(error_of([&] { with(ScalarType::bf16, {1, 2, 257}); }) == "buffer A: bf16 does not hold 257");
}

TEST_CASE("a type is not asked for what it cannot hold") {
  CHECK(contains(error_of([] { filled(ScalarType::u8, 1, init(Init::Kind::integers, -1, 1)); }),
                 "u8 cannot hold all integers from -1 to 1"));
  CHECK(
      contains(error_of([] { filled(ScalarType::b32, 1, init(Init::Kind::normal)); }), "b32 holds bits, not numbers"));
}

}  // namespace
}  // namespace kiln::harness::fill_tests

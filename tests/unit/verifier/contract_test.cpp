#include <doctest/doctest.h>

#include "verifier/contract.hpp"

namespace verifier_contract {

using namespace kiln;

namespace {

launch::TensorMap good() {
  launch::TensorMap m;
  m.buffer = "A";
  m.dims = {512, 512};
  m.strides = {0, 1024};
  m.box = {64, 128, 1, 1, 1};
  m.swizzle = isa::Swizzle::b128;
  return m;
}

std::string check(const launch::TensorMap& m, isa::ScalarType type = isa::ScalarType::bf16) {
  launch::Contract contract;
  contract.buffers = {{"A", type, {512, 512}}};
  contract.tensor_maps.emplace("A_map", m);
  diag::Sink sink;
  verifier::check_contract(contract, sink);
  std::string out;
  for (const auto& d : sink.all()) {
    CHECK(d.message.find("'A_map'") != std::string::npos);
    out += d.slug + " ";
  }
  return out;
}

}  // namespace

TEST_CASE("a good tensor map has no findings") { CHECK(check(good()).empty()); }

TEST_CASE("each rule about tensor maps names the map that breaks it") {
  auto m = good();
  m.box[1] = 512;
  CHECK(check(m) == "tma-box ");
  m = good();
  m.box[0] = 60;
  CHECK(check(m) == "tma-inner-bytes ");
  m = good();
  m.box[0] = 128;
  CHECK(check(m) == "tma-inner-span ");
  m = good();
  m.strides[1] = 1000;
  CHECK(check(m) == "tma-stride ");
  m = good();
  m.offset = 8, m.dims = {512, 511};
  CHECK(check(m) == "tma-stride ");
}

TEST_CASE("a tensor map stays in its buffer: more columns, more rows, an offset") {
  auto m = good();
  m.strides[1] = 2048;
  CHECK(check(m) == "tma-reach ");
  m = good();
  m.dims = {512, 513};
  CHECK(check(m) == "tma-reach ");
  m = good();
  m.offset = 16;
  CHECK(check(m) == "tma-reach ");
  m = good();
  m.dims = {256, 512};
  CHECK(check(m).empty());
  m.strides[1] = std::uint64_t{1} << 39, m.dims = {512, std::uint64_t{1} << 32};
  CHECK(check(m) == "tma-reach ");
}

TEST_CASE("a tensor map has the floating-point format of its buffer; integers are any bits") {
  CHECK(check(good(), isa::ScalarType::f16) == "tma-type ");
  CHECK(check(good(), isa::ScalarType::f32) == "tma-type ");
  CHECK(check(good(), isa::ScalarType::u16).empty());
  auto m = good();
  m.dtype = isa::ScalarType::tf32, m.dims = {256, 512}, m.box[0] = 32;
  CHECK(check(m, isa::ScalarType::f32).empty());
}

TEST_CASE("dimensions beyond the rank do not count") {
  auto m = good();
  m.box[2] = 1000;
  m.strides[3] = 7;
  CHECK(check(m).empty());
}

}  // namespace verifier_contract

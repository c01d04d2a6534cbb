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
  m.dtype = isa::ScalarType::tf32, m.strides[1] = 2048, m.box[0] = 32;
  CHECK(check(m, isa::ScalarType::f32).empty());
}

TEST_CASE("rows and columns that are exchanged are a note, also of a map that sees spans; a square cannot tell") {
  const auto extents = [](std::uint64_t inner, std::uint64_t outer, std::vector<std::uint64_t> shape, int spans = 0) {
    launch::Contract contract;
    contract.buffers = {{"A", isa::ScalarType::bf16, std::move(shape)}};
    auto m = good();
    m.dims = {inner, outer}, m.strides[1] = 2 * inner;
    if (spans) {
      m.rank = 3, m.dims = {inner / std::uint64_t(spans), outer, std::uint64_t(spans)};
      m.strides[2] = 2 * m.dims[0];
    }
    contract.tensor_maps.emplace("A_map", m);
    diag::Sink sink;
    verifier::check_contract(contract, sink);
    CHECK(!sink.has_errors());
    std::string out;
    for (const auto& d : sink.all()) out += d.slug + ": " + d.message;
    return out;
  };
  CHECK(extents(256, 512, {512, 256}).empty());
  CHECK(extents(256, 512, {256, 512}) ==
        "tma-extents: the rows of a tensor map should be those of its buffer, not its columns; got tensor map 'A_map' "
        "of 512 rows of 256 over buffer 'A' of 256 rows of 512");
  CHECK(extents(256, 512, {256, 512}, 4).starts_with("tma-extents"));
  CHECK(extents(256, 512, {512, 256}, 4).empty());
  CHECK(extents(512, 512, {512, 512}).empty());
  CHECK(extents(128, 1024, {256, 512}).empty());  // another shape of the same elements
}

TEST_CASE("what a launch is given of a buffer is all of it, unless something else reaches it") {
  const auto unread = [](std::uint64_t rows, bool has_pointer, bool has_map = false) {
    launch::Contract contract;
    contract.buffers = {{"A", isa::ScalarType::bf16, {512, 512}}};
    auto m = good();
    m.dims[1] = rows;
    contract.tensor_maps.emplace("A_map", m);
    if (has_map) contract.tensor_maps.emplace("rest", good());
    contract.launches.emplace_back();
    contract.launches[0].params = {{launch::TensorMapParam{"A_map"}}};
    contract.launches[0].at = {"kernels.cpp", 7};
    launch::StructParam fields{8, {{0, {launch::PointerParam{"A", 0}}}}};
    if (has_pointer) contract.launches[0].params.push_back({fields});
    diag::Sink sink;
    verifier::check_contract(contract, sink);
    for (const auto& d : sink.all()) {
      CHECK(d.where.file == "kernels.cpp");
      CHECK(d.where.line == 7);
      CHECK(d.severity == diag::Severity::note);
    }
    return sink.all().empty() ? "" : sink.all().front().message;
  };
  CHECK(unread(512, false).empty());
  CHECK(unread(500, false).ends_with("got 12288 bytes of buffer 'A' after the end of tensor map 'A_map'"));
  CHECK(unread(500, true).empty());
  CHECK(unread(500, false, true).empty());
}

TEST_CASE("a pointer is to its buffer's format and to whole elements of it, at the line of the launch") {
  const auto found = [](isa::ScalarType pointer, isa::ScalarType buffer, std::uint64_t elements,
                        std::uint64_t offset = 0) {
    launch::Contract contract;
    contract.buffers = {{"A", buffer, {elements}}};
    contract.launches.emplace_back();
    contract.launches[0].params = {{launch::PointerParam{"A", offset, pointer}}};
    contract.launches[0].at = {"kernels.cpp", 9};
    diag::Sink sink;
    verifier::check_contract(contract, sink);
    std::string out;
    for (const auto& d : sink.all()) {
      CHECK(d.where.line == 9);
      CHECK((d.severity == diag::Severity::error) == (d.slug == "pointer-type"));
      out += d.slug + " ";
    }
    return out;
  };
  using isa::ScalarType;
  CHECK(found(ScalarType::f32, ScalarType::f32, 8).empty());
  CHECK(found(ScalarType::f32, ScalarType::bf16, 8) == "pointer-type ");
  CHECK(found(ScalarType::u32, ScalarType::bf16, 8).empty());
  CHECK(found(ScalarType::f32, ScalarType::u8, 32).empty());
  CHECK(found(ScalarType::f32, ScalarType::u8, 34) == "pointer-elements ");
  CHECK(found(ScalarType::f32, ScalarType::u8, 34, 2).empty());
  CHECK(found(ScalarType::f32, ScalarType::f32, 0).empty());  // nothing to read is no mistake
}

TEST_CASE("dimensions beyond the rank do not count") {
  auto m = good();
  m.box[2] = 1000;
  m.strides[3] = 7;
  CHECK(check(m).empty());
}

}  // namespace verifier_contract

// What a launch header has no code for is refused, by name. What it says is in lit/command/emit-header.test.
#include "harness/contract/launch_header.hpp"

#include <doctest/doctest.h>

#include "tests/unit/harness/buffer.hpp"
#include "tests/unit/harness/temporary.hpp"

namespace kiln::harness::launch_header_tests {
namespace {

using test::contains;

launch::Contract one_launch() {
  launch::Contract c;
  c.buffers = {test::buffer("A", isa::ScalarType::bf16, {64, 64})};
  c.launches.emplace_back();
  return c;
}
std::string error_of(const launch::Contract& c) {
  return test::error_of([&] { write_launch_header({"k", "k", "k", {0x7f}}, c); });
}

TEST_CASE("a header refuses im2col maps, and types that no tensor map has") {
  launch::Contract c = one_launch();
  launch::TensorMap map;
  map.buffer = "A";
  map.im2col.emplace();
  c.tensor_maps["A"] = map;
  CHECK(contains(error_of(c), "tensor map A: a header has no code for im2col yet"));
  map.im2col.reset();
  map.dtype = isa::ScalarType::f16x2;
  c.tensor_maps["A"] = map;
  CHECK(contains(error_of(c), "tensor map A: a header has no code for f16x2 in it yet"));
}

TEST_CASE("a header refuses parameters of several fields, and more than one launch") {
  launch::Contract c = one_launch();
  c.launches[0].params = {{launch::BytesParam{{1, 2}}}};
  CHECK(contains(error_of(c), "parameter 0: a header has no code for structs and bytes yet"));
  c = one_launch();
  c.launches.emplace_back();
  CHECK(contains(error_of(c), "a header starts one launch; the contract has 2"));
}

}  // namespace
}  // namespace kiln::harness::launch_header_tests

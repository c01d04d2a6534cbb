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

TEST_CASE("a header refuses more than one launch") {
  launch::Contract c = one_launch();
  c.launches.emplace_back();
  CHECK(contains(error_of(c), "a header starts one launch; the contract has 2"));
}

// Where no C++ struct would have them: at odd places, within another struct, over one another.
TEST_CASE("a header copies the fields of a struct to the bytes that the contract says") {
  launch::Contract c = one_launch();
  const launch::StructParam inner{4, {{1, {launch::BytesParam{{0xab, 2}}}}}};
  c.launches[0].params = {{launch::StructParam{21, {{3, {launch::PointerParam{"A", 4}}}, {16, {inner}}}}}};
  const std::string text = write_launch_header({"k", "k", "k", isa::sm_90a, {0x7f}}, c);
  CHECK(contains(text, "    unsigned char p0[21]{};\n"
                       "    CUdeviceptr p0_0 = buffers.A + 4;\n"
                       "    std::memcpy(p0 + 3, &p0_0, sizeof p0_0);\n"
                       "    unsigned char p0_1[4]{};\n"
                       "    unsigned char p0_1_0[]{0xab, 0x02};\n"
                       "    std::memcpy(p0_1 + 1, &p0_1_0, sizeof p0_1_0);\n"
                       "    std::memcpy(p0 + 16, &p0_1, sizeof p0_1);\n"
                       "    void* parameters[]{&p0};\n"));
}

}  // namespace
}  // namespace kiln::harness::launch_header_tests

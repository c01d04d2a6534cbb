// The typed launch: names and types come from the parameter list, order does not matter.
#include <doctest/doctest.h>

#include "dsl/dsl.hpp"

namespace dsl_launch {

using namespace kiln;
using namespace kiln::dsl;

namespace {

using Tile = SharedTile<bf16, 128, 64, K_major, swizzle_128B>;
constexpr auto list = parameters("A"_arg.is<TensorMap<Tile>>(), "n"_arg.is<u32>(), "D"_arg.is<Pointer<bf16>>());

Kernel kernel() {
  KernelBuilder k("k", sm_100a, warps<2>);
  (void)declare(k, list);
  return k.build();
}

}  // namespace

TEST_CASE("arguments come out in the order of the parameters, whatever order they are given in") {
  launch::Contract c;
  launch_kernel(c, kernel(), list, {3, 2, 1}, "D"_arg = std::string("out"), "n"_arg = 7,
                "A"_arg = GlobalTensor{"in", 300, 136});
  REQUIRE(c.launches.size() == 1);
  const launch::Launch& l = c.launches[0];
  CHECK(l.grid == launch::Dim3{3, 2, 1});
  CHECK(l.block == launch::Dim3{64, 1, 1});
  REQUIRE(l.params.size() == 3);
  CHECK(std::get<launch::TensorMapParam>(l.params[0].value).tensor_map == "A");
  CHECK(std::get<launch::ScalarParam>(l.params[1].value).bits == 7);
  CHECK(std::get<launch::PointerParam>(l.params[2].value).buffer == "out");
}

TEST_CASE("a tensor map takes box and swizzle from the tile and extents from the tensor") {
  const launch::TensorMap m = tensor_map<Tile>({"in", 300, 136});
  CHECK(m.dims[0] == 136);
  CHECK(m.dims[1] == 300);
  CHECK(m.strides[1] == 272);
  CHECK(m.box[0] == 64);
  CHECK(m.box[1] == 128);
  CHECK(m.swizzle == isa::Swizzle::b128);
  CHECK(m.box_bytes() == 128 * 128);
}

TEST_CASE("a kernel's parameters are declared in the order of the list, with the boxes they expect") {
  const Kernel k = kernel();
  REQUIRE(k.parameters.size() == 3);
  CHECK(k.parameters[0].name == "A");
  CHECK(k.parameters[0].is_tensor_map);
  CHECK(k.parameters[0].map.box[1] == 128);
  CHECK(k.parameters[2].is_pointer);
}

namespace {

constexpr int row_bytes = 192, rows = 3;

// Writes the number in a row of the table, which the CTA chooses, to where the row says.
Kernel chooser() {
  KernelBuilder k("k", sm_100a, warps<1>);
  const ParameterTable table = k.table("table", rows, row_bytes);
  k.role("write", warp<0>.elect(), [&](Thread t) {
    const ParameterRow row = table.row(k.ctaid.x);
    t.st_global(row.pointer<u32>(136).at(0), row.u32(128) + table.row(2).u32(128));
  });
  return k.build();
}

launch::StructParam table_of(std::uint32_t bytes) {
  launch::StructParam table;
  table.size = bytes;
  return table;
}

}  // namespace

TEST_CASE("a table is one parameter, of all its rows, and a launch gives it as a struct") {
  const Kernel k = chooser();
  REQUIRE(k.parameters.size() == 1);
  CHECK(k.parameters[0].table_bytes == rows * row_bytes);
  launch::Contract c;
  launch_kernel(c, k, {1, 1, 1}, {{"table", table_of(rows * row_bytes)}});
  CHECK(std::get<launch::StructParam>(c.launches[0].params[0].value).size == rows * row_bytes);
  CHECK_THROWS_AS(launch_kernel(c, k, {1, 1, 1}, {{"table", table_of(row_bytes)}}), diag::Rejected);
  CHECK_THROWS_AS(launch_kernel(c, k, {1, 1, 1}, {{"table", std::uint64_t{1}}}), diag::Rejected);
  CHECK_THROWS_AS(
      launch_kernel(c, kernel(), {1, 1, 1}, {{"A", table_of(0)}, {"n", std::uint64_t{7}}, {"D", std::string("out")}}),
      diag::Rejected);
}

TEST_CASE("a table has rows of whole 64 bytes, and no more than parameters may have") {
  KernelBuilder k("k", sm_100a, warps<1>);
  CHECK_THROWS_AS(k.table("t", 0, 64), diag::InputError);
  CHECK_THROWS_AS(k.table("t", 1, 0), diag::InputError);
  CHECK_THROWS_AS(k.table("t", 1, 96), diag::InputError);
  CHECK_THROWS_AS(k.table("t", 512, 64), diag::InputError);
  CHECK_NOTHROW(k.table("t", 511, 64));
}

}  // namespace dsl_launch

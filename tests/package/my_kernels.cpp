// The kernels of a project outside Kiln: one, and the table that names it.
#include <array>

#include "dsl/dsl.hpp"

using namespace kiln;
using namespace kiln::dsl;

namespace {

using Tile = SharedTile<bf16, 64, 64, K_major, swizzle_128B>;
constexpr auto parameter_list =
    parameters("A"_arg.is<TensorMap<Tile>>(), "D"_arg.is<TensorMap<Tile>>());

// One warp copies one 64 x 64 tile: TMA in, TMA out.
Kernel my_copy(Target target, const Sizes&) {
  KernelBuilder copy("my_copy", target, warps<1>);
  const auto given = declare(copy, parameter_list);
  auto tile = copy.shared<Tile>();
  auto loaded = copy.mbarrier("loaded");
  const U32 row = copy.ctaid.y * 64, col = copy.ctaid.x * 64;
  copy.role("copy", warp<0>.elect(), [&](Thread t) {
    t.expect_tx(loaded, Tile::transaction_bytes);
    t.tma_load(tile, given["A"_arg].at(row, col), loaded);
    t.wait(loaded, Phase{0});
    t.tma_store(given["D"_arg].at(row, col), tile);
    t.commit_stores();
    t.wait_stores_read(0);
  });
  return copy.build();
}

launch::Contract my_problem(const Kernel& kernel, const Sizes& sizes) {
  const std::uint64_t n = sizes.at("n");
  launch::Contract c;
  for (const char* name : {"A", "D"}) {
    launch::Buffer b;
    b.name = name;
    b.dtype = isa::ScalarType::bf16;
    b.shape = {n, n};
    if (b.name == "A") b.init.kind = launch::Init::Kind::normal;
    c.buffers.push_back(b);
  }
  const auto tiles = std::uint32_t((n + 63) / 64);
  launch_kernel(c, kernel, parameter_list, {tiles, tiles, 1}, "A"_arg = GlobalTensor{"A", n, n},
                "D"_arg = GlobalTensor{"D", n, n});
  launch::Expectation same;
  same.kind = launch::Expectation::Kind::copy;
  same.output = "D";
  same.a = "A";
  c.expectations.push_back(same);
  return c;
}

constexpr std::array targets{sm_100a, sm_90a};
constexpr std::array options{SizeOption{"n", 128, "rows and columns; a multiple of 8"}};

}  // namespace

std::span<const Entry> kiln::dsl::kernel_table() {
  static const std::array table{Entry{"my_copy", "a copy by TMA", targets, options, my_copy, my_problem}};
  return table;
}

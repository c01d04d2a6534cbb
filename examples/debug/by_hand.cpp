// Sums of rows through one tile of shared memory with barriers by hand: as it was first written (--repairs 0), with the
// wait that was missing (1), and right (2). docs/debugging.md is the session that finds both mistakes.
#include <array>

#include "dsl/dsl.hpp"

using namespace kiln;
using namespace kiln::dsl;

namespace {

constexpr int rows = 128, columns = 64;
using Tile = SharedTile<bf16, rows, columns, K_major, swizzle_128B>;
constexpr auto list = parameters("X"_arg.is<TensorMap<Tile>>(), "sums"_arg.is<Pointer<f32>>(), "blocks"_arg.is<u32>());

Kernel by_hand(Target target, const Sizes& sizes) {
  const std::uint64_t repairs = sizes.at("repairs");
  KernelBuilder k("by_hand", target, warps<5>);
  const auto given = declare(k, list);
  const auto tile = k.shared<Tile>();
  const auto full = k.mbarrier("full");
  const auto empty = repairs < 2 ? k.mbarrier<4>("empty") : k.mbarrier("empty");
  const U32 blocks = given["blocks"_arg];

  k.role("load", warp<4>.elect(), [&](Thread t) {
    t.loop(blocks, [&](U32 i) {
      if (repairs >= 1) t.wait(empty, Phase((i + 1) & 1));
      t.expect_tx(full, Tile::transaction_bytes);
      t.tma_load(tile, given["X"_arg].at(0, i * columns), full);
    });
  });
  k.role("add", warpgroup<0>, [&](Warpgroup& g) {
    auto sum = g.var(0.0f);
    g.loop(blocks, [&](U32 i) {
      g.wait(full, Phase(i & 1));
      const auto x = widen(g.load(tile));
      for (int c = 0; c < columns; ++c) sum += x[c];
      g.fence_proxy_async();  // this thread's reads come before what the next copy writes
      if (repairs < 2)
        g.each_warp([&](Warp w) { w.elect([&](Thread t) { t.arrive(empty); }); });
      else
        g.arrive(empty);
    });
    g.red<RedOp::add>(given["sums"_arg].at(widen(g.row())), sum);
  });
  return k.build();
}

launch::Contract by_hand_problem(const Kernel& kernel, const Sizes& sizes) {
  const std::uint64_t n = sizes.at("n");
  launch::Contract c;
  c.buffers = {{"X", bf16::scalar, {rows, n}}, {"sums", f32::scalar, {rows}}};
  c.buffers[0].init.kind = launch::Init::Kind::normal;
  c.buffers[1].init.kind = launch::Init::Kind::zeros;
  launch_kernel(c, kernel, list, {1, 1, 1}, "X"_arg = GlobalTensor{"X", rows, n}, "sums"_arg = "sums",
                "blocks"_arg = (n + columns - 1) / columns);
  return c;
}

constexpr std::array targets{sm_100a};
constexpr std::array options{SizeOption{"n", 192, "columns"}, SizeOption{"repairs", 0, "0, 1 or 2"}};

}  // namespace

std::span<const Entry> kiln::dsl::kernel_table() {
  static const std::array table{Entry{"by_hand", "sums of rows", targets, options, by_hand, by_hand_problem}};
  return table;
}

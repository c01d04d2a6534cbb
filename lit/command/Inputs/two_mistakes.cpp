// Sums of rows, for one_report.test, with two mistakes, of which the worse one comes later in the text; and for lint.test
// with two fences, of which one would do; and with a launch that does not fit. The lines count.
#include <array>

#include "dsl/dsl.hpp"

using namespace kiln;
using namespace kiln::dsl;

namespace {

constexpr int rows = 128, columns = 64;
using Tile = SharedTile<bf16, rows, columns, K_major, swizzle_128B>;
constexpr auto list = parameters("X"_arg.is<TensorMap<Tile>>(), "scales"_arg.is<TensorMap<Tile>>(),
                                 "sums"_arg.is<Pointer<f32>>(), "blocks"_arg.is<u32>());

Kernel two_mistakes(Target target, const Sizes&) {
  KernelBuilder k("two_mistakes", target, warps<5>);
  const auto given = declare(k, list);
  const auto tile = k.shared<Tile>(), scales = k.shared<Tile>();
  const auto full = k.mbarrier("full"), empty = k.mbarrier("empty"), scaled = k.mbarrier("scaled");
  const U32 blocks = given["blocks"_arg];

  k.role("load", warp<4>.elect(), [&](Thread t) {
    t.expect_tx(scaled, Tile::transaction_bytes);
    t.tma_load(scales, given["scales"_arg].at(0, 0), scaled);
    t.loop(blocks, [&](U32 i) {
      t.wait(empty, Phase((i + 1) & 1));
      t.expect_tx(full, Tile::transaction_bytes);
      t.tma_load(tile, given["X"_arg].at(0, i * columns), full);  // portability: it was read without a fence
    });
  });
  k.role("add", warpgroup<0>, [&](Warpgroup& g) {
    auto sum = g.var(0.0f);
    g.loop(blocks, [&](U32 i) {
      g.wait(full, Phase(i & 1));
      const auto x = widen(g.load(tile)), by = widen(g.load(scales));  // error: there is no wait for the scales
      for (int c = 0; c < columns; ++c) sum += x[c] * by[c];
      g.arrive(empty);
    });
    g.red<RedOp::add>(given["sums"_arg].at(widen(g.row())), sum);
  });
  return k.build();
}

Kernel two_fences(Target target, const Sizes&) {
  KernelBuilder k("two_fences", target, warps<5>);
  const auto given = declare(k, list);
  const auto tile = k.shared<Tile>();
  auto scales = k.ring<2, Tile>("scales");
  const auto full = k.mbarrier("full"), empty = k.mbarrier("empty");
  const U32 blocks = given["blocks"_arg];

  k.role("load", warp<4>.elect(), [&](Thread t) {
    t.loop(blocks, [&](U32 i) {
      const auto slot = scales.acquire(t);
      t.tma_load(slot.get<Tile>(), given["scales"_arg].at(0, 0), slot.full);
      t.wait(empty, Phase((i + 1) & 1));
      t.fence_proxy_async();  // the readers have one
      t.expect_tx(full, Tile::transaction_bytes);
      t.tma_load(tile, given["X"_arg].at(0, i * columns), full);
    });
  });
  k.role("add", warpgroup<0>, [&](Warpgroup& g) {
    auto sum = g.var(0.0f);
    g.loop(blocks, [&](U32 i) {
      const auto slot = scales.wait(g);
      const auto by = widen(g.load(slot.get<Tile>()));
      scales.release(g, slot);  // with a fence that the DSL writes, before the reads of the other tile
      g.wait(full, Phase(i & 1));
      const auto x = widen(g.load(tile));
      for (int c = 0; c < columns; ++c) sum += x[c] * by[c];
      g.fence_proxy_async();
      g.arrive(empty);
    });
    g.red<RedOp::add>(given["sums"_arg].at(widen(g.row())), sum);
  });
  return k.build();
}

launch::Contract problem(const Kernel& kernel, const Sizes& sizes) {
  const std::uint64_t n = sizes.at("n");
  launch::Contract c;
  c.buffers = {
      {"X", bf16::scalar, {rows, n}}, {"scales", bf16::scalar, {rows, columns}}, {"sums", f32::scalar, {rows}}};
  c.buffers[0].init.kind = c.buffers[1].init.kind = launch::Init::Kind::normal;
  c.buffers[2].init.kind = launch::Init::Kind::zeros;
  launch_kernel(c, kernel, list, {1, 1, 1}, "X"_arg = GlobalTensor{"X", rows, n},
                "scales"_arg = GlobalTensor{"scales", rows, columns}, "sums"_arg = "sums",
                "blocks"_arg = (n + columns - 1) / columns);
  return c;
}

launch::Contract wrong_problem(const Kernel& kernel, const Sizes& sizes) {
  const std::uint64_t n = sizes.at("n");
  launch::Contract c;
  c.buffers = {
      {"X", bf16::scalar, {rows, n}}, {"scales", bf16::scalar, {2 * rows, columns}}, {"sums", f16::scalar, {rows}}};
  launch_kernel(c, kernel, list, {1, 1, 1}, "X"_arg = GlobalTensor{"X", n, rows},
                "scales"_arg = GlobalTensor{"scales", rows, columns}, "sums"_arg = "sums", "blocks"_arg = n / columns);
  return c;
}

constexpr std::array targets{sm_100a};
constexpr std::array options{SizeOption{"n", 192, "columns"}};

}  // namespace

std::span<const Entry> kiln::dsl::kernel_table() {
  static const std::array table{Entry{"two_mistakes", "sums of rows", targets, options, two_mistakes, problem},
                                Entry{"two_fences", "sums of rows", targets, options, two_fences, problem},
                                Entry{"wrong_launch", "sums of rows", targets, options, two_fences, wrong_problem}};
  return table;
}

// Y = softmax(X) of every row, in bf16: tiles of 128 rows by 64 columns come twice, each time through a ring of its
// own, so that each loop begins at a slot that is known. A thread owns a row, so no lane needs another: the first pass
// finds the greatest element and the sum, the second one divides.
#include <limits>

#include "cookbook.hpp"

namespace cookbook {

using namespace kiln;
using namespace kiln::dsl;

namespace {

constexpr int rows = 128, columns = 64, stages = 3;
constexpr float log2_e = 1.4426950408889634f;
using Tile = SharedTile<bf16, rows, columns, K_major, swizzle_128B>;
constexpr auto list = parameters("X"_arg.is<TensorMap<Tile>>(), "Y"_arg.is<TensorMap<Tile>>(), "n"_arg.is<u32>());

}  // namespace

Kernel softmax(Target target, const Sizes&) {
  KernelBuilder softmax("softmax", target, warps<5>);
  const auto given = declare(softmax, list);
  auto first = softmax.ring<stages, Tile>("first"), second = softmax.ring<stages, Tile>("second");
  auto out = softmax.store_ring<2, Tile>("out");
  const U32 n = given["n"_arg], row = softmax.ctaid.x * rows, blocks = softmax.ceil_div(n, columns);

  softmax.role("load", warp<4>.elect(), [&](Thread t) {
    for (auto* in : {&first, &second})
      t.loop(blocks, [&](U32 i) {
        const auto slot = in->acquire(t);
        t.tma_load(slot.get<Tile>(), given["X"_arg].at(row, i * columns), slot.full);
      });
  });
  softmax.role("rows", warpgroup<0>, [&](Warpgroup& g) {
    // x log2(e) of a block of this thread's row; minus infinity to the right of the matrix.
    const auto read = [&](Ring<stages, Tile>& in, const U32& i) {
      const auto slot = in.wait(g);
      const auto x = widen(g.load(slot.get<Tile>()));
      in.release(g, slot);
      const U32 left = n - i * columns;
      return make_registers<columns>(
          [&](int c) { return select(left > c, x[c] * log2_e, -std::numeric_limits<float>::infinity()); });
    };
    auto greatest = g.var(-std::numeric_limits<float>::infinity()), sum = g.var(0.0f);
    g.loop(blocks, [&](U32 i) {
      const auto x = read(first, i);
      const F32 before = greatest, offset = max(before, combined(x, [](F32 a, F32 b) { return max(a, b); }));
      sum *= ex2_approx_ftz(before - offset);
      for (int c = 0; c < columns; ++c) sum += ex2_approx_ftz(x[c] - offset);
      greatest = offset;
    });
    const F32 factor = rcp_approx_ftz(sum), offset = greatest;
    g.loop(blocks, [&](U32 i) {
      const auto x = read(second, i);
      const auto y = make_registers<columns>([&](int c) { return ex2_approx_ftz(x[c] - offset) * factor; });
      const auto tile = out.acquire(g);
      g.store(tile, cvt<bf16>(y));
      out.publish(g, tile, given["Y"_arg].at(row, i * columns));
    });
  });
  return softmax.build();
}

launch::Contract softmax_problem(const Kernel& kernel, const Sizes& sizes) {
  const std::uint64_t m = sizes.at("m"), n = sizes.at("n");
  launch::Contract c;
  c.buffers = {buffer("X", bf16::scalar, {m, n}, normal(1)), buffer("Y", bf16::scalar, {m, n})};
  launch_kernel(c, kernel, list, {std::uint32_t((m + rows - 1) / rows), 1, 1}, "X"_arg = GlobalTensor{"X", m, n},
                "Y"_arg = GlobalTensor{"Y", m, n}, "n"_arg = n);
  return c;
}

std::span<const SizeOption> softmax_options() {
  static constexpr std::array options{SizeOption{"m", 256, "rows"}, SizeOption{"n", 512, "columns"}};
  return options;
}

}  // namespace cookbook

// best[row] = the column of the greatest number of a row, the first where several are equal: greedy sampling. A
// reduction over a CTA, first of the numbers, then of the columns that hold the greatest one.
#include <limits>

#include "cookbook.hpp"

namespace cookbook {

using namespace kiln;
using namespace kiln::dsl;

namespace {

constexpr int threads = 128, vector = 4, block = threads * vector;
constexpr auto list = parameters("X"_arg.is<Pointer<f32>>(), "best"_arg.is<Pointer<u32>>(), "n"_arg.is<u32>());

}  // namespace

Kernel argmax(Target target, const Sizes&) {
  KernelBuilder argmax("argmax", target, warps<4>);
  const auto given = declare(argmax, list);
  const auto scratch = argmax.warpgroup_scratch();
  const U32 n = given["n"_arg], row = argmax.ctaid.x;

  argmax.role("rows", warpgroup<0>, [&](Warpgroup& g) {
    const U64 x_row = given["X"_arg].at(multiply_wide(row, n));
    auto greatest = g.var(-std::numeric_limits<float>::infinity());
    auto column = g.var(n);
    g.loop(argmax.ceil_div(n, block), [&](U32 i) {
      const U32 from = i * block + g.row() * vector;
      g.when(from < n, [&] {  // n is a multiple of 4
        const auto x = g.ld_global_v4_f32(x_row + widen(from) * 4);
        for (int e = 0; e < vector; ++e) {
          const F32 before = greatest;
          column = select(x[e] > before, from + e, column);
          greatest = max(x[e], before);
        }
      });
    });
    const F32 most = g.warpgroup_reduce<RedOp::max>(greatest, scratch);
    const U32 mine = select(greatest == most, column, n);
    const U32 first = g.warpgroup_reduce<RedOp::min>(mine, scratch);
    g.when(g.row() == 0, [&] { g.st_global(given["best"_arg].at(widen(row)), first, relaxed_gpu); });
  });
  return argmax.build();
}

launch::Contract argmax_problem(const Kernel& kernel, const Sizes& sizes) {
  const std::uint64_t m = sizes.at("m"), n = sizes.at("n");
  launch::Contract c;
  c.buffers = {buffer("X", f32::scalar, {m, n}, normal(1)), buffer("best", u32::scalar, {m})};
  launch_kernel(c, kernel, list, {std::uint32_t(m), 1, 1}, "X"_arg = "X", "best"_arg = "best", "n"_arg = n);
  return c;
}

std::span<const SizeOption> argmax_options() {
  static constexpr std::array options{SizeOption{"m", 4, "rows"},
                                      SizeOption{"n", 4096, "columns, a multiple of 4: rows begin at 16 bytes"}};
  return options;
}

}  // namespace cookbook

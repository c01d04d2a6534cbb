// Y = X * weight / sqrt(mean of X^2 + epsilon), row by row in bf16: a norm. A CTA of four warps owns a row and reads it
// twice, 16 bytes a thread at a time.
#include "cookbook.hpp"

namespace cookbook {

using namespace kiln;
using namespace kiln::dsl;

namespace {

constexpr int threads = 128, vector = 8, block = threads * vector;  // elements that the CTA reads at a time
constexpr float epsilon = 1e-5f;
constexpr auto list = parameters("X"_arg.is<Pointer<bf16>>(), "weight"_arg.is<Pointer<bf16>>(),
                                 "Y"_arg.is<Pointer<bf16>>(), "n"_arg.is<u32>());

}  // namespace

Kernel rms_norm(Target target, const Sizes&) {
  KernelBuilder norm("rms_norm", target, warps<4>);
  const auto given = declare(norm, list);
  const auto scratch = norm.warpgroup_scratch();
  const U32 n = given["n"_arg], row = norm.ctaid.x;

  norm.role("norm", warpgroup<0>, [&](Warpgroup& g) {
    const U32 blocks = norm.ceil_div(n, block);
    const U64 x_row = given["X"_arg].at(multiply_wide(row, n)), y_row = given["Y"_arg].at(multiply_wide(row, n));
    // This thread's elements of a block: where they begin, and how many of the row there are from there on.
    const auto first = [&](const U32& i) { return i * block + g.row() * vector; };
    const auto left = [&](const U32& from) { return select(from < n, n - from, 0); };
    const auto read = [&](const U64& base, const U32& from) {
      return widen(g.load_global<bf16, vector>(base + widen(from) * 2, left(from)));  // zeros beyond the row
    };
    auto squares = g.var(0.0f);
    g.loop(blocks, [&](U32 i) {
      const auto x = read(x_row, first(i));
      for (int e = 0; e < vector; ++e) squares = fma(x[e], x[e], squares);
    });
    const F32 sum = g.warpgroup_reduce<RedOp::add>(squares, scratch);
    const F32 factor = rsqrt_approx_ftz(sum / convert<F32>(n) + epsilon);
    g.loop(blocks, [&](U32 i) {
      const U32 from = first(i);
      const auto x = read(x_row, from), weight = read(given["weight"_arg].address(), from);
      const auto y = make_registers<vector>([&](int e) { return x[e] * factor * weight[e]; });
      g.store_global(y_row + widen(from) * 2, cvt<bf16>(y), left(from));
    });
  });
  return norm.build();
}

launch::Contract rms_norm_problem(const Kernel& kernel, const Sizes& sizes) {
  const std::uint64_t m = sizes.at("m"), n = sizes.at("n");
  launch::Contract c;
  c.buffers = {buffer("X", bf16::scalar, {m, n}, normal(1)), buffer("weight", bf16::scalar, {n}, uniform(2, 0.5, 2)),
               buffer("Y", bf16::scalar, {m, n})};
  launch_kernel(c, kernel, list, {std::uint32_t(m), 1, 1}, "X"_arg = "X", "weight"_arg = "weight", "Y"_arg = "Y",
                "n"_arg = n);
  return c;
}

std::span<const SizeOption> rms_norm_options() {
  static constexpr std::array options{SizeOption{"m", 8, "rows"},
                                      SizeOption{"n", 2048, "columns, a multiple of 8: rows begin at 16 bytes"}};
  return options;
}

}  // namespace cookbook

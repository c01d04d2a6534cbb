// D = A * B^T, the plainest way: one warpgroup, one 128 x 128 tile a CTA, one shared buffer, no overlap. Load,
// multiply, and wait for both before the next step. The result goes to global memory in 16-byte vectors, masked at the
// edges.
#include "kernels/gemm.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;

namespace {

constexpr int M = 128, N = 128, K = 64;

using ATile = SharedTile<bf16, M, K, K_major, swizzle_128B>;
using BTile = SharedTile<bf16, N, K, K_major, swizzle_128B>;

constexpr auto parameter_list =
    parameters("A"_arg.is<TensorMap<ATile>>(), "B"_arg.is<TensorMap<BTile>>(), "D"_arg.is<Pointer<bf16>>(),
               "m"_arg.is<u32>(), "n"_arg.is<u32>(), "k_tiles"_arg.is<u32>());

}  // namespace

Kernel gemm_bf16_basic(Target target, const Sizes&) {
  KernelBuilder gemm("gemm_bf16_basic", target, warps<4>);
  const auto given = declare(gemm, parameter_list);
  const auto& A = given["A"_arg];
  const auto& B = given["B"_arg];
  const U32 m = given["m"_arg], n = given["n"_arg], k_tiles = given["k_tiles"_arg];

  auto a = gemm.shared<ATile>();
  auto b = gemm.shared<BTile>();
  auto loaded = gemm.mbarrier("loaded");
  auto multiplied = gemm.mbarrier("multiplied");
  auto acc = gemm.tmem<f32, M, N>("acc");

  U32 row = gemm.ctaid.x * M, col = gemm.ctaid.y * N;

  gemm.role("tile", warpgroup<0>, [&](Warpgroup& g) {
    g.loop(k_tiles, [&](U32 i) {
      const Phase phase(i & 1);                     // each barrier completes one phase a step
      g.elect([&](Thread t) {
        t.expect_tx(loaded, ATile::transaction_bytes + BTile::transaction_bytes);
        t.tma_load(a, A.at(row, i * K), loaded);
        t.tma_load(b, B.at(col, i * K), loaded);
        t.wait(loaded, phase);
        t.mma_tiles(acc, a, b, accumulate(i != 0));
        t.commit(multiplied);
      });
      g.wait(multiplied, phase);
      g.sync();  // a warp that were two steps late would take the phase for one to come, and wait for ever
    });
    const U32 my_row = row + g.row();
    const U64 address = given["D"_arg].at(multiply_wide(my_row, n) + widen(col));
    const U32 left = select(col < n, n - col, 0);     // columns of D from here to its right edge
    for (int c = 0; c < N; c += 64) {
      auto sums = g.wait(g.load(acc.columns<64>(c)));
      g.when(my_row < m, [&] { g.store_global(address, cvt<bf16>(sums), left, c); });
    }
  });

  return gemm.build();
}

launch::Contract gemm_bf16_basic_problem(const Kernel& kernel, const Sizes& sizes) {
  const GemmSizes s = gemm_sizes(sizes);
  launch::Contract c = gemm_buffers(s);
  launch_kernel(c, kernel, parameter_list, gemm_grid(s, M, N), "A"_arg = GlobalTensor{"A", s.m, s.k},
                "B"_arg = GlobalTensor{"B", s.n, s.k}, "D"_arg = std::string("D"), "m"_arg = s.m, "n"_arg = s.n,
                "k_tiles"_arg = pieces(s.k, K));
  return c;
}

}  // namespace kiln::kernels

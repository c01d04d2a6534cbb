// Rung 5: two CTAs, one MMA. A pair shares a 256 x 256 tile: each CTA loads its 128 rows of A and its half of B, the
// leader's tensor-core instructions read both halves from both CTAs, and each CTA holds its own 128 rows of the sums.
// Half the bytes of B a CTA leave room for seven slots.
#include "kernels/ladder/ladder.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;

namespace {

using Mma = tcgen05_mma<kind_f16, bf16, bf16, f32, 256, 256, cta_group_2>;
constexpr int K = 64, stages = 7;
constexpr int a = 0, b = 1;                           // places in a slot

using ATile = Mma::ATile<K, K_major, swizzle_128B>;
using BTile = Mma::BTile<K, K_major, swizzle_128B>;

constexpr auto parameter_list =
    parameters("A"_arg.is<TensorMap<ATile>>(), "B"_arg.is<TensorMap<BTile>>(), "D"_arg.is<Pointer<bf16>>(),
               "m"_arg.is<u32>(), "n"_arg.is<u32>(), "k_blocks"_arg.is<u32>());

}  // namespace

Kernel gemm_v5(Target target, const Sizes&) {
  KernelBuilder gemm("gemm_v5", target, warps<6>, cta_group_2);
  const auto given = declare(gemm, parameter_list);
  const auto& A = given["A"_arg];
  const auto& B = given["B"_arg];
  const Result D{given["D"_arg], given["m"_arg], given["n"_arg]};
  const U32 k_blocks = given["k_blocks"_arg];

  auto in = gemm.ring<stages, ATile, BTile>("in");    // full in the leader, empty in both
  auto done = gemm.mbarrier("done");
  auto acc = gemm.tmem<f32, Mma::a_rows, Mma::N>("acc");

  U32 rank = gemm.pair_rank();
  U32 row = gemm.ctaid.x * Mma::a_rows, col = gemm.ctaid.y * Mma::N;

  gemm.role("load", warp<4>.elect(), [&](Thread t) {
    t.loop(k_blocks, [&](U32 i) {
      auto slot = in.acquire(t);
      t.tma_load(slot.get<a>(), A.at(row, i * K), slot.full);
      t.tma_load(slot.get<b>(), B.at(col + rank * Mma::b_rows, i * K), slot.full);
    });
  });
  gemm.role("mma", leader_cta, warp<5>.elect(), [&](Thread t) {
    t.loop(k_blocks, [&](U32 i) {
      auto slot = in.wait(t);
      t.mma_tiles<Mma>(acc, slot.get<a>(), slot.get<b>(), accumulate(i != 0));
      t.commit(slot.empty, all_ctas);
    });
    t.commit(done, all_ctas);
  });
  gemm.role("store", warpgroup<0>, [&](Warpgroup& g) {
    g.wait(done, Phase{0});
    store_rows(g, acc, D, row, col);
  });

  return gemm.build();
}

launch::Contract gemm_v5_problem(const Kernel& kernel, const Sizes& sizes) {
  const GemmSizes s = gemm_sizes(sizes);
  launch::Dim3 pairs = gemm_grid(s, Mma::M, Mma::N);
  return ladder_problem(kernel, parameter_list, s, {2 * pairs.x, pairs.y, 1}, K);
}

}  // namespace kiln::kernels

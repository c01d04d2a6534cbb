// D = A * B^T: bf16 operands, f32 accumulator in tensor memory, bf16 result.
// One CTA owns a 128 x 256 tile. Warp 4 loads, warp 5 multiplies, warps 0-3 store.
#include "kernels/gemm.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;

namespace {

constexpr int M = 128, N = 256, K = 64, stages = 4;

using ATile = SharedTile<bf16, M, K, K_major, swizzle_128B>;
using BTile = SharedTile<bf16, N, K, K_major, swizzle_128B>;
using DTile = SharedTile<bf16, M, 64, K_major, swizzle_128B>;

constexpr auto parameter_list = parameters("A"_arg.is<TensorMap<ATile>>(), "B"_arg.is<TensorMap<BTile>>(),
                                           "D"_arg.is<TensorMap<DTile>>(), "k_tiles"_arg.is<u32>());

}  // namespace

Kernel gemm_bf16(Target target, const Sizes&) {
  KernelBuilder gemm("gemm_bf16", target, warps<6>);
  const auto given = declare(gemm, parameter_list);
  const auto& A = given["A"_arg];
  const auto& B = given["B"_arg];
  const auto& D = given["D"_arg];
  const U32 k_tiles = given["k_tiles"_arg];

  auto in = gemm.ring<stages, ATile, BTile>("in");  // shared slots, each with a full and an empty mbarrier
  auto out = gemm.store_ring<2, DTile>("out");
  auto done = gemm.mbarrier("done");
  auto acc = gemm.tmem<f32, M, N>("acc");           // 256 columns, freed by build() after every role

  U32 row = gemm.ctaid.x * M, col = gemm.ctaid.y * N;

  gemm.role("load", warp<4>.elect(), [&](Thread t) {
    t.loop(k_tiles, [&](U32 i) {
      auto slot = in.acquire(t);                    // waits until empty, expects the slot's bytes
      t.tma_load(slot.get<ATile>(), A.at(row, i * K), slot.full);
      t.tma_load(slot.get<BTile>(), B.at(col, i * K), slot.full);
    });
  });
  gemm.role("mma", warp<5>.elect(), [&](Thread t) {
    t.loop(k_tiles, [&](U32 i) {
      auto slot = in.wait(t);                       // waits until full
      for (int k = 0; k < K; k += 16)               // a host loop: unrolled in the PTX
        t.mma(acc, slot.get<ATile>().k_slice(k), slot.get<BTile>().k_slice(k), accumulate(i != 0 || k != 0));
      t.commit(slot.empty);                         // empty again once these MMAs have read it
    });
    t.commit(done);
  });
  gemm.role("store", warpgroup<0>, [&](Warpgroup& g) {
    g.wait(done, Phase{0});
    for (int c = 0; c < N; c += 64) {
      auto sums = g.wait(g.load(acc.columns<64>(c)));  // unreadable before tcgen05.wait::ld
      auto tile = out.acquire(g);
      g.store(tile, cvt<bf16>(sums));
      out.publish(g, tile, D.at(row, col + c));
    }
  });

  return gemm.build();
}

launch::Contract gemm_bf16_problem(const Kernel& kernel, const Sizes& sizes) {
  const GemmSizes s = gemm_sizes(sizes);
  launch::Contract c = gemm_buffers(s);
  launch_kernel(c, kernel, parameter_list, gemm_grid(s, M, N), "A"_arg = GlobalTensor{"A", s.m, s.k},
                "B"_arg = GlobalTensor{"B", s.n, s.k}, "D"_arg = GlobalTensor{"D", s.m, s.n},
                "k_tiles"_arg = pieces(s.k, K));
  return c;
}

}  // namespace kiln::kernels

// D = A * B^T, bf16, weight-stationary: a CTA's tile is four blocks of 32 rows, or two of 64, which meet the same B one
// after another. The four K slices of B that a slot holds stay in the collector buffers b0 to b3 meanwhile: the first
// block fills them, the last one lets them go. Warp 4 loads, warp 5 multiplies, warps 0-3 store.
#include "kernels/by_hand.hpp"

#include <string>

#include "kernels/epilogue.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;

namespace {

constexpr int rows = 128, N = 128, K = 64, stages = 4;  // of a tile
constexpr int a = 0, b = 1;                             // places in a slot

using ATile = SharedTile<bf16, rows, K, K_major, swizzle_128B>;  // of all blocks: each is a slice of its rows
using BTile = SharedTile<bf16, N, K, K_major, swizzle_128B>;

constexpr auto parameter_list =
    parameters("A"_arg.is<TensorMap<ATile>>(), "B"_arg.is<TensorMap<BTile>>(), "D"_arg.is<Pointer<bf16>>(),
               "m"_arg.is<u32>(), "n"_arg.is<u32>(), "k_tiles"_arg.is<u32>());

template <class Sums>
void store_block(Warpgroup& g, const Sums& sums, const Result& d, const U32& row, const U32& col) {
  const U32 my_row = row + g.row_of(sums), my_col = col + g.column_of(sums);
  const U32 left = left_in_row(d, my_row, my_col);
  const U64 address = d.elements.at(multiply_wide(my_row, d.n) + widen(my_col));
  g.store_global(address, cvt<bf16>(g.wait(g.load(sums))), left);
}

// Blocks of M rows.
template <int M>
Kernel build(const std::string& name, Target target) {
  constexpr int blocks = rows / M;
  using Mma = tcgen05_mma<kind_f16, bf16, bf16, f32, M, N, weight_stationary>;
  static_assert(K == 4 * Mma::K, "a collector buffer for each slice");

  KernelBuilder gemm(name, target, warps<6>);
  const auto given = declare(gemm, parameter_list);
  const auto& A = given["A"_arg];
  const auto& B = given["B"_arg];
  const Result D{given["D"_arg], given["m"_arg], given["n"_arg]};
  const U32 k_tiles = given["k_tiles"_arg];

  auto in = gemm.ring<stages, ATile, BTile>("in");
  auto done = gemm.mbarrier("done");
  const auto acc = gemm.tensor_memory<blocks, typename Mma::Accumulator>("acc");

  U32 row = gemm.ctaid.x * rows, col = gemm.ctaid.y * N;

  gemm.role("load", warp<4>.elect(), [&](Thread t) {
    t.loop(k_tiles, [&](U32 i) {
      auto slot = in.acquire(t);
      t.tma_load(slot.get<a>(), A.at(row, i * K), slot.full);
      t.tma_load(slot.get<b>(), B.at(col, i * K), slot.full);
    });
  });
  gemm.role("mma", warp<5>.elect(), [&](Thread t) {
    t.loop(k_tiles, [&](U32 i) {
      auto slot = in.wait(t);
      // A block of rows, a slice of K after the other, each with its collector buffer.
      const auto multiply = [&](int r, auto... collectors) {
        const auto block = slot.get<a>().rows<M>(r * M);
        int k = 0;
        const auto slice = [&](auto collector) {
          t.mma<Mma>(acc.at(r), block.k_slice(k), slot.get<b>().k_slice(k), accumulate(i != 0 || k != 0), collector);
          k += Mma::K;
        };
        (slice(collectors), ...);
      };
      multiply(0, collector_b0_fill, collector_b1_fill, collector_b2_fill, collector_b3_fill);
      for (int r = 1; r < blocks - 1; ++r)
        multiply(r, collector_b0_use, collector_b1_use, collector_b2_use, collector_b3_use);
      multiply(blocks - 1, collector_b0_lastuse, collector_b1_lastuse, collector_b2_lastuse, collector_b3_lastuse);
      t.commit(slot.empty);
    });
    t.commit(done);
  });
  gemm.role("store", warpgroup<0>, [&](Warpgroup& g) {
    g.wait(done, Phase{0});
    for (int r = 0; r < blocks; ++r) store_block(g, acc.at(r), D, row + r * M, col);
  });
  return gemm.build();
}

launch::Contract problem(const Kernel& kernel, const Sizes& sizes) {
  const GemmSizes s = gemm_sizes(sizes);
  launch::Contract c = gemm_buffers(s);
  launch_kernel(c, kernel, parameter_list, gemm_grid(s, rows, N), "A"_arg = GlobalTensor{"A", s.m, s.k},
                "B"_arg = GlobalTensor{"B", s.n, s.k}, "D"_arg = "D", "m"_arg = s.m, "n"_arg = s.n,
                "k_tiles"_arg = pieces(s.k, K));
  return c;
}

}  // namespace

Kernel gemm_ws(Target target, const Sizes&) { return build<32>("gemm_ws", target); }
launch::Contract gemm_ws_problem(const Kernel& kernel, const Sizes& sizes) { return problem(kernel, sizes); }

Kernel gemm_ws_m64(Target target, const Sizes&) { return build<64>("gemm_ws_m64", target); }
launch::Contract gemm_ws_m64_problem(const Kernel& kernel, const Sizes& sizes) { return problem(kernel, sizes); }

}  // namespace kiln::kernels

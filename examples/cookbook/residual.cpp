// D = scale[row] * (A B^T + C), and sums[row] += the squares of a row of D: a GEMM whose epilogue reads a tile that a
// ring brings, and adds to global memory.
#include "cookbook.hpp"

namespace cookbook {

using namespace kiln;
using namespace kiln::dsl;

namespace {

constexpr int M = 128, N = 192, K = 64, stages = 5, block = 32;
using Mma = tcgen05_mma<kind_f16, bf16, bf16, f32, M, N>;
using ATile = SharedTile<bf16, M, K, K_major, swizzle_128B>;
using BTile = SharedTile<bf16, N, K, K_major, swizzle_128B>;
using CTile = SharedTile<bf16, M, block, K_major, swizzle_64B>;
constexpr auto list =
    parameters("A"_arg.is<TensorMap<ATile>>(), "B"_arg.is<TensorMap<BTile>>(), "C"_arg.is<TensorMap<CTile>>(),
               "D"_arg.is<TensorMap<CTile>>(), "scale"_arg.is<Pointer<f32>>(), "sums"_arg.is<Pointer<f32>>(),
               "m"_arg.is<u32>(), "k_blocks"_arg.is<u32>());

}  // namespace

Kernel residual(Target target, const Sizes&) {
  KernelBuilder gemm("residual", target, warps<7>);
  gemm.minnctapersm(1);
  const auto given = declare(gemm, list);
  const U32 k_blocks = given["k_blocks"_arg], m = given["m"_arg];
  auto in = gemm.ring<stages, ATile, BTile>("in");
  auto addends = gemm.ring<2, CTile>("addends");
  auto out = gemm.store_ring<1, CTile>("out");
  const auto done = gemm.mbarrier("done");
  const auto acc = gemm.accumulator<Mma>("acc");
  const U32 row = gemm.ctaid.x * M, column = gemm.ctaid.y * N;

  gemm.role("load", warp<4>.elect(), [&](Thread t) {
    t.loop(k_blocks, [&](U32 i) {
      const auto slot = in.acquire(t);
      t.tma_load(slot.get<ATile>(), given["A"_arg].at(row, i * K), slot.full);
      t.tma_load(slot.get<BTile>(), given["B"_arg].at(column, i * K), slot.full);
    });
  });
  gemm.role("addends", warp<6>.elect(), [&](Thread t) {
    t.loop(N / block, [&](U32 i) {
      const auto slot = addends.acquire(t);
      t.tma_load(slot.get<CTile>(), given["C"_arg].at(row, column + i * block), slot.full);
    });
  });
  gemm.role("multiply", warp<5>.elect(), [&](Thread t) {
    t.loop(k_blocks, [&](U32 i) {
      const auto slot = in.wait(t);
      t.mma_tiles<Mma>(acc, slot.get<ATile>(), slot.get<BTile>(), accumulate(i != 0));
      t.commit(slot.empty);
    });
    t.commit(done);
  });
  gemm.role("store", warpgroup<0>, [&](Warpgroup& g) {
    const U32 my_row = row + g.row();
    const Pred inside = my_row < m;
    const F32 scale = g.ld_global_f32(given["scale"_arg].at(widen(select(inside, my_row, 0))));
    auto squares = g.var(0.0f);
    g.wait(done, Phase{0});
    g.loop(N / block, [&](U32 i) {
      const auto sums = g.wait(g.load(acc.columns<block>(i * block)));
      const auto slot = addends.wait(g);
      const auto addend = widen(g.load(slot.get<CTile>()));
      addends.release(g, slot);
      const auto d = make_registers<block>([&](int c) { return (sums[c] + addend[c]) * scale; });
      for (int c = 0; c < block; ++c) squares = fma(d[c], d[c], squares);
      const auto tile = out.acquire(g);
      g.store(tile, cvt<bf16>(d));
      out.publish(g, tile, given["D"_arg].at(row, column + i * block));
    });
    g.when(inside, [&] { g.red<RedOp::add>(given["sums"_arg].at(widen(my_row)), squares); });
  });
  return gemm.build();
}

launch::Contract residual_problem(const Kernel& kernel, const Sizes& sizes) {
  const std::uint64_t m = sizes.at("m"), n = sizes.at("n"), k = sizes.at("k");
  launch::Contract c;
  c.buffers = {buffer("A", bf16::scalar, {m, k}, normal(1)),          buffer("B", bf16::scalar, {n, k}, normal(2)),
               buffer("C", bf16::scalar, {m, n}, normal(3)),          buffer("D", bf16::scalar, {m, n}),
               buffer("scale", f32::scalar, {m}, uniform(4, 0.5, 2)), buffer("sums", f32::scalar, {m}, zeros())};
  launch_kernel(c, kernel, list, {std::uint32_t((m + M - 1) / M), std::uint32_t((n + N - 1) / N), 1},
                "A"_arg = GlobalTensor{"A", m, k}, "B"_arg = GlobalTensor{"B", n, k}, "C"_arg = GlobalTensor{"C", m, n},
                "D"_arg = GlobalTensor{"D", m, n}, "scale"_arg = "scale", "sums"_arg = "sums", "m"_arg = m,
                "k_blocks"_arg = (k + K - 1) / K);
  return c;
}

std::span<const SizeOption> residual_options() {
  static constexpr std::array options{SizeOption{"m", 256, "rows"}, SizeOption{"n", 384, "columns"},
                                      SizeOption{"k", 448, "K"}};
  return options;
}

}  // namespace cookbook

// D = gelu(A B^T + bias) in bf16: a GEMM whose epilogue reads a number for each column and applies a function. One CTA
// owns a tile of 128 x 128.
#include "cookbook.hpp"

namespace cookbook {

using namespace kiln;
using namespace kiln::dsl;

namespace {

constexpr int M = 128, N = 128, K = 64, stages = 4, block = 32;
using Mma = tcgen05_mma<kind_f16, bf16, bf16, f32, M, N>;
using ATile = SharedTile<bf16, M, K, K_major, swizzle_128B>;
using BTile = SharedTile<bf16, N, K, K_major, swizzle_128B>;
using DTile = SharedTile<bf16, M, block, K_major, swizzle_64B>;
constexpr auto list =
    parameters("A"_arg.is<TensorMap<ATile>>(), "B"_arg.is<TensorMap<BTile>>(), "D"_arg.is<TensorMap<DTile>>(),
               "bias"_arg.is<Pointer<f32>>(), "n"_arg.is<u32>(), "k_blocks"_arg.is<u32>());

// x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
F32 gelu(const F32& x) {
  const F32 inner = x * fma(x * x, 0.7978845608f * 0.044715f, 0.7978845608f), half = x * 0.5f;
  return fma(half, tanh_approx(inner), half);
}

}  // namespace

Kernel bias_gelu(Target target, const Sizes&) {
  KernelBuilder gemm("bias_gelu", target, warps<6>);
  gemm.minnctapersm(1);
  const auto given = declare(gemm, list);
  const U32 k_blocks = given["k_blocks"_arg], n = given["n"_arg];
  auto in = gemm.ring<stages, ATile, BTile>("in");
  auto out = gemm.store_ring<2, DTile>("out");
  const auto done = gemm.mbarrier("done");
  const auto acc = gemm.accumulator<Mma>("acc");
  const U32 row = gemm.ctaid.x * M, column = gemm.ctaid.y * N;

  gemm.role("load", warp<4>.elect(), [&](Thread t) {
    t.loop(k_blocks, [&](U32 i) {
      const auto slot = in.acquire(t);
      t.tma_load(slot.get<0>(), given["A"_arg].at(row, i * K), slot.full);
      t.tma_load(slot.get<1>(), given["B"_arg].at(column, i * K), slot.full);
    });
  });
  gemm.role("multiply", warp<5>.elect(), [&](Thread t) {
    t.loop(k_blocks, [&](U32 i) {
      const auto slot = in.wait(t);
      t.mma_tiles<Mma>(acc, slot.get<0>(), slot.get<1>(), accumulate(i != 0));
      t.commit(slot.empty);
    });
    t.commit(done);
  });
  gemm.role("store", warpgroup<0>, [&](Warpgroup& g) {
    const U64 bias = given["bias"_arg].at(widen(column));
    const U32 columns = n - column;  // of the matrix, from this tile's first on
    g.wait(done, Phase{0});
    for (int c = 0; c < N; c += block) {
      const auto sums = g.wait(g.load(acc.columns<block>(c)));
      const auto add = g.load_global<f32, block>(bias, columns, c);  // zeros to the right of the matrix
      const auto d = make_registers<block>([&](int i) { return gelu(sums[i] + add[i]); });
      const auto tile = out.acquire(g);
      g.store(tile, cvt<bf16>(d));
      out.publish(g, tile, given["D"_arg].at(row, column + c));
    }
  });
  return gemm.build();
}

launch::Contract bias_gelu_problem(const Kernel& kernel, const Sizes& sizes) {
  const std::uint64_t m = sizes.at("m"), n = sizes.at("n"), k = sizes.at("k");
  launch::Contract c;
  c.buffers = {buffer("A", bf16::scalar, {m, k}, normal(1)), buffer("B", bf16::scalar, {n, k}, normal(2)),
               buffer("D", bf16::scalar, {m, n}), buffer("bias", f32::scalar, {n}, normal(3))};
  launch_kernel(c, kernel, list, {std::uint32_t((m + M - 1) / M), std::uint32_t((n + N - 1) / N), 1},
                "A"_arg = GlobalTensor{"A", m, k}, "B"_arg = GlobalTensor{"B", n, k}, "D"_arg = GlobalTensor{"D", m, n},
                "bias"_arg = "bias", "n"_arg = n, "k_blocks"_arg = (k + K - 1) / K);
  launch::Expectation gemm;  // `run` compares with it
  gemm.output = "D";
  gemm.a = "A";
  gemm.b = "B";
  gemm.bias = "bias";
  gemm.activation = launch::Activation::gelu_tanh;
  c.expectations = {gemm};
  return c;
}

std::span<const SizeOption> bias_gelu_options() {
  static constexpr std::array options{SizeOption{"m", 256, "rows"}, SizeOption{"n", 256, "columns"},
                                      SizeOption{"k", 256, "K"}};
  return options;
}

}  // namespace cookbook

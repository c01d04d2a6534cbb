// D = (SFA A) (SFB B)^T in e4m3, where 32 elements along K share a ue8m0 scale which the tensor core applies itself.
// The scales of 128 rows and 4 blocks are one chunk of 512 bytes: a bulk copy brings it, tcgen05.cp moves it to tensor
// memory.
#include "cookbook.hpp"
#include "launch/operands.hpp"

namespace cookbook {

using namespace kiln;
using namespace kiln::dsl;

namespace {

using Mma = tcgen05_mma<kind_mxf8f6f4, e4m3, e4m3, f32, 128, 128>;
constexpr int K = 128, stages = 4, steps = K / Mma::K, block = 32;
using ATile = Mma::ATile<K, K_major, swizzle_128B>;
using BTile = Mma::BTile<K, K_major, swizzle_128B>;
using Chunk = ScaleTile<ue8m0, 128, steps>;  // one scale a step for each of 128 rows
using DTile = SharedTile<bf16, Mma::M, block, K_major, swizzle_64B>;
constexpr int a = 0, b = 1, sfa = 2, sfb = 3;  // places in a slot
constexpr auto list =
    parameters("A"_arg.is<TensorMap<ATile>>(), "B"_arg.is<TensorMap<BTile>>(), "D"_arg.is<TensorMap<DTile>>(),
               "SFA"_arg.is<Pointer<ue8m0>>(), "SFB"_arg.is<Pointer<ue8m0>>(), "k_blocks"_arg.is<u32>());

}  // namespace

Kernel mxfp8(Target target, const Sizes&) {
  KernelBuilder gemm("mxfp8", target, warps<6>);
  gemm.minnctapersm(1);
  const auto given = declare(gemm, list);
  const U32 k_blocks = given["k_blocks"_arg];
  auto in = gemm.ring<stages, ATile, BTile, Chunk, Chunk>("in");
  auto out = gemm.store_ring<2, DTile>("out");
  const auto done = gemm.mbarrier("done");
  const auto acc = gemm.accumulator<Mma>("acc");
  const auto a_scales = gemm.tensor_memory<stages, SFA<Mma, steps>>("a_scales");
  const auto b_scales = gemm.tensor_memory<stages, SFB<Mma, steps>>("b_scales");
  const U32 row = gemm.ctaid.x, column = gemm.ctaid.y;  // of tiles

  gemm.role("load", warp<4>.elect(), [&](Thread t) {
    t.loop(k_blocks, [&](U32 i) {
      const auto slot = in.acquire(t);
      const auto chunk = [&](const Pointer<ue8m0>& scales, const U32& of_tile) {
        return scales.at(multiply_wide(of_tile * k_blocks + i, Chunk::bytes));
      };
      t.tma_load(slot.get<a>(), given["A"_arg].at(row * Mma::M, i * K), slot.full);
      t.tma_load(slot.get<b>(), given["B"_arg].at(column * Mma::N, i * K), slot.full);
      t.cp_async_bulk(slot.get<sfa>().address, chunk(given["SFA"_arg], row), Chunk::bytes, slot.full);
      t.cp_async_bulk(slot.get<sfb>().address, chunk(given["SFB"_arg], column), Chunk::bytes, slot.full);
    });
  });
  gemm.role("multiply", warp<5>.elect(), [&](Thread t) {
    t.loop(k_blocks, [&](U32 i) {
      const auto slot = in.wait(t);
      const auto of_a = a_scales.at(slot.stage);
      const auto of_b = b_scales.at(slot.stage);
      t.copy(of_a, slot.get<sfa>());
      t.copy(of_b, slot.get<sfb>());
      for (int step = 0; step < steps; ++step)
        t.mma<Mma>(acc, slot.get<a>().k_slice(step * Mma::K), slot.get<b>().k_slice(step * Mma::K),
                   accumulate(i != 0 || step != 0), scales(of_a.at(step), of_b.at(step)));
      t.commit(slot.empty);
    });
    t.commit(done);
  });
  gemm.role("store", warpgroup<0>, [&](Warpgroup& g) {
    g.wait(done, Phase{0});
    g.loop(Mma::N / block, [&](U32 i) {
      const auto sums = g.wait(g.load(acc.columns<block>(i * block)));
      const auto tile = out.acquire(g);
      g.store(tile, cvt<bf16>(sums));
      out.publish(g, tile, given["D"_arg].at(row * Mma::M, column * Mma::N + i * block));
    });
  });
  return gemm.build();
}

launch::Contract mxfp8_problem(const Kernel& kernel, const Sizes& sizes) {
  const std::uint64_t m = sizes.at("m"), n = sizes.at("n"), k = sizes.at("k");
  launch::Contract c;
  c.buffers = {buffer("A", e4m3::scalar, {m, k}, normal(1)), buffer("B", e4m3::scalar, {n, k}, normal(2)),
               buffer("D", bf16::scalar, {m, n})};
  launch::Expectation gemm;
  gemm.output = "D";
  gemm.a = "A";
  gemm.b = "B";
  gemm.sfa = "SFA";
  gemm.sfb = "SFB";
  gemm.block = 32;
  c.expectations = {gemm};
  for (const char* of : {"A", "B"}) {  // rounds the matrix that its fill draws, and adds the buffer of scales
    launch::Quantisation how;
    how.scales = std::string("SF") + of;
    how.block = 32;
    launch::quantise(c, of, how);
  }
  launch_kernel(c, kernel, list, {std::uint32_t((m + 127) / 128), std::uint32_t((n + 127) / 128), 1},
                "A"_arg = GlobalTensor{"A", m, k}, "B"_arg = GlobalTensor{"B", n, k}, "D"_arg = GlobalTensor{"D", m, n},
                "SFA"_arg = "SFA", "SFB"_arg = "SFB", "k_blocks"_arg = (k + K - 1) / K);
  return c;
}

std::span<const SizeOption> mxfp8_options() {
  static constexpr std::array options{SizeOption{"m", 256, "rows"}, SizeOption{"n", 256, "columns"},
                                      SizeOption{"k", 512, "K"}};
  return options;
}

}  // namespace cookbook

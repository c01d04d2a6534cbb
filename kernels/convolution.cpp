// A convolution as a GEMM without im2col: B of a tap is a tile of X some positions on, as TMA brings it. What a tile's
// edge brings from the sequence next to it a zero-column mask of tcgen05.mma.ws takes out. A CTA has 128 channels of
// 128 positions. Warp 4 loads, warp 5 multiplies, warps 0-3 store.
#include "kernels/by_hand.hpp"

#include "kernels/epilogue.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;

namespace {

constexpr int M = 128, N = 128, K = 64, taps = 3, stages = 6;

using Mma = tcgen05_mma<kind_f16, bf16, bf16, f32, M, N, weight_stationary>;
using WTile = SharedTile<bf16, M, K, K_major, swizzle_128B>;
using XTile = SharedTile<bf16, N, K, K_major, swizzle_128B>;

constexpr auto parameter_list =
    parameters("W"_arg.is<TensorMapHandle<bf16, 3>>(), "X"_arg.is<TensorMap<XTile>>(), "D"_arg.is<Pointer<bf16>>(),
               "m"_arg.is<u32>(), "n"_arg.is<u32>(), "k_tiles"_arg.is<u32>(), "sequence"_arg.is<u32>());

}  // namespace

Kernel conv1d_ws(Target target, const Sizes&) {
  constexpr int w = 0, x = 1;  // places in a slot
  KernelBuilder conv("conv1d_ws", target, warps<6>);
  const auto given = declare(conv, parameter_list);
  const Result D{given["D"_arg], given["m"_arg], given["n"_arg]};
  const U32 k_tiles = given["k_tiles"_arg], sequence = given["sequence"_arg];

  auto in = conv.ring<stages, WTile, XTile>("in");
  auto done = conv.mbarrier("done");
  auto acc = conv.tmem<f32, M, N>("acc");

  U32 row = conv.ctaid.x * M, position = conv.ctaid.y * N;

  conv.role("load", warp<4>.elect(), [&](Thread t) {
    t.loop(k_tiles, [&](U32 i) {
      for (int tap = 0; tap < taps; ++tap) {
        auto slot = in.acquire(t);
        t.tma_load(slot.get<w>(), given["W"_arg].at(i * K, row, tap), slot.full);
        t.tma_load(slot.get<x>(), given["X"_arg].at(position + (tap - 1), i * K), slot.full);
      }
    });
  });
  conv.role("mma", warp<5>.elect(), [&](Thread t) {
    const auto no_left = zeros_every<Mma>(sequence, position), no_right = zeros_every<Mma>(sequence, position + 1);
    t.loop(k_tiles, [&](U32 i) {
      const auto multiply = [&](int tap, const auto&... mask) {
        auto slot = in.wait(t);
        t.mma_tiles<Mma>(acc, slot.get<w>(), slot.get<x>(), accumulate(i != 0 || tap != 0), mask...);
        t.commit(slot.empty);
      };
      multiply(0, no_left);
      multiply(1);
      multiply(2, no_right);
    });
    t.commit(done);
  });
  conv.role("store", warpgroup<0>, [&](Warpgroup& g) {
    g.wait(done, Phase{0});
    store_rows(g, acc, D, row, position);
  });
  return conv.build();
}

namespace {

constexpr std::uint64_t least_sequence = 2, longest_sequence = 257;  // what a mask can say
constexpr std::array options{
    SizeOption{"m", 256, "rows of W and D: channels out"},
    SizeOption{"n", 1024, "rows of X, columns of D: positions, a multiple of --sequence and of 8"},
    SizeOption{"k", 512, "columns of W and X: channels in"},
    SizeOption{"sequence", 64, "positions of a sequence, 2 to 257"}};

}  // namespace

std::span<const SizeOption> convolution_options() { return options; }

launch::Contract conv1d_ws_problem(const Kernel& kernel, const Sizes& sizes) {
  const GemmSizes s = gemm_sizes(sizes);
  const std::uint64_t sequence = sizes.at("sequence");
  if (sequence < least_sequence || sequence > longest_sequence)
    throw diag::InputError("--sequence " + std::to_string(sequence) + ": must be in [2, 257]");
  if (s.n % sequence != 0)
    throw diag::InputError("--n " + std::to_string(s.n) + ": must be a multiple of --sequence " +
                           std::to_string(sequence));
  launch::Contract c;
  launch::Buffer weights = matrix("W", bf16::scalar, taps * s.m, s.k, 1);
  weights.shape = {taps, s.m, s.k};
  c.buffers = {weights, matrix("X", bf16::scalar, s.n, s.k, 2), matrix("D", bf16::scalar, s.m, s.n)};
  launch::Expectation e;
  e.kind = launch::Expectation::Kind::convolution;
  e.output = "D", e.a = "W", e.b = "X", e.sequence = sequence;
  c.expectations.push_back(e);
  launch_kernel(c, kernel, parameter_list, gemm_grid(s, M, N),
                "W"_arg = batched_map(tensor_map<WTile>({"W", s.m, s.k}), taps), "X"_arg = GlobalTensor{"X", s.n, s.k},
                "D"_arg = "D", "m"_arg = s.m, "n"_arg = s.n, "k_tiles"_arg = pieces(s.k, K), "sequence"_arg = sequence);
  return c;
}

}  // namespace kiln::kernels

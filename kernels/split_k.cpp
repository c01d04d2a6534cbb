// Each of `splits` CTAs multiplies its part of K and leaves its sums in global memory; the CTA that comes last to a row
// adds them all.
#include "kernels/by_hand.hpp"

#include "kernels/partials.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;

namespace {

constexpr int M = 128, N = 128, K = 64, stages = 6;
constexpr std::uint64_t most_splits = 64, usual_splits = 4;
constexpr int a = 0, b = 1;  // places in a slot

using ATile = SharedTile<bf16, M, K, K_major, swizzle_128B>;
using BTile = SharedTile<bf16, N, K, K_major, swizzle_128B>;

constexpr auto parameter_list = parameters(
    "A"_arg.is<TensorMap<ATile>>(), "B"_arg.is<TensorMap<BTile>>(), "D"_arg.is<Pointer<bf16>>(), "m"_arg.is<u32>(),
    "n"_arg.is<u32>(), "k_blocks"_arg.is<u32>(), "partials"_arg.is<Pointer<f32>>(), "counters"_arg.is<Pointer<u32>>());

}  // namespace

std::span<const SizeOption> split_k_options() {
  static const std::array options{gemm_options()[0], gemm_options()[1], gemm_options()[2],
                                  SizeOption{"splits", {}, "CTAs that share the K of a tile"}};
  return options;
}

Strategy gemm_split_k_strategy(const Sizes& sizes) {
  const Strategy usual{{"splits", usual_splits}};
  const Strategy given = given_of(usual, sizes);
  return given.empty() ? usual : given;
}

std::span<const Strategy> gemm_split_k_strategies() {
  static const std::array strategies{gemm_split_k_strategy({})};
  return strategies;
}

Kernel gemm_split_k(Target target, const Sizes&) {
  KernelBuilder gemm("gemm_split_k", target, warps<6>);
  gemm.minnctapersm(1);  // its ring takes the shared memory of an SM
  const auto given = declare(gemm, parameter_list);
  const auto& A = given["A"_arg];
  const auto& B = given["B"_arg];
  const Result D{given["D"_arg], given["m"_arg], given["n"_arg]};
  const U32 k_blocks = given["k_blocks"_arg];
  const Partials partials(given["partials"_arg].any(), given["counters"_arg].any(), N);

  auto in = gemm.ring<stages, ATile, BTile>("in");
  auto done = gemm.mbarrier("done");
  auto acc = gemm.tmem<f32, M, N>("acc");

  const U32 row = gemm.ctaid.x * M, col = gemm.ctaid.y * N, split = gemm.ctaid.z, splits = gemm.nctaid.z;
  const U32 first = split * k_blocks / splits, count = (split + 1) * k_blocks / splits - first;

  gemm.role("load", warp<4>.elect(), [&](Thread t) {
    t.loop(count, [&](U32 i) {
      auto slot = in.acquire(t);
      t.tma_load(slot.get<a>(), A.at(row, (first + i) * K), slot.full);
      t.tma_load(slot.get<b>(), B.at(col, (first + i) * K), slot.full);
    });
  });
  gemm.role("mma", warp<5>.elect(), [&](Thread t) {
    t.loop(count, [&](U32 i) {
      auto slot = in.wait(t);
      t.mma_tiles(acc, slot.get<a>(), slot.get<b>(), accumulate(i != 0));
      t.commit(slot.empty);
    });
    t.commit(done);
  });
  gemm.role("store", warpgroup<0>, [&](Warpgroup& g) {
    const U32 tile = gemm.ctaid.y * gemm.nctaid.x + gemm.ctaid.x;
    const SharedTileOfD shared{tile, tile * splits, splits, col};
    g.wait(done, Phase{0});
    partials.leave(g, acc.any(), split, shared);
    partials.add_up(g, shared, into_row(D, row + g.row()));
  });

  return gemm.build();
}

std::vector<Candidate> gemm_split_k_candidates(Target, const Sizes& sizes) {
  launch::Tiling t;
  t.kind = kind_f16;
  t.m = sizes.at("m"), t.n = sizes.at("n"), t.k = sizes.at("k");
  t.rows = M, t.columns = N, t.slot_k = K, t.mmas = K * bf16::bits / 8 / isa::mma_k_bytes;
  t.stages = stages;
  t.slot_bytes = ATile::bytes + BTile::bytes, t.slot_rows = M + N;
  std::vector<Candidate> all;
  const auto add = [&](std::uint64_t splits) {
    t.splits = splits;
    all.push_back({{{"splits", splits}}, t});
  };
  const Strategy given = given_of(gemm_split_k_strategy({}), sizes);
  if (!given.empty()) return add(given.front().second), all;
  for (std::uint64_t splits = 2; splits <= std::min(most_splits, pieces(t.k, K)); splits *= 2) add(splits);
  return all;
}

launch::Contract gemm_split_k_problem(const Kernel& kernel, const Sizes& sizes) {
  const GemmSizes s = gemm_sizes(sizes);
  const std::uint64_t splits = gemm_split_k_strategy(sizes).front().second, k_blocks = pieces(s.k, K);
  if (splits == 0 || splits > most_splits || splits > k_blocks)
    throw diag::InputError("--splits " + std::to_string(splits) + ": must be in [1, " +
                           std::to_string(std::min(most_splits, k_blocks)) + "]: K has " + std::to_string(k_blocks) +
                           " blocks of " + std::to_string(K));
  launch::Dim3 grid = gemm_grid(s, M, N);
  grid.z = std::uint32_t(splits);
  launch::Contract c = gemm_buffers(s);
  const std::uint64_t tiles = std::uint64_t(grid.x) * grid.y;
  add_workspace(c, "partials", isa::ScalarType::f32, tiles * splits * Partials::elements(N));
  add_workspace(c, "counters", isa::ScalarType::u32, tiles * Partials::rows, launch::Init::Kind::zeros);
  launch_kernel(c, kernel, parameter_list, grid, "A"_arg = GlobalTensor{"A", s.m, s.k},
                "B"_arg = GlobalTensor{"B", s.n, s.k}, "D"_arg = "D", "m"_arg = s.m, "n"_arg = s.n,
                "k_blocks"_arg = k_blocks, "partials"_arg = "partials", "counters"_arg = "counters");
  return c;
}

}  // namespace kiln::kernels

#include "kernels/gemm_launch.hpp"

#include <limits>
#include <string>

#include "kernels/operands.hpp"
#include "kernels/partials.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;

namespace {

GemmSizes sizes_of(const GemmPlan& plan, const Sizes& sizes) {
  const GemmProblem& p = plan.problem;
  // What a row must be a multiple of: for TMA, and of a block that shares a scale. Rows of a sparse A are half as long.
  std::uint64_t row = row_elements(p.a, p.b);
  if (p.is_scaled()) row = std::max<std::uint64_t>(row, std::uint64_t(plan.mma.a_k() / plan.mma.scales()));
  if (p.is_sparse) row *= 2;
  const bool a_transposed = p.a_major == MN_major, b_transposed = p.b_major == MN_major;
  return gemm_sizes(sizes, a_transposed && b_transposed ? 1 : row, a_transposed ? row : 1, b_transposed ? row : 1);
}

launch::Contract buffers(const GemmPlan& plan, const Kernel& kernel, const GemmSizes& x) {
  const GemmProblem& p = plan.problem;
  launch::Contract c = gemm_buffers(x, p.a.scalar, p.b.scalar, p.d.scalar);
  if (p.a_major == MN_major) store_transposed(c, "A");
  if (p.b_major == MN_major) store_transposed(c, "B");
  launch::Expectation& product = c.expectations.front();
  if (p.sums == element_type<f16>) product.accumulate = ScalarType::f16;
  if (!p.is_scaled() && (p.a.is_unpacked() || p.b.is_unpacked())) product.mma_k = std::uint32_t(plan.mma.K());
  product.width = kernel.sum_width;
  std::optional<Scaling> scaling;
  std::optional<Pruning> pruning;
  if (p.is_scaled()) {
    const auto block = std::uint32_t(plan.mma.a_k() / plan.mma.scales());
    scaling = Scaling{p.scale, block, p.is_sparse ? 2 * block : block, std::uint32_t(plan.mma.a_k()),
                      std::uint64_t(plan.sfa_tile().groups())};
  }
  if (p.is_sparse) pruning = Pruning{std::uint64_t(plan.metadata().images())};
  add_sides(c, scaling, pruning);
  return c;
}

}  // namespace

OperandNames operand_names(const GemmPlan& plan) {
  if (plan.strategy.swapped) return {"B", "A"};
  return {"A", plan.problem.products > 1 ? "Gate" : "B"};
}

launch::Contract contract(const GemmPlan& plan, const Kernel& kernel, const Sizes& sizes) {
  const GemmProblem& p = plan.problem;
  const GemmSizes x = sizes_of(plan, sizes);
  launch::Contract c = buffers(plan, kernel, x);
  const std::uint64_t matrices = p.is_batched ? std::uint64_t(sizes.at("batch")) : 1;
  if (p.is_batched) make_batch(c, matrices);
  p.epilogue->describe(c, x);

  std::vector<NamedArgument> arguments;
  const auto operand = [&](const char* name, const TileShape& tile, std::uint64_t mn, std::uint64_t k) {
    const GlobalTensor tensor{name, mn, k};
    if (p.is_batched)
      arguments.push_back({name, batched_map(tensor_map(tensor, tile), matrices)});
    else
      arguments.push_back({name, tensor});
  };
  const OperandNames names = operand_names(plan);
  const std::uint64_t tiled_rows = plan.strategy.swapped ? x.n : x.m, tiled_columns = plan.strategy.swapped ? x.m : x.n;
  operand(names.a, plan.a_part, tiled_rows, p.is_sparse ? x.k / 2 : x.k);
  operand(names.b, plan.b_tile, tiled_columns, x.k);
  if (p.products > 1) operand("Up", plan.b_tile, x.n, x.k);
  if (p.is_sparse) arguments.push_back({"E", metadata_map(c, "E", std::uint32_t(plan.metadata().images()))});
  const auto scale = [&](const char* name, const ScaleTileShape& tile) {
    arguments.push_back({name, scale_map(c, name, std::uint32_t(tile.row_chunks()), std::uint32_t(tile.groups()))});
  };
  if (p.is_scaled()) scale("SFA", plan.sfa_tile()), scale("SFB", plan.sfb_tile());
  if (plan.strategy.tma_store)
    arguments.push_back({"D", GlobalTensor{"D", x.m, x.n}});
  else
    arguments.push_back({"D", std::string("D")});
  arguments.push_back({"m", x.m});
  arguments.push_back({"n", x.n});
  const std::uint64_t k_blocks = pieces(x.k, std::uint64_t(plan.k));
  arguments.push_back({"k_blocks", k_blocks});
  for (NamedArgument& a : p.epilogue->arguments()) arguments.push_back(std::move(a));
  if (p.is_batched) arguments.push_back({"batch", matrices});
  const std::uint64_t rows = pieces(tiled_rows, std::uint64_t(plan.mma.M())) * matrices,
                      pairs = std::uint64_t(plan.strategy.pairs),
                      tiles = rows * pieces(tiled_columns, std::uint64_t(plan.mma.N()) * pairs),
                      ctas = std::uint64_t(plan.mma.ctas()) * pairs, splits = std::uint64_t(plan.strategy.splits);
  if (splits > k_blocks)
    throw diag::InputError("--splits " + std::to_string(splits) + ": must be in [1, " + std::to_string(k_blocks) +
                           "]: K has " + std::to_string(k_blocks) + " blocks of " + std::to_string(plan.k));
  const std::uint64_t items = tiles * (plan.strategy.stream_k ? k_blocks : splits);
  const launch::Dim3 grid = plan.strategy.launch_control ? launch::Dim3{std::uint32_t(items * ctas), 1, 1}
                                                         : persistent_grid(sizes, items, ctas);
  const std::uint64_t groups_of_ctas = grid.x / ctas, shared = launch::shared_tiles(tiles, groups_of_ctas, k_blocks);
  // Blocks of partial sums of 128 rows that a CTA of a group has in the workspace, and counters of 128 rows.
  const auto workspace = [&](std::uint64_t blocks, std::uint64_t counters) {
    add_workspace(c, "partials", ScalarType::f32, ctas * blocks * Partials::elements(plan.mma.N()));
    add_workspace(c, "counters", ScalarType::u32, ctas * counters * Partials::rows, launch::Init::Kind::zeros);
    arguments.push_back({"partials", std::string("partials")});
    arguments.push_back({"counters", std::string("counters")});
  };
  if (splits > 1) {
    const PartGroups groups(plan.strategy.splits, plan.strategy.all_add);
    workspace(tiles * std::uint64_t(groups.blocks()), tiles * std::uint64_t(groups.counters()));
  }
  if (plan.strategy.stream_k) {
    if ((shared * k_blocks + 1) * groups_of_ctas > std::numeric_limits<std::uint32_t>::max())
      throw diag::InputError("--stream-k 1: the kernel counts steps of K times CTAs in 32 bits; got " +
                             std::to_string(shared * k_blocks) + " steps for " + std::to_string(groups_of_ctas));
    workspace(std::max<std::uint64_t>(1, shared + groups_of_ctas), std::max<std::uint64_t>(1, shared));
    arguments.push_back({"shared_tiles", shared});
  }
  if (plan.strategy.all_add && grid.x < splits * ctas)
    throw diag::InputError("--all-add 1: the " + std::to_string(splits * ctas) +
                           " CTAs that have parts of a tile wait for one another, so all of them run at once; got "
                           "--ctas " + std::to_string(grid.x));
  launch_kernel(c, kernel, grid, std::move(arguments));
  return c;
}

}  // namespace kiln::kernels

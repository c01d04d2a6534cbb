// Y[i] = X[index[i]]: rows picked by numbers in global memory, as for embeddings and for the tokens of an expert. TMA
// gathers four rows with one copy; 32 copies fill a tile of 128 rows by 64 columns.
#include "cookbook.hpp"

namespace cookbook {

using namespace kiln;
using namespace kiln::dsl;

namespace {

constexpr int rows = 128, columns = 64;
using Tile = SharedTile<bf16, rows, columns, K_major, swizzle_128B>;
constexpr auto list = parameters("X"_arg.is<TensorMapHandle<bf16, 2>>(), "Y"_arg.is<TensorMap<Tile>>(),
                                 "index"_arg.is<Pointer<u32>>(), "picked"_arg.is<u32>());

}  // namespace

Kernel gather(Target target, const Sizes&) {
  KernelBuilder gather("gather", target, warps<1>);
  const auto given = declare(gather, list);
  const auto tile = gather.shared<Tile>();
  const auto full = gather.mbarrier("full");
  const U32 row = gather.ctaid.x * rows, column = gather.ctaid.y * columns, last = given["picked"_arg] - 1;

  gather.role("gather", warp<0>.elect(), [&](Thread t) {
    t.expect_tx(full, Tile::transaction_bytes);
    // Rows below the matrix repeat the last one; the store leaves them out.
    const auto picked = [&](U32 r) { return t.ld_global(given["index"_arg].at(widen(min(row + r, last)))); };
    t.tma_gather(tile, given["X"_arg], column, picked, full);
    t.wait(full, Phase{0});
    t.tma_store(given["Y"_arg].at(row, column), tile);
    t.commit_stores();
    t.wait_stores_read(0);
  });
  return gather.build();
}

launch::Contract gather_problem(const Kernel& kernel, const Sizes& sizes) {
  const std::uint64_t m = sizes.at("m"), n = sizes.at("n"), of = sizes.at("rows");
  std::vector<double> index;
  for (std::uint64_t i = 0; i < m; ++i) index.push_back(double((i * 37 + 11) % of));
  launch::Contract c;
  c.buffers = {buffer("X", bf16::scalar, {of, n}, normal(1)), buffer("Y", bf16::scalar, {m, n}),
               buffer("index", u32::scalar, {m}, values(index))};
  launch::TensorMap x = tensor_map<Tile>(GlobalTensor{"X", of, n});
  x.box[1] = 1;  // a map for gathers has boxes of one row
  launch_kernel(c, kernel, list, {std::uint32_t((m + rows - 1) / rows), std::uint32_t((n + columns - 1) / columns), 1},
                "X"_arg = x, "Y"_arg = GlobalTensor{"Y", m, n}, "index"_arg = "index", "picked"_arg = m);
  return c;
}

std::span<const SizeOption> gather_options() {
  static constexpr std::array options{SizeOption{"m", 256, "rows of the result"}, SizeOption{"n", 128, "columns"},
                                      SizeOption{"rows", 1000, "rows to pick from"}};
  return options;
}

}  // namespace cookbook

// The sizes of the groups are known to the device alone: a list says where each ends. Tiles do not cross groups. Warp 6
// makes a tensor map of each group's rows of A, so that what follows the last of them is zero, and publishes it in
// global memory, in a place of this CTA's own, which is written once; warp 4 acquires it and loads with it.
#include "kernels/by_hand.hpp"

#include "kernels/epilogue.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;

namespace {

using Mma = tcgen05_mma<kind_f16, bf16, bf16, f32, 128, 256, cta_group_1>;
constexpr int M = Mma::M, N = Mma::N, K = 64, stages = 4;
constexpr std::uint64_t most_groups = 1024;
constexpr int a = 0, b = 1;  // places in a slot

using ATile = SharedTile<bf16, M, K, K_major, swizzle_128B>;
using BTile = SharedTile<bf16, N, K, K_major, swizzle_128B>;

constexpr auto parameter_list =
    parameters("A"_arg.is<Pointer<bf16>>(), "B"_arg.is<TensorMapHandle<bf16, 3>>(), "D"_arg.is<Pointer<bf16>>(),
               "ends"_arg.is<Pointer<u32>>(), "groups"_arg.is<u32>(), "row_tiles"_arg.is<u32>(), "n"_arg.is<u32>(),
               "k"_arg.is<u32>(), "k_blocks"_arg.is<u32>(), "maps"_arg.is<Pointer<u8>>());

// The groups' rows, group after group.
struct Groups {
  Pointer<u32> ends;
  U32 count;

  struct Tile {
    U32 group, first, rows;  // of the matrix of B; of the group's rows; no rows where there is no such tile
    U32 row;                 // of the tile, in the group
  };
  // The tile that so many tiles of rows come before.
  Tile tile(Scope& s, const U32& number) const {
    Var<U32> group = s.var(0), first = s.var(0), rows = s.var(0), row = s.var(0), begin = s.var(0), before = s.var(0);
    s.loop(count, [&](U32 g) {
      const U32 start = begin, end = s.ld_global(ends.at(widen(g))), size = end - start;
      const U32 index = number - before, tiles = (size + (M - 1)) / M;
      const Pred is_here = index < tiles;  // what lies before is a large number
      group = select(is_here, g, group);
      first = select(is_here, start, first);
      rows = select(is_here, size, rows);
      row = select(is_here, index * M, row);
      before += tiles;
      begin = end;
    });
    return {group, first, rows, row};
  }
};

// Makes the maps of all groups, one after the other in the same 128 bytes; `to`: where that of a group goes.
template <class To>
void publish_maps(Warp& w, const Shared<MapImage>& made, const Groups& groups, const Pointer<bf16>& rows, const U32& k,
                  const To& to) {
  w.elect([&](Thread t) { make_tensor_map<ATile>(t, made, k); });
  Var<U32> next = w.var(0);
  w.loop(groups.count, [&](U32 g) {
    const U32 begin = next, end = w.ld_global(groups.ends.at(widen(g)));
    w.elect([&](Thread t) {
      t.tensormap_replace<TensorMapField::global_address>(made.address, rows.at(multiply_wide(begin, k)));
      t.tensormap_replace<TensorMapField::global_dim, 1>(made.address, select(begin < end, end - begin, 1));
    });
    w.tensormap_cp_fenceproxy(to(g), made.address, release_gpu);
    w.sync();  // all lanes have read the map before it becomes that of the next group
    next = end;
  });
}

}  // namespace

std::span<const SizeOption> grouped_options() {
  const auto standard = persistent_options();
  static const std::array options{SizeOption{"m", 512, "rows of A and D, of all groups together"},
                                  SizeOption{"n", 512, "rows of each matrix of B, columns of D; a multiple of 8"},
                                  standard[2], SizeOption{"groups", 4, "groups of rows, matrices of B"}, standard[3]};
  return options;
}

Kernel gemm_grouped(Target target, const Sizes&) {
  KernelBuilder gemm("gemm_grouped", target, warps<7>);
  gemm.minnctapersm(1);  // its ring takes the shared memory of an SM
  const auto given = declare(gemm, parameter_list);
  const auto& B = given["B"_arg];
  const auto& D = given["D"_arg];
  const U32 n = given["n"_arg], k_blocks = given["k_blocks"_arg];
  const Groups groups{given["ends"_arg], given["groups"_arg]};

  auto in = gemm.ring<stages, ATile, BTile>("in");
  auto acc = gemm.accumulator_ring<2, Mma>("acc");
  auto made = gemm.shared<MapImage>();
  auto ready = gemm.mbarrier("ready");
  // Columns first: a CTA comes to the groups in their order.
  auto tiles = gemm.tiles(static_schedule, gemm.ceil_div(n, N), given["row_tiles"_arg]);
  const auto map = [&](const U32& group) {
    return given["maps"_arg].at(multiply_wide(gemm.ctaid.x * groups.count + group, isa::tensor_map_bytes));
  };

  gemm.role("maps", warp<6>, [&](Warp w) {
    publish_maps(w, made, groups, given["A"_arg], given["k"_arg], map);
    w.elect([&](Thread t) { t.arrive(ready); });
  });
  gemm.role("load", warp<4>.elect(), [&](Thread t) {
    t.wait(ready, Phase{0});
    t.loop(tiles, [&](TilePlace tile) {
      const Groups::Tile at = groups.tile(t, tile.column);
      const U64 own = map(at.group);
      t.fence_proxy_tensormap_generic(acquire_gpu, own);
      const TensorMap<ATile> A(own);
      t.loop(k_blocks, [&](U32 i) {
        auto slot = in.acquire(t);
        t.tma_load(slot.get<a>(), A.at(at.row, i * K), slot.full);
        t.tma_load(slot.get<b>(), B.at(i * K, tile.row * N, at.group), slot.full);
      });
    });
  });
  gemm.role("mma", warp<5>.elect(), [&](Thread t) {
    t.loop(tiles, [&](TilePlace) {
      auto d = acc.acquire(t);
      t.loop(k_blocks, [&](U32 i) {
        auto slot = in.wait(t);
        t.mma_tiles<Mma>(d.sums, slot.get<a>(), slot.get<b>(), accumulate(i != 0));
        t.commit(slot.empty);
      });
      t.commit(d.full);
    });
  });
  gemm.role("store", warpgroup<0>, [&](Warpgroup& g) {
    g.loop(tiles, [&](TilePlace tile) {
      const Groups::Tile at = groups.tile(g, tile.column);
      const Result rows(AnyPointer(element_type<bf16>, D.at(multiply_wide(at.first, n))), at.rows, n);
      auto sums = acc.wait(g);
      store_rows(g, sums.sums, rows, at.row, tile.row * N);
      acc.release(g, sums);
    });
  });

  return gemm.build();
}

namespace {

// Where groups end that get larger one by one.
std::vector<double> ends_of(std::uint64_t m, std::uint64_t groups) {
  std::vector<double> ends;
  for (std::uint64_t g = 1; g <= groups; ++g) ends.push_back(double(m * g * g / (groups * groups)));
  return ends;
}

}  // namespace

launch::Contract gemm_grouped_problem(const Kernel& kernel, const Sizes& sizes) {
  const GemmSizes s = gemm_sizes(sizes);
  const std::uint64_t groups = sizes.at("groups");
  if (groups == 0 || groups > most_groups)
    throw diag::InputError("--groups " + std::to_string(groups) + ": must be in [1, " + std::to_string(most_groups) +
                           "]");
  // Enough whatever the sizes of the groups are: the last tile of each may have one row.
  const std::uint64_t row_tiles = (s.m + groups * (M - 1)) / M;
  const launch::Dim3 grid = persistent_grid(sizes, row_tiles * pieces(s.n, N), 1);
  launch::Contract c = gemm_buffers(s);
  c.at("B").shape = {groups, s.n, s.k};
  add_workspace(c, "ends", isa::ScalarType::u32, groups, launch::Init::Kind::values).init.values = ends_of(s.m, groups);
  add_workspace(c, "maps", isa::ScalarType::u8, grid.x * groups * isa::tensor_map_bytes);
  c.expectations.front().groups = "ends";
  launch_kernel(c, kernel, parameter_list, grid, "A"_arg = "A",
                "B"_arg = batched_map(tensor_map<BTile>({"B", s.n, s.k}), groups), "D"_arg = "D", "ends"_arg = "ends",
                "groups"_arg = groups, "row_tiles"_arg = row_tiles, "n"_arg = s.n, "k"_arg = s.k,
                "k_blocks"_arg = pieces(s.k, K), "maps"_arg = "maps");
  return c;
}

}  // namespace kiln::kernels

// Grouped GEMM: rows of A in groups whose sizes the device alone knows, each multiplied by a matrix of its own.
//
// gemm_grouped: groups follow one another, and a list says where each ends. Tiles do not cross groups. Warp 6 makes a
// tensor map of each group's rows of A, so that what follows the last of them is zero, and publishes it in global
// memory, in a place of this CTA's own, which is written once; warp 4 acquires it and loads with it.
//
// gemm_masked: each group has room for as many rows as any may have, and a list says how many it has. A CTA for each
// tile of that room ends at once where its tile has none.
#include "kernels/by_hand.hpp"

#include "kernels/epilogue.hpp"
#include "kernels/groups.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;

namespace {

using Mma = tcgen05_mma<kind_f16, bf16, bf16, f32, 128, 256, cta_group_1>;
constexpr int M = Mma::M, N = Mma::N, K = 64, stages = 4;
constexpr int a = 0, b = 1;  // places in a slot

using ATile = SharedTile<bf16, M, K, K_major, swizzle_128B>;
using BTile = SharedTile<bf16, N, K, K_major, swizzle_128B>;

constexpr auto parameter_list =
    parameters("A"_arg.is<Pointer<bf16>>(), "B"_arg.is<TensorMapHandle<bf16, 3>>(), "D"_arg.is<Pointer<bf16>>(),
               "ends"_arg.is<Pointer<u32>>(), "groups"_arg.is<u32>(), "row_tiles"_arg.is<u32>(), "n"_arg.is<u32>(),
               "k"_arg.is<u32>(), "k_blocks"_arg.is<u32>(), "maps"_arg.is<Pointer<u8>>());

using MatricesMap = TensorMapHandle<bf16, 3>;
constexpr auto masked_parameter_list =
    parameters("A"_arg.is<MatricesMap>(), "B"_arg.is<MatricesMap>(), "D"_arg.is<Pointer<bf16>>(),
               "lengths"_arg.is<Pointer<u32>>(), "m"_arg.is<u32>(), "n"_arg.is<u32>(), "k_blocks"_arg.is<u32>());

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
      const Groups::Tile at = groups.tile(t, tile.column, M);
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
      const Groups::Tile at = groups.tile(g, tile.column, M);
      const Result rows(AnyPointer(element_type<bf16>, D.at(multiply_wide(at.first, n))), at.rows, n);
      auto sums = acc.wait(g);
      store_rows(g, sums.sums, rows, at.row, tile.row * N);
      acc.release(g, sums);
    });
  });

  return gemm.build();
}

Kernel gemm_masked(Target target, const Sizes&) {
  KernelBuilder gemm("gemm_masked", target, warps<6>);
  gemm.minnctapersm(1);  // its ring takes the shared memory of an SM
  const auto given = declare(gemm, masked_parameter_list);
  const U32 n = given["n"_arg], k_blocks = given["k_blocks"_arg];
  auto in = gemm.ring<stages, ATile, BTile>("in");
  auto acc = gemm.tmem<f32, M, N>("acc");
  auto done = gemm.mbarrier("done");
  const U32 col = gemm.ctaid.x * N, row = gemm.ctaid.y * M, group = gemm.ctaid.z;
  const auto rows_of = [&](auto& scope) { return rows_or_exit(scope, given["lengths"_arg], group, row); };

  gemm.role("load", warp<4>.elect(), [&](Thread t) {
    (void)rows_of(t);
    t.loop(k_blocks, [&](U32 i) {
      auto slot = in.acquire(t);
      t.tma_load(slot.get<a>(), given["A"_arg].at(i * K, row, group), slot.full);
      t.tma_load(slot.get<b>(), given["B"_arg].at(i * K, col, group), slot.full);
    });
  });
  gemm.role("mma", warp<5>.elect(), [&](Thread t) {
    (void)rows_of(t);
    t.loop(k_blocks, [&](U32 i) {
      auto slot = in.wait(t);
      t.mma_tiles<Mma>(acc, slot.get<a>(), slot.get<b>(), accumulate(i != 0));
      t.commit(slot.empty);
    });
    t.commit(done);
  });
  gemm.role("store", warpgroup<0>, [&](Warpgroup& g) {
    const U32 rows = rows_of(g);
    const U64 first = given["D"_arg].at(multiply_wide(group * given["m"_arg], n));
    g.wait(done, Phase{0});
    store_rows(g, acc, Result(AnyPointer(element_type<bf16>, first), rows, n), row, col);
  });

  return gemm.build();
}

launch::Contract gemm_grouped_problem(const Kernel& kernel, const Sizes& sizes) {
  const GemmSizes s = gemm_sizes(sizes);
  const std::uint64_t groups = groups_of(sizes);
  const std::uint64_t row_tiles = most_row_tiles(s.m, groups, M);
  const launch::Dim3 grid = persistent_grid(sizes, row_tiles * pieces(s.n, N), 1);
  launch::Contract c = gemm_buffers(s);
  c.at("B").shape = {groups, s.n, s.k};
  add_ends(c, s.m, groups);
  add_workspace(c, "maps", isa::ScalarType::u8, grid.x * groups * isa::tensor_map_bytes);
  launch_kernel(c, kernel, parameter_list, grid, "A"_arg = "A",
                "B"_arg = batched_map(tensor_map<BTile>({"B", s.n, s.k}), groups), "D"_arg = "D", "ends"_arg = "ends",
                "groups"_arg = groups, "row_tiles"_arg = row_tiles, "n"_arg = s.n, "k"_arg = s.k,
                "k_blocks"_arg = pieces(s.k, K), "maps"_arg = "maps");
  return c;
}

std::span<const SizeOption> masked_options() {
  const auto grouped = grouped_options();
  static const std::array options{SizeOption{"m", 512, "rows that a group of A and D has room for"}, grouped[1],
                                  grouped[2], SizeOption{"groups", 4, "groups of rows, matrices of B"}};
  return options;
}

launch::Contract gemm_masked_problem(const Kernel& kernel, const Sizes& sizes) {
  const GemmSizes s = gemm_sizes(sizes);
  const std::uint64_t groups = groups_of(sizes);
  launch::Contract c = gemm_buffers(s);
  for (launch::Buffer& b : c.buffers) b = of_each(b, groups);
  add_lengths(c, s.m, groups);
  launch_kernel(c, kernel, masked_parameter_list, masked_grid(s, groups, M, N),
                "A"_arg = batched_map(tensor_map<ATile>({"A", s.m, s.k}), groups),
                "B"_arg = batched_map(tensor_map<BTile>({"B", s.n, s.k}), groups), "D"_arg = "D",
                "lengths"_arg = "lengths", "m"_arg = s.m, "n"_arg = s.n, "k_blocks"_arg = pieces(s.k, K));
  return c;
}

}  // namespace kiln::kernels

// Products of nvfp4 and of mxfp8, whose scales the tensor core applies.
//
// Dual: D = silu(A * Gate^T) * (A * Up^T). In a slot rows of Gate are followed by as many of Up, which is one tile, and
// so are their scales: one MMA multiplies both, and reads A once.
//
// Grouped: rows of A in groups, each multiplied by a matrix of its own; a list says where each group ends. The scales
// of a group begin with a chunk of their own. A tile's rows that are the next group's are loaded and not stored.
//
// Masked: each group has room for as many rows as any may have, and a list says how many it has. Two CTAs share an SM:
// one stores its tile while the other multiplies. A CTA whose tile has no rows ends at once.
#include "kernels/by_hand.hpp"

#include "kernels/epilogues.hpp"
#include "kernels/groups.hpp"
#include "kernels/scaled_slots.hpp"
#include "launch/operands.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;
using namespace scaled;

namespace {

// Two products
// ---------------------------------------------------------------------------------------------------------

constexpr int half = 128;  // columns of each
using Dual = Slots<Nvf4, 2 * half, 4>;
using Half = SharedTile<e2m1, half, Dual::K, K_major, swizzle_128B>;

constexpr auto dual_list =
    parameters("A"_arg.is<TensorMap<Dual::ATile>>(), "Gate"_arg.is<TensorMap<Half>>(), "Up"_arg.is<TensorMap<Half>>(),
               "SFA"_arg.is<ScaleMap>(), "SFGate"_arg.is<ScaleMap>(), "SFUp"_arg.is<ScaleMap>(),
               "D"_arg.is<Pointer<f16>>(), "m"_arg.is<u32>(), "n"_arg.is<u32>(), "k_blocks"_arg.is<u32>());

// Groups that follow one another
// ---------------------------------------------------------------------------------------

template <class Format>
using MatricesMap = TensorMapHandle<typename Format::Element, 3>;
template <class Format>
using Grouped = Slots<Format, 128, 6>;

template <class Format>
constexpr auto grouped_list = parameters("A"_arg.is<TensorMap<typename Grouped<Format>::ATile>>(),
                                         "B"_arg.is<MatricesMap<Format>>(), "SFA"_arg.is<ScaleMap>(),
                                         "SFB"_arg.is<ScaleMap>(), "D"_arg.is<Pointer<typename Format::Result>>(),
                                         "ends"_arg.is<Pointer<u32>>(), "groups"_arg.is<u32>(),
                                         "row_tiles"_arg.is<u32>(), "n"_arg.is<u32>(), "k_blocks"_arg.is<u32>());

template <class Format>
Kernel grouped(const char* name, Target target) {
  using In = Grouped<Format>;
  KernelBuilder gemm(name, target, warps<6>);
  gemm.minnctapersm(1);  // its ring takes the shared memory of an SM
  const auto given = declare(gemm, grouped_list<Format>);
  const U32 n = given["n"_arg], k_blocks = given["k_blocks"_arg];
  const Groups groups{given["ends"_arg], given["groups"_arg]};
  In slots(gemm);
  auto acc = gemm.accumulator_ring<2, typename In::Mma>("acc");
  const U32 column_tiles = gemm.ceil_div(n, In::N);
  // Columns first: a CTA comes to the groups in their order.
  auto tiles = gemm.tiles(static_schedule, column_tiles, given["row_tiles"_arg]);

  gemm.role("load", warp<4>.elect(), [&](Thread t) {
    t.loop(tiles, [&](TilePlace tile) {
      const Groups::Tile at = groups.tile(t, tile.column, M);
      const U32 scales_of_b = at.group * column_tiles + tile.row;
      t.loop(k_blocks, [&](U32 i) {
        const auto slot = slots.in.acquire(t);
        t.tma_load(slot.template get<a>(), given["A"_arg].at(at.first + at.row, i * In::K), slot.full);
        t.tma_load(slot.template get<b>(), given["B"_arg].at(i * In::K, tile.row * In::N, at.group), slot.full);
        In::load_scales(t, slot.template get<sfa>(), 0, given["SFA"_arg], i, tile.column, slot.full);
        In::load_scales(t, slot.template get<sfb>(), 0, given["SFB"_arg], i, scales_of_b, slot.full);
      });
    });
  });
  gemm.role("mma", warp<5>.elect(), [&](Thread t) {
    t.loop(tiles, [&](TilePlace) {
      const auto d = acc.acquire(t);
      slots.multiply(t, d.sums, k_blocks);
      t.commit(d.full);
    });
  });
  gemm.role("store", warpgroup<0>, [&](Warpgroup& g) {
    g.loop(tiles, [&](TilePlace tile) {
      const Groups::Tile at = groups.tile(g, tile.column, M);
      const U64 first = given["D"_arg].at(multiply_wide(at.first, n));
      const Result rows(AnyPointer(element_type<typename Format::Result>, first), at.rows, n);
      const auto sums = acc.wait(g);
      store_rows(g, sums.sums, rows, at.row, tile.row * In::N);
      acc.release(g, sums);
    });
  });
  return gemm.build();
}

// A matrix of B for each group, and the scales. Nothing is quantised: elements and scales are drawn.
template <class Format>
launch::Contract grouped_buffers(const GemmSizes& s, std::uint64_t groups, launch::Buffer of_a) {
  launch::Contract c = gemm_buffers(s, Format::Element::scalar, Format::Element::scalar, Format::Result::scalar);
  c.at("B") = of_each(c.at("B"), groups);
  c.buffers.push_back(std::move(of_a));
  c.buffers.push_back(of_each(drawn_scales("SFB", Format::Scale::scalar, s.n, s.k / Format::block), groups));
  launch::Expectation& e = c.expectations.front();
  e.sfa = "SFA", e.sfb = "SFB";
  e.block = Format::block;
  return c;
}

template <class Format>
launch::Contract grouped_problem(const Kernel& kernel, const Sizes& sizes) {
  using In = Grouped<Format>;
  const GemmSizes s = scaled_sizes<Format>(sizes);
  const std::uint64_t groups = groups_of(sizes), row_tiles = most_row_tiles(s.m, groups, M);
  launch::Contract c = grouped_buffers<Format>(
      s, groups, drawn_scales("SFA", Format::Scale::scalar, row_tiles * M, s.k / Format::block));
  add_ends(c, s.m, groups);
  const launch::Dim3 grid = persistent_grid(sizes, row_tiles * pieces(s.n, In::N), 1);
  launch_kernel(c, kernel, grouped_list<Format>, grid, "A"_arg = GlobalTensor{"A", s.m, s.k},
                "B"_arg = batched_map(tensor_map<typename In::BTile>({"B", s.n, s.k}), groups),
                "SFA"_arg = map_of_scales<In>(c, "SFA"), "SFB"_arg = map_of_scales<In>(c, "SFB"), "D"_arg = "D",
                "ends"_arg = "ends", "groups"_arg = groups, "row_tiles"_arg = row_tiles, "n"_arg = s.n,
                "k_blocks"_arg = pieces(s.k, In::K));
  return c;
}

// Groups with room ----------------------------------------------------------------------------------------------------

template <class Format>
using Masked = Slots<Format, 128, 3>;

template <class Format>
constexpr auto masked_list = parameters("A"_arg.is<MatricesMap<Format>>(), "B"_arg.is<MatricesMap<Format>>(),
                                        "SFA"_arg.is<ScaleMap>(), "SFB"_arg.is<ScaleMap>(),
                                        "D"_arg.is<Pointer<typename Format::Result>>(),
                                        "lengths"_arg.is<Pointer<u32>>(), "m"_arg.is<u32>(), "n"_arg.is<u32>(),
                                        "k_blocks"_arg.is<u32>());

template <class Format>
Kernel masked(const char* name, Target target) {
  using In = Masked<Format>;
  KernelBuilder gemm(name, target, warps<6>);
  gemm.minnctapersm(2);
  const auto given = declare(gemm, masked_list<Format>);
  const U32 n = given["n"_arg], k_blocks = given["k_blocks"_arg];
  In slots(gemm);
  const auto acc = gemm.accumulator<typename In::Mma>("acc");
  const auto done = gemm.mbarrier("done");
  const U32 column = gemm.ctaid.x, row = gemm.ctaid.y, group = gemm.ctaid.z;  // of tiles
  const auto rows_of = [&](auto& scope) { return rows_or_exit(scope, given["lengths"_arg], group, row * M); };

  gemm.role("load", warp<4>.elect(), [&](Thread t) {
    (void)rows_of(t);
    t.loop(k_blocks, [&](U32 i) {
      const auto slot = slots.in.acquire(t);
      t.tma_load(slot.template get<a>(), given["A"_arg].at(i * In::K, row * M, group), slot.full);
      t.tma_load(slot.template get<b>(), given["B"_arg].at(i * In::K, column * In::N, group), slot.full);
      In::load_scales(t, slot.template get<sfa>(), 0, given["SFA"_arg], i, group * gemm.nctaid.y + row, slot.full);
      In::load_scales(t, slot.template get<sfb>(), 0, given["SFB"_arg], i, group * gemm.nctaid.x + column, slot.full);
    });
  });
  gemm.role("mma", warp<5>.elect(), [&](Thread t) {
    (void)rows_of(t);
    slots.multiply(t, acc, k_blocks);
    t.commit(done);
  });
  gemm.role("store", warpgroup<0>, [&](Warpgroup& g) {
    const U32 rows = rows_of(g);
    const U64 first = given["D"_arg].at(multiply_wide(group * given["m"_arg], n));
    g.wait(done, Phase{0});
    store_rows(g, acc, Result(AnyPointer(element_type<typename Format::Result>, first), rows, n), row * M,
               column * In::N);
  });
  return gemm.build();
}

template <class Format>
launch::Contract masked_problem(const Kernel& kernel, const Sizes& sizes) {
  using In = Masked<Format>;
  const GemmSizes s = scaled_sizes<Format>(sizes);
  const std::uint64_t groups = groups_of(sizes);
  launch::Contract c = grouped_buffers<Format>(
      s, groups, of_each(drawn_scales("SFA", Format::Scale::scalar, s.m, s.k / Format::block), groups));
  for (const char* rows : {"A", "D"}) c.at(rows) = of_each(c.at(rows), groups);
  add_lengths(c, s.m, groups);
  launch_kernel(c, kernel, masked_list<Format>, masked_grid(s, groups, M, In::N),
                "A"_arg = batched_map(tensor_map<typename In::ATile>({"A", s.m, s.k}), groups),
                "B"_arg = batched_map(tensor_map<typename In::BTile>({"B", s.n, s.k}), groups),
                "SFA"_arg = map_of_scales<In>(c, "SFA"), "SFB"_arg = map_of_scales<In>(c, "SFB"), "D"_arg = "D",
                "lengths"_arg = "lengths", "m"_arg = s.m, "n"_arg = s.n, "k_blocks"_arg = pieces(s.k, In::K));
  return c;
}

}  // namespace

Kernel gemm_nvf4_dual(Target target, const Sizes&) {
  KernelBuilder gemm("gemm_nvf4_dual", target, warps<6>);
  gemm.minnctapersm(1);
  const auto given = declare(gemm, dual_list);
  const Result D{given["D"_arg], given["m"_arg], given["n"_arg]};
  const U32 k_blocks = given["k_blocks"_arg];
  Dual slots(gemm);
  const auto done = gemm.mbarrier("done");
  const auto acc = gemm.accumulator<Dual::Mma>("acc");
  const U32 row = gemm.ctaid.x, column = gemm.ctaid.y;  // of tiles

  gemm.role("load", warp<4>.elect(), [&](Thread t) {
    t.loop(k_blocks, [&](U32 i) {
      const auto slot = slots.in.acquire(t);
      t.tma_load(slot.get<a>(), given["A"_arg].at(row * M, i * Dual::K), slot.full);
      t.tma_load(slot.get<b>().rows<half>(0), given["Gate"_arg].at(column * half, i * Dual::K), slot.full);
      t.tma_load(slot.get<b>().rows<half>(half), given["Up"_arg].at(column * half, i * Dual::K), slot.full);
      Dual::load_scales(t, slot.get<sfa>(), 0, given["SFA"_arg], i, row, slot.full);
      Dual::load_scales(t, slot.get<sfb>(), 0, given["SFGate"_arg], i, column, slot.full);
      Dual::load_scales(t, slot.get<sfb>(), 1, given["SFUp"_arg], i, column, slot.full);
    });
  });
  gemm.role("mma", warp<5>.elect(), [&](Thread t) {
    slots.multiply(t, acc, k_blocks);
    t.commit(done);
  });
  gemm.role("store", warpgroup<0>, [&](Warpgroup& g) {
    g.wait(done, Phase{0});
    store_rows(g, acc.any(), half, D, row * M, column * half, gated.device(gemm, gated.width())(g), gated.width());
  });
  return gemm.build();
}

launch::Contract gemm_nvf4_dual_problem(const Kernel& kernel, const Sizes& sizes) {
  const GemmSizes s = scaled_sizes<Nvf4>(sizes);
  launch::Contract c = gemm_buffers(s, e2m1::scalar, e2m1::scalar, f16::scalar);
  c.at("B").name = "Gate";
  c.buffers.push_back(matrix("Up", e2m1::scalar, s.n, s.k, 3));
  for (const char* operand : {"A", "Gate", "Up"})
    launch::quantise(c, operand, {.scales = std::string("SF") + operand, .block = Nvf4::block}, ue4m3::scalar);
  launch::Expectation& e = c.expectations.front();
  e.kind = launch::Expectation::Kind::swiglu;
  e.b = "Gate", e.c = "Up";
  e.sfa = "SFA", e.sfb = "SFGate", e.sfc = "SFUp";
  e.block = Nvf4::block;
  launch_kernel(c, kernel, dual_list, gemm_grid(s, M, half), "A"_arg = GlobalTensor{"A", s.m, s.k},
                "Gate"_arg = GlobalTensor{"Gate", s.n, s.k}, "Up"_arg = GlobalTensor{"Up", s.n, s.k},
                "SFA"_arg = map_of_scales<Dual>(c, "SFA"), "SFGate"_arg = map_of_scales<Dual>(c, "SFGate"),
                "SFUp"_arg = map_of_scales<Dual>(c, "SFUp"), "D"_arg = "D", "m"_arg = s.m, "n"_arg = s.n,
                "k_blocks"_arg = pieces(s.k, Dual::K));
  return c;
}

Kernel gemm_nvf4_grouped(Target target, const Sizes&) { return grouped<Nvf4>("gemm_nvf4_grouped", target); }
launch::Contract gemm_nvf4_grouped_problem(const Kernel& k, const Sizes& s) { return grouped_problem<Nvf4>(k, s); }
Kernel gemm_mxf8_grouped(Target target, const Sizes&) { return grouped<Mxf8>("gemm_mxf8_grouped", target); }
launch::Contract gemm_mxf8_grouped_problem(const Kernel& k, const Sizes& s) { return grouped_problem<Mxf8>(k, s); }

Kernel gemm_nvf4_masked(Target target, const Sizes&) { return masked<Nvf4>("gemm_nvf4_masked", target); }
launch::Contract gemm_nvf4_masked_problem(const Kernel& k, const Sizes& s) { return masked_problem<Nvf4>(k, s); }
Kernel gemm_mxf8_masked(Target target, const Sizes&) { return masked<Mxf8>("gemm_mxf8_masked", target); }
launch::Contract gemm_mxf8_masked_problem(const Kernel& k, const Sizes& s) { return masked_problem<Mxf8>(k, s); }

}  // namespace kiln::kernels

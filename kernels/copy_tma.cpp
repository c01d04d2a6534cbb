// D = A, 64-row tiles: TMA brings a tile in, TMA takes it out. Before it leaves, the threads write its shared-memory
// bytes, as they lie, to S: that is how TMA places a box, for every swizzle, at the tensor's edges, and when a row is
// narrower than the swizzle span. Runs on sm_90a and later.
//
// With --shift s the first tile begins s columns before A, where a load reads zeros. A store may not begin before its
// tensor (the launch dies), so D then has s columns more than A.
#include "kernels/copy_tma.hpp"

#include <array>


namespace kiln::kernels {

using namespace kiln::dsl;

namespace {

constexpr int rows_per_tile = copy_tma_rows;
constexpr std::uint32_t untouched = 0xCDCDCDCD;  // what bytes that TMA leaves alone show in S

constexpr std::array options{
    SizeOption{"rows", 200, "rows of A and D"},
    SizeOption{"cols", 136, "columns of A and D (bf16); a multiple of 8"},
    SizeOption{"swizzle", 128, "bytes of the TMA swizzle: 0 (none), 32, 64 or 128"},
    SizeOption{"inner", 128, "bytes of a tile's row: 16, 32, 64 or 128, at most the swizzle"},
    SizeOption{"shift", 0, "columns by which the first tile begins before A; a multiple of 8"}};

// Every 16 bytes of a tile, one thread each.
template <class Body>
void for_each_chunk(Warpgroup& g, int bytes, Body body) {
  for (int at = 0; at < bytes; at += 128 * 16) {
    const U32 mine = g.row() * 16 + at;
    g.when(mine < bytes, [&] { body(mine); });
  }
}

void mark_untouched(Warpgroup& g, const U32& tile, int bytes, const U32& mark) {
  for_each_chunk(g, bytes, [&](const U32& mine) { g.st_shared_v4(tile + mine, {mark, mark, mark, mark}); });
  g.fence_proxy_async();
  g.sync();
}

void dump(Warpgroup& g, const U32& tile, int bytes, const Pointer<u8>& to, const U32& tile_index) {
  const U64 start = multiply_wide(tile_index, bytes);
  for_each_chunk(g, bytes, [&](const U32& mine) {
    g.st_global_v4(to.at(start + widen(mine)), g.ld_shared_v4(tile + mine));
  });
}

template <class Tile>
Kernel build(Target target) {
  KernelBuilder copy("copy_tma", target, warps<4>);
  const auto A = copy.param<TensorMap<Tile>>("A");
  const auto D = copy.param<TensorMap<Tile>>("D");
  const auto S = copy.param<Pointer<u8>>("S");
  const U32 shift = copy.param<u32>("shift");
  auto tile = copy.shared<Tile>();
  auto loaded = copy.mbarrier("loaded");
  const U32 row = copy.ctaid.y * rows_per_tile, to_col = copy.ctaid.x * Tile::cols, col = to_col - shift;
  const U32 tile_index = copy.ctaid.y * copy.nctaid.x + copy.ctaid.x;

  copy.role("copy", warpgroup<0>, [&](Warpgroup& g) {
    mark_untouched(g, tile.address, Tile::bytes, copy.constant(untouched));
    g.elect([&](Thread t) {
      t.expect_tx(loaded, Tile::transaction_bytes);
      t.tma_load(tile, A.at(row, col), loaded);
    });
    g.wait(loaded, Phase{0});
    dump(g, tile.address, Tile::bytes, S, tile_index);
    g.elect([&](Thread t) {
      t.tma_store(D.at(row, to_col), tile);
      t.commit_stores();
      t.wait_stores_read(0);
    });
  });
  return copy.build();
}

/// One swizzle and row width that the kernel is instantiated for.
struct Variant {
  std::uint64_t swizzle, inner;  // bytes
  Kernel (*build)(Target);
  CopyTile tile;
};

template <Layout layout, int inner_bytes>
constexpr Variant variant(std::uint64_t swizzle) {
  using Tile = SharedTile<bf16, rows_per_tile, inner_bytes / 2, K_major, layout>;
  return {swizzle, inner_bytes, &build<Tile>, {Tile::cols, Tile::bytes, &tensor_map<Tile>}};
}

constexpr std::array variants{
    variant<packed, 16>(0),         variant<packed, 128>(0),
    variant<swizzle_32B, 16>(32),   variant<swizzle_32B, 32>(32),
    variant<swizzle_64B, 16>(64),   variant<swizzle_64B, 32>(64),   variant<swizzle_64B, 64>(64),
    variant<swizzle_128B, 16>(128), variant<swizzle_128B, 32>(128), variant<swizzle_128B, 64>(128),
    variant<swizzle_128B, 128>(128)};

const Variant& chosen(const Sizes& sizes) {
  for (const Variant& v : variants)
    if (v.swizzle == sizes.at("swizzle") && v.inner == sizes.at("inner")) return v;
  std::string known;
  for (const Variant& v : variants)
    known += (known.empty() ? "" : ", ") + std::to_string(v.swizzle) + "/" + std::to_string(v.inner);
  throw diag::InputError("--swizzle " + std::to_string(sizes.at("swizzle")) + " --inner " +
                         std::to_string(sizes.at("inner")) + ": not instantiated; swizzle/inner may be " + known);
}

}  // namespace

std::span<const SizeOption> copy_tma_options() { return options; }

Kernel copy_tma(Target target, const Sizes& sizes) {
  check_copy_tma(sizes);
  return chosen(sizes).build(target);
}

CopyTile copy_tma_tile(const Sizes& sizes) { return chosen(sizes).tile; }

}  // namespace kiln::kernels

// A block of 64 rows of a result on its way out of the registers of a warpgroup that multiplies.
#pragma once

#include "dsl/dsl.hpp"
#include "dsl/register_sums.hpp"

namespace kiln::kernels {

/// An MMA whose f32 sums stay in registers: two operands of one type.
constexpr dsl::MmaSpec register_mma(isa::MmaKind kind, isa::ScalarType operands, int m, int n) {
  dsl::MmaSpec spec;
  spec.form.kind = kind;
  spec.shape.a = spec.shape.b = operands;
  spec.shape.d = isa::ScalarType::f32;
  spec.shape.m = m, spec.shape.n = n;
  return spec;
}

/// Writes a block's values to a tile of 64 rows, of which each warp has 16, by stmatrix. `values(first, count)`: those
/// of this lane in `count` columns, of the tile's type.
template <class Tile, class Values>
void store_block(dsl::Warpgroup& g, const dsl::Shared<Tile>& to, const Values& values) {
  using T = typename Tile::element;
  using Block = dsl::Fragment<T, 16, 16>;
  static_assert(Tile::rows == isa::wgmma_m);
  const dsl::U32 of_warp = dsl::apply("and", dsl::apply("shr", g.row(), 1, dsl::nowhere), 0x30, dsl::nowhere);
  for (int i = 0; i < Tile::cols; i += Block::cols) {
    const dsl::AnyRegisters some = values(i, Block::cols);
    g.template stmatrix<Block>(to, of_warp, i, dsl::Registers<T, Block::elements>(some.recorder(), some.operands()));
  }
}

/// The same of sums, from column `first` on: rounded to the tile's 16 bits, or of 32 bits as they are.
template <class Tile>
void store_block(dsl::Warpgroup& g, const dsl::Shared<Tile>& to, dsl::RegisterSums& sums, int block, int first) {
  using T = typename Tile::element;
  static_assert(Tile::rows == isa::wgmma_m);
  if constexpr (T::bits == 32) sums.store(to.any(), block, first);
  else
    store_block(g, to, [&](int column, int count) {
      return converted(sums.columns(block, first + column, count), dsl::element_type<T>);
    });
}

}  // namespace kiln::kernels

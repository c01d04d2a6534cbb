// From tensor memory to a row-major matrix in global memory: what GEMM kernels end with.
#pragma once

#include "dsl/dsl.hpp"

namespace kiln::kernels {

/// The result matrix, row-major, and its extents.
template <class T>
struct Result {
  dsl::Pointer<T> elements;
  dsl::U32 m, n;
};

/// Sums as elements of the result: as they are, or rounded to 16 bits.
template <class To, class From, int N>
auto converted(const dsl::Registers<From, N>& sums) {
  if constexpr (std::is_same_v<To, From>) return sums;
  else return dsl::cvt<To>(sums);
}

/// Stores a 128-row block of sums, which belongs at (row, col) of the result: each thread its row, 8 columns at a time. What
/// lies outside the matrix is left out.
template <class To, class Sums, int N>
void store_rows(dsl::Warpgroup& g, const dsl::Tmem<Sums, 128, N>& sums, const Result<To>& d, const dsl::U32& row,
                const dsl::U32& col) {
  const dsl::U32 my_row = row + g.row();
  const dsl::U64 address = d.elements.at(multiply_wide(my_row, d.n) + widen(col));
  const dsl::U32 width = select(col < d.n, d.n - col, 0);
  const dsl::U32 left = select(my_row < d.m, width, 0);  // of this row, from `col` on
  for (int c = 0; c < N; c += 8)
    g.store_global(address, converted<To>(g.wait(g.load(sums.template columns<8>(c)))), left, c);
}

/// The role of warps 0 to 3: stores the CTA's rows of every tile of a schedule.
template <class Mma, class Tiles, int stages, class To>
void store_tiles(dsl::KernelBuilder& gemm, const Tiles& tiles, dsl::AccumulatorRing<stages, Mma>& acc, const Result<To>& d) {
  const dsl::U32 rank = gemm.pair_rank();
  gemm.role("store", dsl::warpgroup<0>, [&](dsl::Warpgroup& g) {
    g.loop(tiles, [&](dsl::TilePlace tile) {
      auto sums = acc.wait(g);
      store_rows(g, sums.sums, d, tile.row * Mma::M + rank * Mma::a_rows, tile.column * Mma::N);
      acc.release(g, sums);
    });
  });
}

}  // namespace kiln::kernels

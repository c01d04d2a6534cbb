// From tensor memory to a row-major matrix in global memory: what GEMM kernels end with.
#pragma once

#include "kernels/gemm.hpp"

namespace kiln::kernels {

/// The result matrix, row-major, and its extents.
template <class T>
struct Result {
  dsl::Pointer<T> elements;
  dsl::U32 m, n;

  /// The one that so many matrices lie before.
  Result matrix(const dsl::U32& number) const {
    const dsl::U64 start = elements.at(multiply_wide(number, m) * widen(n));
    return {{start.recorder(), start.operand()}, m, n};
  }
};

/// Sums as elements of the result: as they are, or rounded to 16 bits.
template <class To, class From, int N>
auto converted(const dsl::Registers<From, N>& sums) {
  if constexpr (std::is_same_v<To, From>) return sums;
  else return dsl::cvt<To>(sums);
}

/// A thread's row of a block: which element of the matrix it begins with, at which column, and how many are left from
/// there.
struct RowPlace {
  dsl::U64 index;
  dsl::U32 col, left;
};

/// D = A * B^T, the least of epilogues. An epilogue says what parameters it adds, and in three steps, of which each is
/// given what the one before could not know, what becomes of 8 sums: once in the role, for a row, at a column of it.
struct Plain {
  static constexpr auto parameter_list() { return dsl::parameters(); }
  template <class Given>
  static auto device(const Given&) {
    return [](dsl::Warpgroup&) {
      return [](const RowPlace&) { return [](dsl::Warpgroup&, const auto& sums, int) { return sums; }; };
    };
  }
  /// Adds its buffers and what they mean to a contract.
  static void describe(launch::Contract&, const GemmSizes&) {}
  /// Calls `launch` with the arguments of its parameters.
  template <class Launch>
  static void arguments(Launch launch) { launch(); }
};

/// How many elements of a row of the result there are from `col` on: none where there is no such row.
template <class To>
dsl::U32 left_in_row(const Result<To>& d, const dsl::U32& row, const dsl::U32& col) {
  const dsl::U32 width = select(col < d.n, d.n - col, 0);
  return select(row < d.m, width, 0);
}

/// Stores a 128-row block of sums, which belongs at (row, col) of the result: each thread its row, 8 columns at a time.
/// What lies outside the matrix is left out. `finish`: an epilogue's second step.
template <class To, class Sums, int N, class Finish>
void store_rows(dsl::Warpgroup& g, const dsl::Tmem<Sums, 128, N>& sums, const Result<To>& d, const dsl::U32& row,
                const dsl::U32& col, const Finish& finish) {
  const dsl::U32 my_row = row + g.row();
  const dsl::U64 index = multiply_wide(my_row, d.n) + widen(col), address = d.elements.at(index);
  const dsl::U32 left = left_in_row(d, my_row, col);
  const auto finished = finish(RowPlace{index, col, left});
  for (int c = 0; c < N; c += 8)
    g.store_global(address, converted<To>(finished(g, g.wait(g.load(sums.template columns<8>(c))), c)), left, c);
}
/// The same of the sums as they are.
template <class To, class Sums, int N>
void store_rows(dsl::Warpgroup& g, const dsl::Tmem<Sums, 128, N>& sums, const Result<To>& d, const dsl::U32& row,
                const dsl::U32& col) {
  store_rows(g, sums, d, row, col, Plain::device(0)(g));
}

/// Where a tile belongs: its matrix, and which row of tiles of that it stands in.
template <class T>
struct MatrixTile {
  Result<T> matrix;
  dsl::U32 row;
};

/// The role of warps 0 to 3: stores the CTA's rows of every tile of a schedule. `epilogue`: the first step of one;
/// `locate` makes a MatrixTile of a TilePlace.
template <class Mma, class Tiles, int stages, class Epilogue, class Locate>
void store_tiles(dsl::KernelBuilder& gemm, const Tiles& tiles, dsl::AccumulatorRing<stages, Mma>& acc,
                 const Epilogue& epilogue, const Locate& locate) {
  const dsl::U32 rank = gemm.pair_rank();
  gemm.role("store", dsl::warpgroup<0>, [&](dsl::Warpgroup& g) {
    const auto finish = epilogue(g);
    g.loop(tiles, [&](dsl::TilePlace tile) {
      const auto place = locate(tile);
      auto sums = acc.wait(g);
      store_rows(g, sums.sums, place.matrix, place.row * Mma::M + rank * Mma::a_rows, tile.column * Mma::N, finish);
      acc.release(g, sums);
    });
  });
}

/// The same of one matrix.
template <class Mma, class Tiles, int stages, class To, class Epilogue>
void store_tiles(dsl::KernelBuilder& gemm, const Tiles& tiles, dsl::AccumulatorRing<stages, Mma>& acc,
                 const Result<To>& d, const Epilogue& epilogue) {
  store_tiles(gemm, tiles, acc, epilogue, [&](const dsl::TilePlace& tile) { return MatrixTile<To>{d, tile.row}; });
}
/// The same, with the sums stored as they are.
template <class Mma, class Tiles, int stages, class To>
void store_tiles(dsl::KernelBuilder& gemm, const Tiles& tiles, dsl::AccumulatorRing<stages, Mma>& acc,
                 const Result<To>& d) {
  store_tiles(gemm, tiles, acc, d, Plain::device(0));
}

}  // namespace kiln::kernels

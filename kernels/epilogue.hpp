// From tensor memory to a row-major matrix in global memory: what GEMM kernels end with.
#pragma once

#include <functional>

#include "kernels/gemm.hpp"

namespace kiln::kernels {

/// The result matrix, row-major, and its extents.
struct Result {
  dsl::AnyPointer elements;
  dsl::U32 m, n;

  Result(dsl::AnyPointer elements, dsl::U32 m, dsl::U32 n)
      : elements(std::move(elements)), m(std::move(m)), n(std::move(n)) {}
  template <class T>
  Result(const dsl::Pointer<T>& elements, dsl::U32 m, dsl::U32 n)
      : Result(elements.any(), std::move(m), std::move(n)) {}

  /// The matrix that so many matrices of this size precede.
  Result matrix(const dsl::U32& number) const;
};

/// How many elements of a row of the result there are from `col` on: none where there is no such row.
dsl::U32 left_in_row(const Result& d, const dsl::U32& row, const dsl::U32& col);

/// A thread's row of a block of the result.
struct RowPlace {
  const Result& d;
  dsl::U32 row, col;  // of the block's first element in this row
  dsl::U64 index;     // of that element in the matrix
  dsl::U64 address;   // of that element
  dsl::U32 left;      // elements of the row from there on
};

/// Loads some columns of this thread's row of sums, from one on, and stores what becomes of them.
using StoreColumns = std::function<void(dsl::Warpgroup&, const dsl::AnyTmem& sums, int column)>;
/// What an epilogue does once for each row.
using RowStep = std::function<StoreColumns(const RowPlace&)>;
/// What an epilogue does once in the role that stores.
using RoleStep = std::function<RowStep(dsl::Warpgroup&)>;

/// What becomes of the sums of a GEMM. Its objects are constants.
class Epilogue {
 public:
  /// Columns that are stored at a time where a strategy does not say it, and whether it may.
  constexpr virtual int width() const { return 8; }
  constexpr virtual bool is_fixed() const { return false; }
  /// Declares the epilogue's parameters and says what is to be done in the role that stores, for so many columns at a
  /// time.
  virtual RoleStep device(dsl::KernelBuilder&, int width) const = 0;
  /// Adds its buffers and what they mean to a contract.
  virtual void describe(launch::Contract&, const GemmSizes&) const {}
  /// The arguments of its parameters.
  virtual std::vector<dsl::NamedArgument> arguments() const { return {}; }

 protected:
  ~Epilogue() = default;
};

/// D = A * B^T.
class Plain final : public Epilogue {
 public:
  RoleStep device(dsl::KernelBuilder&, int width) const override;
};
inline constexpr Plain plain{};

/// Stores f32 or s32 sums of this thread's row of a block, which begin at a column of the whole.
using StoreSums = std::function<void(dsl::Warpgroup&, const dsl::AnyRegisters& sums, const dsl::U32& column)>;
/// As a row of the result, which has that number.
StoreSums into_row(const Result& d, const dsl::U32& row);
/// As a column of the result, which has that number: columns of the whole are rows of the result.
StoreSums into_column(const Result& d, const dsl::U32& column);

/// Stores a 128-row block of sums, which belongs at (row, col) of the result: each thread its row, `width` of `columns`
/// columns at a time. What lies outside the matrix is left out.
void store_rows(dsl::Warpgroup& g, const dsl::AnyTmem& sums, int columns, const Result& d, const dsl::U32& row,
                const dsl::U32& col, const RowStep& step, int width);
/// The same of the sums as they are.
void store_rows(dsl::Warpgroup& g, const dsl::AnyTmem& sums, const Result& d, const dsl::U32& row, const dsl::U32& col);
template <class Sums, int N>
void store_rows(dsl::Warpgroup& g, const dsl::Tmem<Sums, 128, N>& sums, const Result& d, const dsl::U32& row,
                const dsl::U32& col) {
  store_rows(g, sums.any(), d, row, col);
}

}  // namespace kiln::kernels

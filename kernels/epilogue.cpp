#include "kernels/epilogue.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;

Result Result::matrix(const U32& number) const {
  return {AnyPointer(elements.element(), elements.at(multiply_wide(number, m) * widen(n))), m, n};
}

U32 left_in_row(const Result& d, const U32& row, const U32& col) {
  const U32 width = select(col < d.n, d.n - col, 0);
  return select(row < d.m, width, 0);
}

namespace {

StoreColumns store_as_they_are(const RowPlace& row, int width) {
  return [row, width](Warpgroup& g, const AnyTmem& sums, int column) {
    const AnyRegisters loaded = g.wait(g.load(sums.columns(column, width)));
    g.store_global(row.address, converted(loaded, row.d.elements.element()), row.left, column);
  };
}

}  // namespace

RoleStep Plain::device(KernelBuilder&, int width) const {
  return [width](Warpgroup&) { return [width](const RowPlace& row) { return store_as_they_are(row, width); }; };
}

void store_rows(Warpgroup& g, const AnyTmem& sums, int columns, const Result& d, const U32& row, const U32& col,
                const RowStep& step, int width) {
  const U32 my_row = row + g.row();
  const U64 index = multiply_wide(my_row, d.n) + widen(col), address = d.elements.at(index);
  const U32 left = left_in_row(d, my_row, col);
  const StoreColumns store = step({d, my_row, col, index, address, left});
  for (int c = 0; c < columns; c += width) store(g, sums, c);
}

void store_rows(Warpgroup& g, const AnyTmem& sums, const Result& d, const U32& row, const U32& col) {
  const int width = plain.width();
  store_rows(
      g, sums, sums.count, d, row, col, [&](const RowPlace& place) { return store_as_they_are(place, width); }, width);
}

}  // namespace kiln::kernels

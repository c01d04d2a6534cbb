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

namespace {

AnyRegisters one_of(const AnyRegisters& registers, int i) {
  return {registers.recorder(), registers.element(), {registers.operands()[std::size_t(i)]}, LdState::ready};
}

}  // namespace

StoreSums into_row(const Result& d, const U32& row) {
  return [d, row](Warpgroup& g, const AnyRegisters& sums, const U32& column) {
    const AnyRegisters values = converted(sums, d.elements.element());
    const U64 to = d.elements.at(multiply_wide(row, d.n) + widen(column));
    const U32 left = left_in_row(d, row, column);
    constexpr int vector_words = 4, word_bits = 32;
    const auto& words = values.operands();
    if (words.size() % vector_words == 0) return g.store_global(to, values, left);
    const int in_word = word_bits / values.element().bits;
    for (int i = 0; i < int(words.size()); ++i) g.store_one(to, one_of(values, i), left >= (i + 1) * in_word, i);
  };
}

namespace {

void store_element(Warpgroup& g, const U64& address, const F32& sum, ElementType as, const Pred& there) {
  switch (as.scalar) {
    case ScalarType::bf16: return g.st_global<bf16>(address, sum, there);
    case ScalarType::f16: return g.st_global<f16>(address, sum, there);
    default: return g.st_global<f32>(address, sum, there);
  }
}

}  // namespace

// Threads of a warp have columns that follow one another.
StoreSums into_column(const Result& d, const U32& column) {
  return [d, column](Warpgroup& g, const AnyRegisters& sums, const U32& row) {
    const U32 rows = select(column < d.n, d.m, 0);
    const U64 first = d.elements.at(multiply_wide(row, d.n) + widen(column));
    const U64 pitch = widen(d.n) * (d.elements.element().bits / 8);
    const bool are_integers = d.elements.element().scalar == ScalarType::s32;
    for (int i = 0; i < sums.count(); ++i) {
      const U64 to = first + pitch * i;
      if (are_integers)
        g.store_one(to, one_of(sums, i), row + i < rows, 0);
      else
        store_element(g, to, sums.f32(i), d.elements.element(), row + i < rows);
    }
  };
}

void store_rows(Warpgroup& g, const AnyTmem& sums, const Result& d, const U32& row, const U32& col) {
  const int width = plain.width();
  store_rows(
      g, sums, sums.count, d, row, col, [&](const RowPlace& place) { return store_as_they_are(place, width); }, width);
}

}  // namespace kiln::kernels

#include "dsl/schedule.hpp"

namespace kiln::dsl {

namespace {

// number = quotient * by + rest.
struct Quotient {
  U32 quotient, rest;
};
Quotient divided(const U32& number, const U32& by, Here at) {
  const U32 quotient = apply("div", number, by, at);
  return {quotient, apply("sub", number, apply("mul.lo", quotient, by, at), at)};
}

}  // namespace

StaticTiles StaticTiles::turn(int role, int of, Here at) const {
  const U32 left = apply("div", apply("add", trips, of - 1 - role, at), of, at);
  const U32 from = apply("add", first, apply("mul.lo", step, role, at), at);
  return {rows, columns, from, apply("mul.lo", step, of, at), left, rows_together};
}

TilePlace StaticTiles::place(const U32& number, Here at) const {
  if (rows_together == 0) {
    const auto [column, row] = divided(number, rows, at);
    return {row, column};
  }
  const auto [band, within] = divided(number, apply("mul.lo", columns, rows_together, at), at);
  const U32 first_row = apply("mul.lo", band, rows_together, at), left = apply("sub", rows, first_row, at);
  // The last band may have fewer rows.
  const auto [column, row] = divided(within, apply("min", left, rows_together, at), at);
  return {apply("add", first_row, row, at), column};
}

}  // namespace kiln::dsl

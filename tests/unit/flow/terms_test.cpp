#include "ptx/flow/terms.hpp"

#include <doctest/doctest.h>

using namespace kiln::flow;

TEST_CASE("equal sums are one term, however they were added up") {
  Terms t;
  const TermId x = t.atom(1, {}, 32), y = t.atom(2, {}, 32);
  const TermId five = t.constant(5, 32);
  CHECK(t.add(t.add(x, y), five) == t.add(t.add(five, y), x));
  CHECK(t.subtract(t.add(x, y), y) == x);
  CHECK(t.add(x, x) == t.scale(x, 2));
  CHECK(t.subtract(x, x) == t.constant(0, 32));
  CHECK(t.add(x, y) != x);
}

TEST_CASE("sums are taken modulo their width") {
  Terms t;
  const TermId x = t.atom(1, {}, 32);
  CHECK(t.scale(x, std::uint64_t{1} << 32) == t.constant(0, 32));
  CHECK(t.value(t.add(t.constant(0xFFFFFFFF, 32), t.constant(1, 32))) == 0u);
  CHECK(t.value(t.subtract(t.constant(0, 64), t.constant(1, 64))) == ~std::uint64_t{0});
  const TermId wide = t.atom(3, {}, 64);
  CHECK(t.truncate(t.scale(wide, std::uint64_t{1} << 32), 32) == t.constant(0, 32));
}

TEST_CASE("an atom is its name and what it was made from") {
  Terms t;
  const TermId x = t.atom(1, {}, 32), y = t.atom(2, {}, 32);
  const TermId of_x[] = {x}, of_y[] = {y};
  CHECK(t.atom(7, of_x, 32) == t.atom(7, of_x, 32));
  CHECK(t.atom(7, of_x, 32) != t.atom(7, of_y, 32));
  CHECK(t.atom(7, of_x, 32) != t.atom(8, of_x, 32));
  CHECK(t.atom(7, of_x, 32) != t.atom(7, of_x, 64));
  REQUIRE(t.atom_of(t.atom(7, of_x, 32)));
  CHECK(t.atom_of(t.atom(7, of_x, 32))->operands.front() == x);
  CHECK_FALSE(t.atom_of(t.add(x, y)));
}

TEST_CASE("two terms may differ by a number, which is signed") {
  Terms t;
  const TermId x = t.atom(1, {}, 32), y = t.atom(2, {}, 32);
  const TermId next = t.add(x, t.constant(3, 32));
  CHECK(t.difference(next, x) == 3);
  CHECK(t.difference(x, next) == -3);
  CHECK_FALSE(t.difference(x, y));
}

TEST_CASE("known bits of a sum follow from those of its atoms") {
  Terms t;
  const Bits aligned{low_mask(3) | ~low_mask(8), 0};  // a multiple of 8 below 256
  const TermId x = t.atom(1, {}, 32, aligned);
  CHECK(t.bits(x) == aligned);
  CHECK(t.bits(t.add(x, t.constant(5, 32))).knows(7));
  CHECK((t.bits(t.add(x, t.constant(5, 32))).one & 7) == 5);
  CHECK(t.bits(t.scale(x, 4)).trailing_zeros() == 5);
  CHECK(t.bits(t.constant(12, 32)).value() == 12u);
}

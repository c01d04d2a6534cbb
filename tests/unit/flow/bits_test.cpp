#include <doctest/doctest.h>

#include <vector>

#include "ptx/flow/bits.hpp"

using namespace kiln::flow;

namespace {

// Every partly known 4-bit value.
std::vector<Bits> all() {
  std::vector<Bits> out;
  for (std::uint64_t zero = 0; zero < 16; ++zero)
    for (std::uint64_t one = 0; one < 16; ++one)
      if ((zero & one) == 0) out.push_back({zero | ~std::uint64_t{15}, one});
  return out;
}

std::vector<std::uint64_t> values(Bits b) {
  std::vector<std::uint64_t> out;
  for (std::uint64_t v = 0; v < 16; ++v)
    if ((v & b.zero) == 0 && (v & b.one) == b.one) out.push_back(v);
  return out;
}

bool allows(Bits b, std::uint64_t v) { return (v & b.zero) == 0 && (v & b.one) == b.one; }

// `f` on bits must allow whatever `g` makes of the values.
template <class F, class G>
bool sound(F f, G g) {
  for (Bits a : all())
    for (Bits b : all()) {
      const Bits r = f(a, b);
      for (std::uint64_t x : values(a))
        for (std::uint64_t y : values(b))
          if (!allows(r, g(x, y))) return false;
    }
  return true;
}

}  // namespace

TEST_CASE("arithmetic on bits never contradicts arithmetic on values") {
  CHECK(sound([](Bits a, Bits b) { return a & b; }, [](auto x, auto y) { return x & y; }));
  CHECK(sound([](Bits a, Bits b) { return a | b; }, [](auto x, auto y) { return x | y; }));
  CHECK(sound([](Bits a, Bits b) { return a ^ b; }, [](auto x, auto y) { return x ^ y; }));
  CHECK(sound([](Bits a, Bits b) { return add(a, b); }, [](auto x, auto y) { return x + y; }));
  CHECK(sound([](Bits a, Bits b) { return subtract(a, b); }, [](auto x, auto y) { return x - y; }));
  CHECK(sound([](Bits a, Bits b) { return multiply(a, b); }, [](auto x, auto y) { return x * y; }));
  CHECK(sound([](Bits a, Bits b) { return join(a, b); }, [](auto x, auto) { return x; }));
  for (unsigned table = 0; table < 256; table += 7)
    CHECK(sound([=](Bits a, Bits b) { return truncate(lookup(a, b, a, table), 4); },
                [=](auto x, auto y) {
                  std::uint64_t r = 0;
                  for (int i = 0; i < 4; ++i) r |= (table >> ((x >> i & 1) * 5 + (y >> i & 1) * 2) & 1ull) << i;
                  return r;
                }));
}

TEST_CASE("shifts and widths are exact") {
  for (Bits a : all())
    for (std::uint64_t x : values(a))
      for (int n : {0, 1, 3, 63, 64}) {
        CHECK(allows(shift_left(a, n), n == 64 ? 0 : x << n));
        CHECK(allows(shift_right(a, n), n == 64 ? 0 : x >> n));
        CHECK(allows(sign_extend(a, 4), x & 8 ? x | ~15ull : x));
      }
  CHECK(shift_left(Bits::unknown(), 4).trailing_zeros() == 4);
  CHECK(at_most(191) == Bits::unknown(8));
}

TEST_CASE("a product with a power of two is a shift") {
  CHECK(multiply(at_most(127), Bits::constant(8)).largest() == 1016);
  CHECK(multiply(Bits::constant(16), at_most(127)).largest() == 2032);
}

TEST_CASE("known operands give known results") {
  const Bits a = Bits::constant(12), b = Bits::constant(5);
  CHECK(add(a, b).value() == 17);
  CHECK(subtract(b, a).value() == std::uint64_t(-7));
  CHECK(multiply(a, b).value() == 60);
  CHECK((a ^ b).value() == 9);
  CHECK(lookup(a, b, a, 0x96).value() == (12 ^ 5 ^ 12));
  CHECK(join(Bits::nothing(), a) == a);
  CHECK_FALSE(Bits::nothing().value());
}

#include "harness/problem/random.hpp"

#include <cmath>

namespace kiln::harness {

double drawn_number(const launch::Init& init, const RandomStream& random, std::uint64_t index) {
  if (init.kind == launch::Init::Kind::normal) return init.high * random.normal(index);
  // fma: compilers may contract the plain expression on some machines and not on others
  if (init.kind == launch::Init::Kind::uniform) return std::fma(init.high - init.low, random.unit(index), init.low);
  const auto low = std::int64_t(init.low), high = std::int64_t(init.high);
  const std::uint64_t range = std::uint64_t(high) - std::uint64_t(low) + 1;
  return double(std::int64_t(std::uint64_t(low) + random.below(index, range)));
}

}  // namespace kiln::harness

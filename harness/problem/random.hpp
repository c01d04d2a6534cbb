// Random numbers that are the same on every machine: a counter and a hash, integers only. The distributions of <random>
// differ between standard libraries, and logarithms and cosines between mathematical ones.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "launch/contract.hpp"

namespace kiln::harness {

/// A stream of numbers addressed by index; streams of different names or seeds have nothing in common.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::string_view name) : key_(mix(seed + golden)) {
    for (char c : name) key_ = mix(key_ ^ std::uint64_t(static_cast<unsigned char>(c)));
  }

  /// 64 uniformly distributed bits.
  std::uint64_t word(std::uint64_t index) const { return mix(key_ + (index + 1) * golden); }

  /// A multiple of 2^-53 in [0, 1).
  double unit(std::uint64_t index) const { return double(word(index) >> 11) * 0x1p-53; }

  /// A whole number in [low, low + range); range 0 means all 2^64.
  std::uint64_t below(std::uint64_t index, std::uint64_t range) const {
    const std::uint64_t w = word(index);
    return range == 0 ? w : std::uint64_t((static_cast<unsigned __int128>(w) * range) >> 64);
  }

  /// Nearly normal with mean 0 and standard deviation 1: the sum of twelve uniform 16-bit numbers, so within +-6 and a
  /// multiple of 2^-16 exactly.
  double normal(std::uint64_t index) const {
    std::int64_t sum = 0;
    for (std::uint64_t part = 0; part < 3; ++part) {
      const std::uint64_t w = word(3 * index + part);
      sum += std::int64_t((w & 0xFFFF) + (w >> 16 & 0xFFFF) + (w >> 32 & 0xFFFF) + (w >> 48));
    }
    return double(sum - (6 * 65536 - 6)) * 0x1p-16;
  }

 private:
  static constexpr std::uint64_t golden = 0x9E3779B97F4A7C15;

  // The finaliser of splitmix64.
  static constexpr std::uint64_t mix(std::uint64_t x) {
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
    x = (x ^ x >> 27) * 0x94D049BB133111EB;
    return x ^ x >> 31;
  }

  std::uint64_t key_;
};

/// Number `index` of those that an init of kind normal, uniform or integers draws.
inline double drawn_number(const launch::Init& init, const RandomStream& random, std::uint64_t index) {
  if (init.kind == launch::Init::Kind::normal) return init.high * random.normal(index);
  // fma: compilers may contract the plain expression on some machines and not on others
  if (init.kind == launch::Init::Kind::uniform) return std::fma(init.high - init.low, random.unit(index), init.low);
  const auto low = std::int64_t(init.low), high = std::int64_t(init.high);
  const std::uint64_t range = std::uint64_t(high) - std::uint64_t(low) + 1;
  return double(std::int64_t(std::uint64_t(low) + random.below(index, range)));
}

}  // namespace kiln::harness

// The only source of chance in the simulator: one small generator per cluster, seeded from the run's seed and the
// cluster's index, so that a cluster's schedule does not depend on which others ran before it.
#pragma once

#include <cstdint>

namespace kiln::sim {

/// splitmix64.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9E3779B97F4A7C15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  /// A number in [0, n); n > 0. The bias of the multiplication is far below anything a schedule could notice.
  std::uint32_t below(std::uint32_t n) { return std::uint32_t((next() >> 32) * n >> 32); }

 private:
  std::uint64_t state_;
};

/// A number made of two, as good as a random one.
inline std::uint64_t mix(std::uint64_t a, std::uint64_t b) { return Random(a ^ Random(b).next()).next(); }

}  // namespace kiln::sim

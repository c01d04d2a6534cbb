// The first-level cache of an SM: lines of 128 bytes that come by sectors, the least recently used of which go first.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "timing/wavefronts.hpp"

namespace kiln::timing {

/// What the cache has of a warp's load.
struct Cached {
  std::uint32_t missing = 0;  // sectors
  double there = 0;           // when the last of the others is there: it may be on its way
};

class L1Cache {
 public:
  /// `bytes`: what shared memory leaves of the SM's memory.
  explicit L1Cache(std::uint64_t bytes) : most_(std::size_t(bytes / line_bytes)) {}

  Cached find(const std::vector<Touch>&);
  /// The sectors that were missing come at that time.
  void fill(const std::vector<Touch>&, double time);
  /// What an acquire does: other threads' stores are visible after it.
  void forget();

 private:
  struct Line {
    std::uint64_t number = 0;
    std::uint8_t sectors = 0;  // those that are there, or come
    std::array<double, sectors_of_line> there{};
  };
  using Place = std::list<Line>::iterator;

  std::size_t most_;
  std::list<Line> lines_{};  // the most recently used first
  std::unordered_map<std::uint64_t, Place> places_{};
};

}  // namespace kiln::timing

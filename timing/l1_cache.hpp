// The first-level cache of an SM: lines of 128 bytes that come by sectors, the least recently used of which go first.
#pragma once

#include <cstdint>
#include <list>
#include <unordered_map>
#include <vector>

#include "timing/wavefronts.hpp"

namespace kiln::timing {

class L1Cache {
 public:
  /// `bytes`: what shared memory leaves of the SM's memory.
  explicit L1Cache(std::uint64_t bytes) : most_(std::size_t(bytes / line_bytes)) {}

  /// A warp's load. How many of its sectors were not there; now they are.
  std::uint32_t missing(const std::vector<Touch>&);
  /// What an acquire does: other threads' stores are visible after it.
  void forget();

 private:
  struct Line {
    std::uint64_t number = 0;
    std::uint8_t sectors = 0;  // those that are there
  };
  std::size_t most_;
  std::list<Line> lines_{};  // the most recently used first
  std::unordered_map<std::uint64_t, std::list<Line>::iterator> places_{};
};

}  // namespace kiln::timing

// The critical path of a cluster: what its time is made of, backwards from its last instruction. A wait is charged to
// what ended it: the tensor core, a copy, or the warp that arrived, whose own time comes before. So each cycle is
// charged once, and the parts add up to the whole.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "timing/account.hpp"

namespace kiln::timing {

/// What ended a wait. `since`: a copy was issued then, or the tensor core has been busy since then; the warp issued it.
struct Release {
  enum class Kind : std::uint8_t { unknown, warp, copy, tensor_core };
  Kind kind = Kind::unknown;
  std::uint32_t warp = 0;  // of the cluster
  double since = 0, at = 0;
};

/// Cycles of the path: "tensor core", "copies", "store: tensor memory".
struct PathPart {
  std::string what{};
  double cycles = 0;
};

class CriticalPath {
 public:
  explicit CriticalPath(std::size_t warps) : warps_(warps) {}

  /// Cycles of a warp's own: it waited for a result of its own, or for a unit.
  void own(std::uint32_t warp, Stall, double cycles);
  /// A wait of a warp for something else, from `begin` to `end`.
  void wait(std::uint32_t warp, const std::string& role, double begin, double end, const Release&);
  /// The warp's last instruction. The latest one ends the cluster.
  void exit(std::uint32_t warp, const std::string& role, double at);

  /// The longest part first.
  std::vector<PathPart> parts() const;

 private:
  using Sums = std::array<float, stall_count>;
  // A stretch of a warp between two waits.
  struct Stretch {
    double begin = 0, end = 0;
    Release release{};     // ended the wait before it; that wait began with the stretch before
    double waited_at = 0;  // when that wait began
    std::string role{};    // in which it began
    Sums own{};
  };
  struct Warp {
    std::vector<Stretch> past{};
    Stretch now{};
  };
  class Walk;

  std::vector<Warp> warps_;
  std::uint32_t last_ = 0;  // the warp that ended last
  double end_ = 0;
};

}  // namespace kiln::timing

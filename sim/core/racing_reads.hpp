// Loads that race with a write. A second run of the same schedule tells whether what they load matters: there it is
// poison.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>

#include "sim/core/lanes.hpp"

namespace kiln::sim {

class RacingReads {
 public:
  /// Some load: its launch, its operation's index in the code, its CTA in the grid and its warp in the CTA.
  using Load = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;

  void add(const Load& load, Mask lanes) { lanes_[load] |= lanes; }
  Mask lanes(const Load& load) const {
    const auto found = lanes_.find(load);
    return found == lanes_.end() ? 0 : found->second;
  }
  bool empty() const { return lanes_.empty(); }

  /// Poison has decided something or has left the kernel.
  void note_use() { is_used_ = true; }
  bool is_used() const { return is_used_; }

 private:
  std::map<Load, Mask> lanes_{};
  bool is_used_ = false;
};

}  // namespace kiln::sim

// Grids that follow one another by programmatic dependent launches: whether the ones before the prior grid are over.
#pragma once

#include <cstdint>
#include <unordered_set>

namespace kiln::sim {

/// When the CTAs of a grid let the next one begin. That may then run beside the grids before this one, unless each CTA
/// knew that they were over. Measured on an H100: tests/gpu/chain_of_grids.cu. PTX ISA "griddepcontrol".
class GridChain {
 public:
  void start_launch() { has_waited_.clear(), has_begun_.clear(), is_early_ = false; }
  /// A thread of the CTA executes griddepcontrol.wait.
  void wait(std::uint32_t cta) { has_waited_.insert(cta); }
  /// A thread of the CTA executes griddepcontrol.launch_dependents; it `knows` that the prior grid is over, or does
  /// not.
  void begin(std::uint32_t cta, bool knows) {
    if (has_begun_.insert(cta).second && !knows) is_early_ = true;
  }
  /// The CTA exits, which lets the next grid begin too.
  void exit(std::uint32_t cta) { begin(cta, has_waited_.contains(cta)); }
  /// The next grid may begin while those before this one still run.
  bool is_early() const { return is_early_; }

 private:
  std::unordered_set<std::uint32_t> has_waited_{}, has_begun_{};  // CTAs, by their index in the grid
  bool is_early_ = false;
};

}  // namespace kiln::sim

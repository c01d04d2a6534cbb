// Loads and stores of warps under the clock: turns of shared memory, lines of global memory, and what the first-level
// cache has or lets go to L2. It owns what the lanes of the instruction that is being issued have touched, and occupies
// the servers of the SM that issues it.
#pragma once

#include <cstdint>
#include <vector>

#include "timing/buffers.hpp"
#include "timing/chip.hpp"
#include "timing/cost.hpp"
#include "timing/sm.hpp"

namespace kiln::timing {

class Accesses {
 public:
  /// Chip, share and buffers must outlive the accesses.
  Accesses(const Chip& chip, const Share& share, Buffers& buffers) : chip_(chip), share_(share), buffers_(buffers) {}

  /// An instruction is issued.
  void issue() { touched_.clear(); }
  void touch(std::uint64_t address, std::uint32_t bytes) { touched_.push_back({address, bytes}); }
  /// Bytes that the lanes touched, each time that they did.
  double bytes() const;

  /// The lanes load from shared memory; when they have that, but for the latency. `begins`: when the address is there.
  double load_shared(Sm&, double now, double begins);
  /// They store there; when the warp goes on.
  double store_shared(Sm&, double now);
  /// They load from global memory; when they have it.
  double load_global(Sm&, const Cost&, double now, double begins);
  /// They store there; when the warp goes on.
  double store_global(Sm&, double now);

 private:
  double shared_cycles(Sm&, double now);

  const Chip& chip_;
  const Share& share_;
  Buffers& buffers_;
  std::vector<Touch> touched_{};  // in the order of the lanes
};

}  // namespace kiln::timing

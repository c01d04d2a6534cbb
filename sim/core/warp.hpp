// A warp: 32 threads that share registers' storage and, while they agree, a program counter.
//
// Threads may diverge freely. Lanes at one place form a fragment. Fragments run one at a time, the one with the lowest
// place first, and merge when they meet. An instruction that needs its whole warp (.sync, .aligned) waits for the lanes
// that are not there yet, so it works in every order of fragments, and a spinning lane never blocks the others.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/core/lanes.hpp"
#include "sim/core/poison.hpp"
#include "sim/core/program.hpp"
#include "sim/core/random.hpp"

namespace kiln::sim {

/// What a blocked fragment waits for; what the deadlock report prints.
enum class WaitKind : std::uint8_t {
  none,
  convergence,
  warp_barrier,
  barrier,
  cluster_barrier,
  mbarrier,
  bulk_group,
  tmem_columns,
  tensor_ops,
  wgmma_group
};

struct Wait {
  WaitKind kind = WaitKind::none;
  std::uint32_t cta_rank = 0;  // owner of the mbarrier
  std::uint64_t address = 0;   // mbarrier offset; barrier number; columns wanted
  std::uint64_t phase = 0;     // phase that must complete
  Mask lanes = 0;              // convergence: lanes that are missing
};

/// What a fragment has read from memory that others may change, since anything last changed.
struct Poll {
  std::uint32_t count = 0;
  std::uint32_t pc = 0;        // of the latest
  std::uint64_t activity = 0;  // Cluster::activity() that the count goes with
  std::uint64_t address = 0, value = 0;
  bool global = false;  // in global memory
};

/// Lanes at one place.
struct Fragment {
  std::uint32_t pc = 0;
  Mask lanes = 0;
  bool blocked = false;
  bool arrived = false;   // has done the first half of its instruction (a barrier) and waits for the second
  bool released = false;  // another thread or unit let it pass
  bool expired = false;   // its wait timed out: try_wait may now answer false
  std::uint64_t token = 0;
  Wait wait{};
  Poll poll{};
};

class Warp {
 public:
  void start(const Program& program, std::uint32_t index, Mask lanes);

  std::uint32_t index = 0;     // in the CTA
  Mask live = 0;               // lanes that have not exited
  Mask carry = 0;              // CC.CF of each lane
  bool loads_pending = false;  // a tcgen05.ld has not been waited for; kept for observers
  std::array<std::uint64_t, warp_lanes>
      cluster_tokens{};      // of each lane, barrier.cluster generation of its last arrival
  Mask cluster_arrived = 0;  // lanes that have arrived there and have not waited since
  std::array<Fragment, warp_lanes> fragments{};
  int fragment_count = 0;
  std::byte* registers = nullptr;
  std::uint64_t asked = 0;                   // asynchronous operations, see Actor
  bool holds_registers = false;              // a wgmma of this warp is in flight, or no wait has covered it
  std::unique_ptr<RegisterPoison> poison{};  // null until the warp reads poison

  /// Lanes whose last arrival at the cluster's barrier was in this generation.
  Mask lanes_of_generation(std::uint64_t generation) const {
    return lanes_where(all_lanes, [&](int lane) { return cluster_tokens[std::size_t(lane)] == generation; });
  }
  bool done() const { return live == 0; }
  bool runnable() const;
  void wake(WaitKind kind);
  void wake_all();

  /// The runnable fragment with the lowest place, device functions before the kernel that called them; -1 when there is
  /// none.
  int lowest() const { return outermost(false); }
  /// The same with the highest place.
  int highest() const { return outermost(true); }
  /// A random runnable fragment; -1 when there is none.
  int any(Random& random) const;
  /// The fragment that holds a lane; -1 when the lane has left.
  int holding(int lane) const;
  /// A new fragment; the caller takes its lanes from another.
  Fragment& split(std::uint32_t pc, Mask lanes);
  /// Removes empty fragments and merges those that met. Returns where fragment `current` is now, -1 if it is gone.
  int tidy(int current);

 private:
  int outermost(bool highest) const;

  std::vector<std::uint64_t> file_;
  std::uint32_t kernel_end_ = 0;  // instructions from here on are device functions
};

}  // namespace kiln::sim

// mbarrier objects of one CTA: a state machine per 8-byte object in shared memory. PTX ISA "mbarrier".
//
// The table is the truth. The eight bytes in shared memory mirror it, because a kernel may read or copy them. If the
// mirror no longer agrees, a store has overwritten a live mbarrier.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include "ptx/ir/code.hpp"

namespace kiln::sim {

/// One object. Pending arrivals and pending transaction bytes are those of the current phase.
struct Mbarrier {
  std::uint64_t phase = 0;     // completed phases since init
  std::uint32_t expected = 0;  // arrivals per phase
  std::uint32_t pending = 0;   // arrivals that the current phase still needs
  std::int64_t tx = 0;         // bytes expected and not yet delivered
  std::int64_t announced = 0;  // bytes that the current phase was told to expect
  std::int64_t issued = 0;     // bytes of operations of the warp that told it
  bool is_v1 = false;          // .layout::v1

  /// The last arrival, and the instructions that have ever arrived: for the report of a deadlock.
  struct Arrival {
    const ir::Operation* operation = nullptr;
    std::uint64_t phase = 0;
    std::uint32_t cta = 0, warp = 0;  // index in the grid, in the CTA
    std::uint32_t lanes = 0;          // 0: an asynchronous operation
  };
  Arrival last{};
  Arrival made{};       // its initialisation
  Arrival announcer{};  // the last that told it to expect bytes
  std::vector<const ir::Operation*> arrivers{};

  void arrived(const Arrival& a) {
    last = a;
    if (std::find(arrivers.begin(), arrivers.end(), a.operation) == arrivers.end()) arrivers.push_back(a.operation);
  }

  /// The word that shared memory shows, and that arrive returns as the state: phase << 40 | pending << 20 | expected.
  std::uint64_t word() const {
    return phase << 40 | std::uint64_t(pending & 0xFFFFF) << 20 | std::uint64_t(expected & 0xFFFFF);
  }
};

/// Phase and pending count that a state word carries.
constexpr std::uint64_t phase_of_state(std::uint64_t state) { return state >> 40; }
constexpr std::uint32_t pending_of_state(std::uint64_t state) { return std::uint32_t(state >> 20 & 0xFFFFF); }

/// The mbarrier objects of a CTA by shared-memory offset. Every misuse faults with the rule's slug.
class MbarrierTable {
 public:
  void clear() { objects_.clear(); }

  /// Starts an object in phase 0 with `count` arrivals per phase; faults over one that lives.
  Mbarrier& init(std::uint32_t address, std::int64_t count);
  void invalidate(std::uint32_t address);
  /// The object at an address; faults when there is none.
  Mbarrier& at(std::uint32_t address);
  const Mbarrier* find(std::uint32_t address) const;

  /// `n` arrivals. `drop` also lowers the expected count of later phases. True when the phase completed.
  bool arrive(std::uint32_t address, std::int64_t n, bool drop = false, bool no_complete = false);
  /// More bytes to wait for in the current phase.
  void expect(std::uint32_t address, std::int64_t bytes);
  /// A warp (of a CTA, by its index in the grid) issues an operation that will deliver bytes. Faults if it has
  /// announced fewer to a phase that has all its arrivals. Bytes of other warps may be meant for the next phase.
  void issue(std::uint32_t address, std::int64_t bytes, std::uint32_t cta, std::uint32_t warp);
  /// Bytes delivered. True when the phase completed.
  bool complete(std::uint32_t address, std::int64_t bytes);

  /// Whether the phase with this parity has completed, as test_wait.parity answers.
  static bool completed(const Mbarrier& b, bool parity) { return (b.phase & 1) != std::uint64_t(parity); }

 private:
  static bool try_flip(Mbarrier& b);
  std::map<std::uint32_t, Mbarrier> objects_;
};

}  // namespace kiln::sim

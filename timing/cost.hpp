// What each instruction of a program costs the warp that issues it, worked out once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/core/program.hpp"
#include "timing/chip.hpp"

namespace kiln::timing {

/// What an instruction does to the clock beyond its issue.
enum class Does : std::uint8_t {
  plain,
  load_shared,
  store_shared,
  load_global,
  store_global,
  wait_mbarrier,
  meet,  // a barrier of the CTA, or the wait of the cluster's
  mma,
  tmem_copy,
  commit,
  wgmma,
  copy,  // bulk and tensor copies, either way
  tmem_load,
  tmem_store,
  wait_tmem_load,
  wait_tmem_store,
  fetch_map,  // prefetch.tensormap
  mma_sync,   // of a form whose rate is not known
  remote      // st.async and its like
};

struct Cost {
  Does does = Does::plain;
  bool multicast = false;
  bool is_cached = false;        // in L1
  bool acquires = false;         // from other CTAs, so L1 forgets
  bool releases = false;         // to other CTAs, so it waits for the warp's stores
  bool moves = false;            // ptxas chooses its place in the basic block
  bool orders = true;            // what stands before it has been issued before it
  float before = 0;              // cycles between the instructions before it and its effect
  float slots = 1;               // issue slots
  float special = 0;             // cycles of the scheduler's unit for ex2 and its like
  float product = 0;             // cycles of the scheduler's part of the tensor core, of mma.sync
  float latency = 0;             // from issue to the use of what it writes
  float after = 0;               // of a barrier: from the last arrival to the next instruction
  float jump = 0;                // of a branch that is taken: from its issue to what it leads to
  float past = 0;                // the same of the branch that ptxas makes of its guard, where some lane has none
  float beside_wgmma = 0;        // what it takes longer while the tensor core is busy
  std::uint16_t lane_bytes = 0;  // that each lane moves; of a tcgen05.cp all of it

  /// A load that ptxas puts before the stores to shared memory of its block that stand before it, and such a store.
  bool rises() const { return moves && does == Does::load_global; }
  bool lets_pass() const { return !moves && !orders && does == Does::store_shared; }
};

/// The costs of a program's operations, by their index, and the registers that they read and write.
class Costs {
 public:
  /// `threads`: of a CTA.
  Costs(const sim::Program&, const Chip&, std::uint32_t threads);

  const Cost& operator[](std::size_t operation) const { return costs_[operation]; }
  /// How much longer an instruction waits for arithmetic that computes its guard than for one that computes an operand.
  double guard_later() const { return guard_later_; }
  std::span<const ir::RegisterId> read(std::size_t operation) const { return of(reads_, operation); }
  std::span<const ir::RegisterId> written(std::size_t operation) const { return of(writes_, operation); }

 private:
  struct Registers {
    std::vector<std::uint32_t> first{};  // by operation, and one after the last
    std::vector<ir::RegisterId> ids{};
  };
  static std::span<const ir::RegisterId> of(const Registers& r, std::size_t operation) {
    return std::span(r.ids).subspan(r.first[operation], r.first[operation + 1] - r.first[operation]);
  }

  std::vector<Cost> costs_{};
  double guard_later_ = 0;
  Registers reads_{}, writes_{};
};

}  // namespace kiln::timing

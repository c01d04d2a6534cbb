// Execution: what threads of a warp or a barrier must agree on, and how a run may end.
#pragma once

#include <algorithm>
#include <bit>

#include "ptx/isa/launch_limits.hpp"
#include "ptx/isa/targets.hpp"
#include "ptx/rules/verdict.hpp"

namespace kiln::rules {

/// `progress`: a thread can go on, or an asynchronous operation is in flight.
constexpr Verdict deadlock(bool progress) { return progress ? legal : breaks(Rule::deadlock); }

/// `change`: a thread does something other than polling, or an asynchronous operation is in flight.
constexpr Verdict livelock(bool change) { return change ? legal : breaks(Rule::livelock); }

/// `knows`: the thread knows that the grid before is over.
constexpr Verdict pdl_wait(bool knows) { return knows ? legal : breaks(Rule::pdl_wait); }

/// `first`: no thread has let the next grid begin.
constexpr Verdict pdl_launch_early(bool first) { return first ? legal : breaks(Rule::pdl_launch_early); }

/// `overlaps`: the CTA has something left to do when it lets the next grid begin.
constexpr Verdict pdl_launch_late(bool overlaps) { return overlaps ? legal : breaks(Rule::pdl_launch_late); }

constexpr Verdict trap_reached() { return breaks(Rule::trap_reached); }

constexpr Verdict branch_index(std::uint64_t index, std::uint64_t targets) {
  if (index < targets) return legal;
  return breaks(Rule::branch_index, std::int64_t(index), std::int64_t(targets) - 1);
}

/// `lanes`: the threads that execute the instruction, a bit per thread of the warp.
constexpr Verdict warp_aligned(std::uint32_t lanes) {
  return lanes == 0xFFFFFFFF ? legal : breaks(Rule::warp_aligned, std::popcount(lanes), isa::threads_per_warp);
}

/// `own_word`: a branch condition before the .aligned instruction depends on words that the threads of a warp loaded
/// from different addresses.
constexpr Verdict warp_divergence(bool own_word) { return own_word ? breaks(Rule::warp_divergence) : legal; }

/// The value of one thread against that of the first.
constexpr Verdict warp_uniform(std::uint64_t value, std::uint64_t first) {
  return value == first ? legal : breaks(Rule::warp_uniform, std::int64_t(value), std::int64_t(first));
}

/// `lanes` execute an instruction with this member mask; the verdict carries the first that is not in it.
constexpr Verdict warp_member_mask(std::uint32_t mask, std::uint32_t lanes) {
  const std::uint32_t stray = lanes & ~mask;
  return stray == 0 ? legal : breaks(Rule::warp_member_mask, std::countr_zero(stray));
}

constexpr Verdict barrier_number(std::int64_t number) {
  if (number >= 0 && number < isa::named_barriers) return legal;
  return breaks(Rule::barrier_number, number, std::clamp<std::int64_t>(number, 0, isa::named_barriers - 1));
}

constexpr Verdict barrier_count(std::int64_t threads) {
  if (threads > 0 && threads % isa::threads_per_warp == 0) return legal;
  constexpr int step = isa::threads_per_warp;
  return breaks(Rule::barrier_count, threads, threads <= 0 ? step : (threads + step - 1) / step * step);
}

/// The thread count that a barrier waits for, and the threads that have arrived. A count of 0: all threads of the CTA.
struct BarrierArrivals {
  std::int64_t count = 0, arrived = 0;
};

/// Further arrivals of `threads` threads that give the thread count `count`.
constexpr Verdict barrier_mismatch(BarrierArrivals b, std::int64_t count, std::int64_t threads) {
  if (b.arrived != 0 && count != b.count) return breaks(Rule::barrier_mismatch, count, b.count);
  if (count != 0 && b.arrived + threads > count) return breaks(Rule::barrier_mismatch, b.arrived + threads, count);
  return legal;
}

/// An arrival at a barrier. `over`: the thread knows that all arrivals of the barrier's last use have come.
constexpr Verdict barrier_overrun(bool over) { return over ? legal : breaks(Rule::barrier_mismatch); }

/// An arrival at the cluster's barrier; `waited`: the thread has waited since its last one.
constexpr Verdict cluster_twice(bool waited) { return waited ? legal : breaks(Rule::cluster_twice); }

/// Registers a thread after setmaxnreg.
constexpr Verdict setmaxnreg_count(std::int64_t registers) {
  using namespace isa;
  const std::int64_t near =
      std::clamp<std::int64_t>(registers, setmaxnreg_lowest, setmaxnreg_highest) / setmaxnreg_step * setmaxnreg_step;
  return registers == near ? legal : breaks(Rule::setmaxnreg_count, registers, near);
}

/// `known`: ptxas knows how many registers a thread has at entry.
constexpr Verdict setmaxnreg_ignored(bool known) { return known ? legal : breaks(Rule::setmaxnreg_ignored); }

/// Registers of all threads: given by setmaxnreg, and at the CTA's entry.
constexpr Verdict setmaxnreg_budget(std::int64_t given, std::int64_t at_entry) {
  return given <= at_entry ? legal : breaks(Rule::setmaxnreg_budget, given, at_entry);
}

/// The registers of a CTA, in the units in which its warps get them: those at entry, and those that setmaxnreg leaves
/// the warps.
class RegisterBudget {
 public:
  /// `at_entry`: registers of a thread.
  constexpr RegisterBudget(int warps, std::int64_t at_entry) : each_(at_entry), at_entry_(of(warps, at_entry)) {}

  /// Warps that ask for so many registers a thread; 0: that keep those at entry. Warps that have exited have none.
  constexpr void give(int warps, std::int64_t asked) { given_ += of(warps, asked > 0 ? asked : each_); }

  constexpr Verdict verdict() const { return setmaxnreg_budget(given_, at_entry_); }

 private:
  static constexpr std::int64_t of(int warps, std::int64_t each) {
    return std::int64_t(isa::cta_registers(std::uint64_t(warps * isa::threads_per_warp), std::uint64_t(each)));
  }

  std::int64_t each_, at_entry_, given_ = 0;
};

/// Registers that two warps of a warpgroup ask for; 0 for a warp that does not ask.
constexpr Verdict setmaxnreg_warpgroup(std::int64_t a, std::int64_t b) {
  return a == b ? legal : breaks(Rule::setmaxnreg_warpgroup, a);
}

constexpr Verdict register_spills(std::uint64_t bytes) {
  return bytes == 0 ? legal : breaks(Rule::register_spills, std::int64_t(bytes));
}

/// Always worth knowing.
constexpr Verdict occupancy(std::uint32_t ctas) { return breaks(Rule::occupancy, ctas); }

constexpr Verdict cluster_rank(std::int64_t rank, std::int64_t ctas) {
  return rank >= 0 && rank < ctas ? legal : breaks(Rule::cluster_rank, rank, ctas - 1);
}

/// The CTA mask of a multicast: the highest rank in it counts.
constexpr Verdict cluster_mask(std::uint32_t mask, std::int64_t ctas) {
  return mask == 0 ? legal : cluster_rank(std::bit_width(mask) - 1, ctas);
}

/// cta_group::2 in a cluster of `ctas` CTAs.
constexpr Verdict cta_pair(std::int64_t ctas) {
  return ctas > 0 && ctas % 2 == 0 ? legal : breaks(Rule::cta_pair, ctas, ctas + 1);
}

/// An instruction for several CTAs. `declared`: the kernel says that it is launched in clusters.
constexpr Verdict cluster_undeclared(bool declared) { return declared ? legal : breaks(Rule::cluster_undeclared); }

/// An asynchronous write of a thread to shared memory of the cluster. `in_clusters`: the launch has clusters, as the
/// contract or the kernel says.
constexpr Verdict cluster_launch(bool in_clusters) { return in_clusters ? legal : breaks(Rule::cluster_launch); }

constexpr Verdict peer_exited(bool exited) { return exited ? breaks(Rule::peer_exited) : legal; }

}  // namespace kiln::rules

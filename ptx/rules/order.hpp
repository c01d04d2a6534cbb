// The order of accesses, as a run sees it: what must be known, or which fence must lie, between two accesses. sim/order
// works out what each thread knows.
#pragma once

#include "ptx/rules/verdict.hpp"

namespace kiln::rules {

/// Two accesses of threads to the same bytes; `known`: the second knows of the first.
constexpr Verdict race(bool known) { return known ? legal : breaks(Rule::race); }
/// The same, of a load; `used`: what it has loaded decides something or is stored.
constexpr Verdict race_unused(bool used) { return used ? legal : breaks(Rule::race_unused); }
/// The same, of two writes by one instruction; `same`: their f32 values are equal, not equal but for rounding. One of
/// the values stays, and either is a right sum.
constexpr Verdict race_rounding(bool same) { return same ? legal : breaks(Rule::race_rounding); }
/// The same, of two lanes of a warp, where one is made by an instruction that the whole warp executes. Today's hardware
/// makes the accesses of a warp in the order of its instructions, and no compiler turns them around: which lane gives
/// the address of what a warp-wide instruction touches is not known to it.
constexpr Verdict warp_order(bool known) { return known ? legal : breaks(Rule::warp_order); }
/// The first is asynchronous; `known`: the second knows of its completion.
constexpr Verdict race_async(bool known) { return known ? legal : breaks(Rule::race_async); }
/// Both are in tensor memory.
constexpr Verdict race_tmem(bool known) { return known ? legal : breaks(Rule::race_tmem); }
/// Accesses to tensor memory by different threads that today's hardware keeps in order.
constexpr Verdict tcgen05_fence(bool fenced) { return fenced ? legal : breaks(Rule::tcgen05_fence); }
/// tcgen05 operations of one thread; `listed`: PTX has the pair in its list.
constexpr Verdict tcgen05_pipeline(bool listed) { return listed ? legal : breaks(Rule::tcgen05_pipeline); }
/// A generic read before an asynchronous write.
constexpr Verdict proxy_fence_read(bool fenced) { return fenced ? legal : breaks(Rule::proxy_fence_read); }
/// A change of a tensor map before its use.
constexpr Verdict tensormap_fence(bool fenced) { return fenced ? legal : breaks(Rule::tensormap_fence); }
/// `changes`: without the fence, something is found wrong.
constexpr Verdict fence_needed(bool changes) { return changes ? legal : breaks(Rule::fence_redundant); }

/// A use of an mbarrier, and its mbarrier.init.
constexpr Verdict mbarrier_init_order(bool known) { return known ? legal : breaks(Rule::mbarrier_init_order); }
constexpr Verdict mbarrier_init_fence(bool published) { return published ? legal : breaks(Rule::mbarrier_init_fence); }
/// `phases` that have completed since a thread began to wait for the first of them.
constexpr Verdict mbarrier_lapped(std::int64_t phases) {
  return phases < 2 ? legal : breaks(Rule::mbarrier_lapped, phases, 1);
}
/// An arrival that releases; `reaches`: its scope covers the CTA of the mbarrier.
constexpr Verdict mbarrier_scope(bool reaches) { return reaches ? legal : breaks(Rule::mbarrier_scope); }
/// Two accesses that an mbarrier puts in order; `acquires`: the wait acquires from the threads that arrived.
constexpr Verdict mbarrier_wait_acquire(bool acquires) {
  return acquires ? legal : breaks(Rule::mbarrier_wait_acquire);
}
/// Memory of another CTA; `started`: that CTA is known to have started.
constexpr Verdict cluster_start(bool started) { return started ? legal : breaks(Rule::cluster_start); }
/// A CTA exits; `done`: it knows that the accesses to its memory are complete.
constexpr Verdict cta_exit(bool done) { return done ? legal : breaks(Rule::cta_exit); }
/// The same, for a bulk copy of its own. Hopper keeps the memory until the copy is done: tests/gpu/exit_behind_copy.cu.
constexpr Verdict cta_exit_copy(bool done) { return done ? legal : breaks(Rule::cta_exit_copy); }

/// An arrival on an mbarrier of the CTA by a thread whose later one is known to be over.
constexpr Verdict cta_exit_arrival(bool done) { return done ? legal : breaks(Rule::cta_exit_arrival); }
/// tcgen05 on both sides of a cluster barrier; `released`: the arrival hands the first one over.
constexpr Verdict cluster_relaxed(bool released) { return released ? legal : breaks(Rule::cluster_relaxed); }
/// An allocation for a pair. Both CTAs must execute it, and it blocks until both have.
constexpr Verdict alloc_peer(bool started) { return started ? legal : breaks(Rule::alloc_peer); }

/// Registers that a wgmma.mma_async holds; `waited`: its group was waited for.
constexpr Verdict wgmma_registers(bool waited) { return waited ? legal : breaks(Rule::wgmma_registers); }
/// A wgmma.mma_async; `fenced`: a wgmma.fence came after the latest other access to its registers.
constexpr Verdict wgmma_fence(bool fenced) { return fenced ? legal : breaks(Rule::wgmma_fence); }

}  // namespace kiln::rules

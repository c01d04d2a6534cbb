// barrier.cluster in a lowered kernel. The hardware's barrier counts every thread of the cluster, and the engine's have
// no time for it: the kernel's own threads are counted in a word of CTA 0 and wait at an mbarrier of their CTA; the
// hardware's barrier is left for the beginning, when mbarriers are made, and for the end: a CTA leaves when the others
// no longer reach its shared memory.
#pragma once

#include "lower/code.hpp"
#include "lower/plan/plan.hpp"
#include "ptx/ir/code.hpp"

namespace kiln::lower {

class ClusterBarrier {
 public:
  ClusterBarrier(Builder& b, const Plan& p) : b_(b), arrives_again_(p.arrives_again), phase_(b.reg(ScalarType::b32)) {}

  /// Declarations at the kernel's head, executed by all threads.
  void declare() const;
  /// By one thread: all of the kernel's own threads in the cluster are to come.
  void make(const Plan&) const;
  /// What barrier.cluster.arrive and barrier.cluster.wait become.
  void arrive(const ir::Operation&) const;
  void wait(const ir::Operation&) const;
  /// Before a thread of the kernel leaves: a barrier waits for it no more.
  void leave() const;

 private:
  void count_lanes(int each, bool whole_warp) const;
  Register wait_for_phase() const;
  void end_phase() const;
  template <class Write>
  void where_arrived(Write) const;

  Builder& b_;
  bool arrives_again_;
  Register phase_;  // in each thread: the parity of the phase to wait for, and 2 from an arrival to its wait
};

}  // namespace kiln::lower

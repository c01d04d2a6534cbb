// Barriers: bar.warp.sync, the named barriers of a CTA, the cluster's, and mbarriers.
//
// One order of steps stands for all as long as the phase of an mbarrier that every arrival and wait counts for is
// determined: each arrival in a phase knows that the phase before is complete, each wait knows that the phase before
// the one that it waits for is, and no phase completes before all threads that wait for the one before have seen it.
// All three are checked.
#pragma once

#include "verifier/explore/memory.hpp"

namespace kiln::verifier::explore {

class Barriers {
 public:
  Barriers(const Program& program, Findings& findings, Values& values, Memory& memory)
      : program_(program), findings_(findings), values_(values), memory_(memory) {}

  /// bar.sync and its kin, and barrier.cluster.
  Status execute(const Turn&);
  /// bar.warp.sync.
  Status execute_warp(const Turn&);
  /// Threads of a fragment exit: barriers of all threads do not wait for them any more, and end after all that they
  /// did.
  void depart(State&, std::uint32_t cta, Warp&, const Fragment&, Mask lanes);
  /// An instruction on an mbarrier.
  Status execute_mbarrier(Turn&);
  /// fence.mbarrier_init: publishes the initialisations that these threads have made.
  static void publish(const Turn&);

  Barrier& at(const Turn&, SharedPlace);
  /// A thread that uses an mbarrier must know of its initialisation; an asynchronous use needs it published.
  void check_init(const Turn&, const Barrier&, bool is_async);
  /// Arrivals from another CTA touch the mbarrier: the event of one, to be over when its phase is; 0 for the own CTA's.
  EventId note_use(const Turn&, SharedPlace, Mask lanes, bool is_async);
  /// Arrivals of threads that know this. Returns the end of the phase that they complete; 0 when they do not.
  EventId arrive(const Turn&, SharedPlace, std::uint32_t count, const Clock&);
  /// Completes the current phase if it has all arrivals and bytes: threads that wait go on and know what those that
  /// arrived knew.
  void complete(State&, SharedPlace, const ir::Operation&);

 private:
  Status execute_cluster(const Turn&);
  static int lanes_for_the_warp(const Warp&, std::uint32_t id, const NamedBarrier&, Mask arriving);
  static void end_use(State&);
  static void end_use(const Cta&, NamedBarrier&);
  void arrive(const Turn&, NamedBarrier&);
  Status wait(Turn&);
  void expect(const Turn&, const SharedPlace& object, int lane);
  void complete_bytes(const Turn&, const SharedPlace& object, int lane, const Clock& known);
  void signal(const Turn&, const SharedPlace& object, int lane, const Clock& known);
  void initialise(const Turn&, const ir::Argument& object);

  const Program& program_;
  Findings& findings_;
  Values& values_;
  Memory& memory_;
};

}  // namespace kiln::verifier::explore

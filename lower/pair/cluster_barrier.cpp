#include "lower/pair/cluster_barrier.hpp"

#include "lower/engine/queue.hpp"

namespace kiln::lower {
namespace {

constexpr int has_arrived = 2;

// The word of CTA 0 counts the threads that have come in its lower half, and those that there are in the upper one. The
// thread that makes the two the same releases all CTAs; no thread comes again before that. An mbarrier in each CTA that
// counts all threads would not do: a thread that is late at one of them could be taken for one that is early at the
// next phase.
constexpr int present = 16;

}  // namespace

void ClusterBarrier::declare() const {
  b_.shared(ScalarType::b64, 8, variable::cluster);
  b_.shared(ScalarType::b8, 4, variable::meeting, 8);  // a word, up to a multiple of 16 bytes of all this
  b_.op("mov.b32", phase_, 0);
}

void ClusterBarrier::make(const Plan& p) const {
  const Register count = b_.b32("mov.u32", "%cluster_nctarank");
  b_.op("mul.lo.u32", count, count, p.threads << present);
  b_.op("st.shared.b32", at(variable::meeting), count);
  const Register mbarrier = b_.b32("mov.b32", variable::cluster);
  b_.op("mbarrier.init.shared::cta.b64", at(mbarrier), 1);
}

// One of the lanes that are here does it for all of them.
void ClusterBarrier::count_lanes(int each, bool whole_warp) const {
  const Register lanes = whole_warp ? b_.b32("mov.b32", all_lanes()) : b_.b32("activemask.b32");
  b_.op("bar.warp.sync", lanes);
  const Register word = b_.b32("mov.u32", "%lanemask_lt");
  b_.op("and.b32", word, word, lanes);
  const JumpTarget counted = b_.label("counted");
  b_.jump_if(b_.pred("setp.ne.u32", word, 0), counted);
  b_.op("popc.b32", lanes, lanes);
  b_.op("mov.b32", word, variable::meeting);
  b_.op("mapa.shared::cluster.u32", word, word, 0);
  b_.op("mul.lo.s32", lanes, lanes, each);
  const Register count = b_.b32("atom.acq_rel.cluster.shared::cluster.add.u32", at(word), lanes);
  b_.op("add.u32", count, count, lanes);
  const Register all = b_.b32("shr.u32", count, present);
  b_.op("and.b32", count, count, bits(0xffff));
  b_.jump_if(b_.pred("setp.ne.u32", all, count), counted);
  b_.jump_if(b_.pred("setp.eq.u32", count, 0), counted);
  b_.op("neg.s32", count, count);
  b_.op("atom.relaxed.cluster.shared::cluster.add.u32", count, at(word), count);
  const Register cta = word, mbarrier = b_.reg(ScalarType::b32);
  b_.op("mov.u32", cta, "%cluster_nctarank");
  b_.op("mov.b32", mbarrier, variable::cluster);
  b_.loop([&] {
    b_.op("sub.u32", cta, cta, 1);
    const Register there = b_.b32("mapa.shared::cluster.u32", mbarrier, cta);
    b_.op("mbarrier.arrive.release.cluster.shared::cluster.b64", "_", at(there));
    return b_.pred("setp.ne.u32", cta, 0);
  });
  b_.place(counted);
}

// The parity of the phase that was waited for.
Register ClusterBarrier::wait_for_phase() const {
  const Register parity = b_.b32("and.b32", phase_, 1), mbarrier = b_.b32("mov.b32", variable::cluster);
  wait_for(b_, mbarrier, 0, parity, isa::Scope::cluster);
  return parity;
}

void ClusterBarrier::end_phase() const { b_.op("xor.b32", phase_, wait_for_phase(), 1); }

// In a thread that has not waited since it arrived.
template <class Write>
void ClusterBarrier::where_arrived(Write write) const {
  const Register arrived = b_.b32("and.b32", phase_, has_arrived);
  b_.when(!b_.pred("setp.eq.u32", arrived, 0), write);
}

// On an H100, a second arrival waits for the phase of the first, and a second wait for nothing.
void ClusterBarrier::arrive(const ir::Operation& op) const {
  if (arrives_again_) {
    where_arrived([&] { end_phase(); });
    if (op.modifiers.aligned) meet_in_warp(b_);
  }
  count_lanes(1, op.modifiers.aligned);
  b_.op("or.b32", phase_, phase_, has_arrived);
}

void ClusterBarrier::wait(const ir::Operation& op) const {
  if (arrives_again_)
    where_arrived([&] { end_phase(); });
  else
    end_phase();
  if (op.modifiers.aligned) meet_in_warp(b_);
}

void ClusterBarrier::leave() const {
  where_arrived([&] { wait_for_phase(); });
  count_lanes(-(1 << present), false);
}

}  // namespace kiln::lower

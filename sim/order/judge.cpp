#include "sim/order/judge.hpp"

#include "ptx/order/judge.hpp"

namespace kiln::sim {
namespace {

// Whether a clock has the events of all lanes of an access that its threads performed themselves.
bool has_lanes(const Clock& clock, const Earlier& e, Mask except) {
  for (const int l : each_lane(e.lanes & ~except))
    if (clock.at(e.access.component + Component(l)) < e.access.epoch) return false;
  return true;
}

// Lanes whose part in the earlier access is program order for the later one. tcgen05.alloc writes its address for the
// whole warp.
Mask own_lanes(const Earlier& e, const Later& b) {
  if (e.access.cluster != b.access.cluster || e.access.component != b.access.component) return 0;
  return e.access.operation->opcode == isa::Opcode::tcgen05_alloc ? all_lanes : b.lanes;
}

// The issue of an asynchronous operation, or the access itself.
bool has_issue(const Clock& clock, const Earlier& e, const Later& b) { return has_lanes(clock, e, own_lanes(e, b)); }

bool has(const Clock& clock, const Earlier& e, const Later& b) {
  if (!e.access.is_async) return has_issue(clock, e, b);
  return clock.knows(e.completion.done) || (!e.writes && clock.knows(e.completion.read));
}

// The clock of the cluster of the earlier access: `own`, or that of another cluster.
const Clock& clock_for(const Earlier& e, const Later& b, const Clock& own,
                       const std::map<std::uint32_t, Clock>& foreign) {
  static const Clock nothing;
  if (e.access.cluster == b.access.cluster) return own;
  const auto found = foreign.find(e.access.cluster);
  return found == foreign.end() ? nothing : found->second;
}

// What the clocks of the later access's thread say of the pair: the questions of order::judge.
struct PairKnowledge {
  const Earlier& e;
  const Later& b;
  const WarpKnowledge& w;

  const Message& seen() const { return w.of(b.lane).seen; }
  bool are_morally_strong() const { return sim::are_morally_strong(e.access, b.access); }
  bool is_same_warp() const { return e.access.is_same_thread_as(b.access); }
  bool are_same_threads() const { return is_same_warp() && e.lanes == b.lanes; }
  bool is_same_accumulator() const { return e.access.accumulator == b.access.accumulator; }
  bool is_over() const { return is_known(e, b, w); }
  // Relaxed barriers are those of a cluster.
  bool is_met() const { return e.access.cluster == b.access.cluster && has(seen().met, e, b); }
  // Of an asynchronous read: lanes that knew of its end have been waited for.
  bool has_ended() const {
    const Clock& clock = clock_for(e, b, seen().ended, seen().foreign_ended);
    return clock.knows(e.completion.done) || clock.knows(e.completion.read);
  }
  bool is_issued() const { return has_issue(seen().happened, e, b); }
  bool is_proxy_fenced() const {
    if (e.access.cluster == prior_cluster) return true;  // every proxy sees what a grid did that is over
    const bool is_global = b.space == isa::Space::global;
    const OwnFence which = is_global ? OwnFence::global : OwnFence::shared;
    const Clock& clock =
        clock_for(e, b, is_global ? seen().fenced_global : seen().fenced_shared, seen().foreign_fenced);
    if (e.access.is_async) return has(clock, e, b);
    const Mask fenced =
        lanes_where(e.lanes & own_lanes(e, b), [&](int lane) { return w.has_fenced(which, lane, e.access.epoch); });
    return has_lanes(clock, e, fenced);
  }
  // Changes of tensor maps are judged within a cluster alone.
  bool is_map_fenced() const {
    return e.access.cluster != b.access.cluster || has_lanes(w.of(b.lane).maps_acquired, e, 0);
  }
  bool is_tensor_fenced() const { return has(seen().tcgen05, e, b); }
  bool is_issue_tensor_fenced() const { return has_issue(seen().tcgen05, e, b); }
};

// Whether the pair is in order by a wait on an mbarrier that does not acquire by PTX. What CTAs of a cluster hand over
// in shared memory all kernels wait for at CTA scope.
bool is_doubtful(const Earlier& e, const Later& b, const WarpKnowledge& w) {
  if (e.access.cluster != b.access.cluster) return false;
  const History& seen = w.of(b.lane).seen.happened;
  if (!has(seen, e, b)) return false;
  if (!has(seen.certain(Doubt::relaxed), e, b)) return true;
  return b.space == isa::Space::global && !has(seen.certain(Doubt::narrow), e, b);
}

}  // namespace

bool is_known(const Earlier& e, const Later& b, const WarpKnowledge& w) {
  const Message& seen = w.of(b.lane).seen;
  return has(clock_for(e, b, seen.happened, seen.foreign), e, b);
}

std::optional<rules::Rule> judge(const Earlier& e, const Later& b, const WarpKnowledge& w) {
  const auto side = [](const Access& a, bool writes) {
    return order::Access{a.operation, a.proxy, writes, a.is_async};
  };
  const order::Access earlier = side(e.access, e.writes), later = side(b.access, b.writes);
  const PairKnowledge known{e, b, w};
  const auto broken = order::judge(earlier, later, known);
  if (!broken && order::pair_of(earlier, later, known) != order::Pair::none && is_doubtful(e, b, w))
    return rules::Rule::mbarrier_wait_acquire;
  return broken && e.access.cluster == prior_cluster ? rules::Rule::pdl_wait : broken;
}

}  // namespace kiln::sim

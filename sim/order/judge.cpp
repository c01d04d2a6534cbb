#include "sim/order/judge.hpp"

#include "ptx/order/judge.hpp"

namespace kiln::sim {
namespace {

// Whether a clock has the events of all lanes of an access that its threads performed themselves.
bool has_lanes(const Clock& clock, const Earlier& e, Mask except) {
  for (Mask m = e.lanes & ~except; m; m &= m - 1)
    if (clock.at(e.access.component + Component(first_lane(m))) < e.access.epoch) return false;
  return true;
}

// Lanes whose part in the earlier access is program order for the later one. tcgen05.alloc writes its address for the
// whole warp.
Mask own_lanes(const Earlier& e, const Later& b) {
  if (e.access.cluster != b.access.cluster || e.access.component != b.access.component) return 0;
  return e.access.operation->opcode == isa::Opcode::tcgen05_alloc ? all_lanes : b.lanes;
}

bool has(const Clock& clock, const Earlier& e, const Later& b) {
  if (!e.access.is_async) return has_lanes(clock, e, own_lanes(e, b));
  return clock.knows(e.completion.done) || (!e.writes && clock.knows(e.completion.read));
}

// The issue of an asynchronous operation.
bool has_issue(const Clock& clock, const Earlier& e, const Later& b) { return has_lanes(clock, e, own_lanes(e, b)); }

// Whether a proxy fence stands between the accesses.
bool is_fenced(const Earlier& e, const Later& b, const WarpKnowledge& w, OwnFence which) {
  const Message& seen = w.of(b.lane).seen;
  const Clock& clock = which == OwnFence::shared ? seen.fenced_shared : seen.fenced_global;
  if (e.access.is_async) return has(clock, e, b);
  const Mask own = own_lanes(e, b);
  for (Mask m = e.lanes & own; m; m &= m - 1)
    if (!w.has_fenced(which, first_lane(m), e.access.epoch) &&
        clock.at(e.access.component + Component(first_lane(m))) < e.access.epoch)
      return false;
  return has_lanes(clock, e, own);
}

// What the clocks of the later access's thread say of the pair: the questions of order::judge.
struct PairKnowledge {
  const Earlier& e;
  const Later& b;
  const WarpKnowledge& w;

  const Message& seen() const { return w.of(b.lane).seen; }
  bool is_foreign() const { return e.access.cluster != b.access.cluster; }

  bool are_morally_strong() const { return sim::are_morally_strong(e.access, b.access); }
  bool is_same_warp() const { return e.access.is_same_thread_as(b.access); }
  bool are_same_threads() const { return is_same_warp() && e.lanes == b.lanes; }
  bool is_same_accumulator() const { return e.access.accumulator == b.access.accumulator; }
  bool is_over() const { return is_known(e, b, w); }
  bool is_issued() const { return has_issue(seen().happened, e, b); }
  bool is_proxy_fenced() const {
    if (is_foreign()) return is_fenced_elsewhere();
    return is_fenced(e, b, w, b.space == isa::Space::global ? OwnFence::global : OwnFence::shared);
  }
  // Changes of tensor maps are judged within a cluster alone.
  bool is_map_fenced() const { return is_foreign() || has_lanes(w.of(b.lane).maps_acquired, e, 0); }
  bool is_tensor_fenced() const { return has(seen().tcgen05, e, b); }
  bool is_issue_tensor_fenced() const { return has_issue(seen().tcgen05, e, b); }

  // The same for what another cluster did. The end of the grid before this one is seen by every proxy.
  bool is_fenced_elsewhere() const {
    if (e.access.cluster == prior_cluster) return true;
    const auto found = seen().foreign_fenced.find(e.access.cluster);
    return found != seen().foreign_fenced.end() && has(found->second, e, b);
  }
};

}  // namespace

bool is_known(const Earlier& e, const Later& b, const WarpKnowledge& w) {
  const Message& seen = w.of(b.lane).seen;
  if (e.access.cluster == b.access.cluster) return has(seen.happened, e, b);
  const auto found = seen.foreign.find(e.access.cluster);
  return found != seen.foreign.end() && has(found->second, e, b);
}

std::optional<rules::Rule> judge(const Earlier& e, const Later& b, const WarpKnowledge& w) {
  const auto side = [](const Access& a, bool writes) {
    return order::Access{a.operation, a.proxy, writes, a.is_async};
  };
  return order::judge(side(e.access, e.writes), side(b.access, b.writes), PairKnowledge{e, b, w});
}

}  // namespace kiln::sim

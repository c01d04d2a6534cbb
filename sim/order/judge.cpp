#include "sim/order/judge.hpp"

#include "ptx/rules/memory.hpp"
#include "ptx/rules/order.hpp"
#include "ptx/rules/tcgen05_order.hpp"

namespace kiln::sim {
namespace {

using rules::Rule;

bool is_tensor_pipe(const ir::Operation& op) {
  return isa::unit(op.opcode) == isa::Unit::tcgen05 && rules::is_pipelined(op.opcode);
}

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

std::optional<Rule> broken(const rules::Verdict& v) { return v.broken() ? std::optional(v.rule) : std::nullopt; }

std::optional<Rule> judge_tensor_memory(const Earlier& e, const Later& b, const WarpKnowledge& w, bool known) {
  const Message& seen = w.of(b.lane).seen;
  const bool same_warp = e.access.component == b.access.component;
  const ir::Operation &first = *e.access.operation, &second = *b.access.operation;
  if (known) {
    // That tcgen05.dealloc needs the fences too nobody writes, NVIDIA's examples included.
    const bool exempt = same_warp || second.opcode == isa::Opcode::tcgen05_dealloc;
    return broken(rules::tcgen05_fence(exempt || has(seen.tcgen05, e, b)));
  }
  if (!is_tensor_pipe(first) || !is_tensor_pipe(second)) return broken(rules::race_tmem(known));
  const bool same_group = first.modifiers.cta_group == second.modifiers.cta_group;
  const bool listed = same_group && rules::pipelined(first.opcode, second.opcode, second.modifiers.shape,
                                                     e.access.accumulator == b.access.accumulator);
  if (same_warp && e.lanes == b.lanes) {
    return broken(same_group ? rules::tcgen05_pipeline(listed) : rules::race_tmem(known));
  }
  if (!listed || !has_issue(seen.happened, e, b)) return broken(rules::race_tmem(known));
  return broken(rules::tcgen05_fence(has_issue(seen.tcgen05, e, b)));
}

std::optional<Rule> judge_fence(const Earlier& e, const Later& b, const WarpKnowledge& w) {
  if (b.access.proxy == Proxy::tensormap)
    return broken(rules::tensormap_fence(has_lanes(w.of(b.lane).maps_acquired, e, 0)));
  const bool fenced = is_fenced(e, b, w, b.space == isa::Space::global ? OwnFence::global : OwnFence::shared);
  return broken(e.writes ? rules::proxy_fence(fenced) : rules::proxy_fence_read(fenced));
}

// The same for what another cluster did. The end of the grid before this one is seen by every proxy.
std::optional<Rule> judge_foreign_fence(const Earlier& e, const Later& b, const WarpKnowledge& w) {
  if (e.access.cluster == prior_cluster || b.access.proxy != Proxy::async) return std::nullopt;
  const auto& fences = w.of(b.lane).seen.foreign_fenced;
  const auto found = fences.find(e.access.cluster);
  const bool fenced = found != fences.end() && has_lanes(found->second, e, 0);
  return broken(e.writes ? rules::proxy_fence(fenced) : rules::proxy_fence_read(fenced));
}

}  // namespace

bool is_known(const Earlier& e, const Later& b, const WarpKnowledge& w, std::uint32_t cluster) {
  const Message& seen = w.of(b.lane).seen;
  if (e.access.cluster == cluster) return has(seen.happened, e, b);
  const auto found = seen.foreign.find(e.access.cluster);
  return found != seen.foreign.end() && has(found->second, e, b);
}

std::optional<Rule> judge(const Earlier& e, const Later& b, const WarpKnowledge& w, std::uint32_t cluster) {
  if (!e.writes && !b.writes) return std::nullopt;
  if (are_morally_strong(e.access, b.access)) return std::nullopt;
  const bool known = is_known(e, b, w, cluster);
  if (b.space == isa::Space::reg) return judge_tensor_memory(e, b, w, known);
  if (!known) return broken(e.access.is_async ? rules::race_async(known) : rules::race(known));
  if (e.access.proxy != Proxy::generic || b.access.proxy == Proxy::generic) return std::nullopt;
  return e.access.cluster == cluster ? judge_fence(e, b, w) : judge_foreign_fence(e, b, w);
}

}  // namespace kiln::sim

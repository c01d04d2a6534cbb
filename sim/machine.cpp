#include "sim/machine.hpp"

#include "ptx/rules/execution.hpp"

namespace kiln::sim {

std::uint32_t Cta::live_threads() const {
  std::uint32_t n = 0;
  for (const Warp& w : warps) n += std::uint32_t(count(w.live));
  return n;
}

void Cta::wake(WaitKind kind) {
  for (Warp& w : warps) w.wake(kind);
}

void Cluster::wake(WaitKind kind) {
  for (Cta& cta : ctas) cta.wake(kind);
}

void Cluster::later(std::uint32_t least, std::uint32_t spread, const ir::Operation* operation,
                    std::function<void()> action) {
  events.add(now + least + random.below(spread), operation, std::move(action));
}

bool whole_warp(Context& c, const Inst& i, Mask lanes) {
  if (!converged(c, lanes, all_lanes)) return false;
  if (const rules::Verdict v = rules::warp_aligned(lanes); v.broken())
    c.grid->report(i.operation, v.rule, std::to_string(v.given));
  return true;
}

void check_cta_mask(const Context& c, std::uint32_t mask) {
  const std::size_t ctas = c.cluster->ctas.size();
  require(rules::cluster_mask(mask, std::int64_t(ctas)), "the mask {:#x} in a cluster of {}", mask, ctas);
}

}  // namespace kiln::sim

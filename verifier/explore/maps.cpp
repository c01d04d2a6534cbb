// Tensor maps that a kernel makes. Their places in global memory are not compared. Before a thread copies with any map,
// all maps that it knows to be published must have been acquired by a thread whose acquire it knows of. An acquire
// stands for all maps that its thread knows of.
#include <bit>

#include "ptx/isa/tma.hpp"
#include "ptx/rules/order.hpp"
#include "verifier/explore/machine.hpp"

namespace kiln::verifier::explore {

// tensormap.replace: the threads' own write, where the map lies in shared memory.
void Machine::edit_map(Turn& t) {
  if (!isa::is_shared(t.op.modifiers.space())) return;
  const EventId id = t.add_access(true, Proxy::generic, false);
  for (Mask m = t.lanes; m; m &= m - 1) {
    const auto p = place(t, ops::roles<ops::TensorMapEdit>(t.op).map, std::countr_zero(m), isa::Space::shared_cta);
    access(t, id, t.cta.shared, p.address, p.address + isa::tensor_map_bytes, Mask{1} << std::countr_zero(m));
    for (std::uint32_t at = p.address; at < p.address + isa::tensor_map_bytes; ++at) t.cta.stored.erase(at);
  }
  t.warp.learn_own(t.lanes, id);
}

// tensormap.cp_fenceproxy: the warp reads the map and has it in global memory. It is one operation: any lane may be the
// one that reads, and behind it all know that it is done.
Status Machine::copy_map(Turn& t) {
  if (!t.converge(all_lanes)) return Status::blocked;
  const auto from = place(t, ops::roles<ops::BulkCopy>(t.op).from, t.leader(), isa::Space::shared_cta);
  const EventId id = t.add_access(false, Proxy::generic, false);
  for (Mask m = t.lanes; m; m &= m - 1)
    access(t, id, t.cta.shared, from.address, from.address + isa::tensor_map_bytes, Mask{1} << std::countr_zero(m));
  t.warp.learn(t.lanes, id);
  publish_map(t);
  return Status::next;
}

void Machine::publish_map(Turn& t) {
  const EventId id = t.add_event();
  t.warp.learn(t.lanes, id);
  t.cta.published_maps[{t.at, t.warp_index}] = id;
}

void Machine::acquire_maps(Turn& t) {
  if (!t.cta.acquired_maps) t.cta.acquired_maps = t.add_event();
  t.warp.learn(t.lanes, t.cta.acquired_maps);
  for (const auto& [where, published] : t.cta.published_maps) t.warp.acquire_map(t.lanes, published);
}

void Machine::judge_map(Turn& t, const ir::Argument& tensor) {
  if (t.cta.published_maps.empty() || !may_be_made(program_.facts, tensor)) return;
  for (const auto& [where, published] : t.cta.published_maps) {
    const bool any = t.cta.acquired_maps && t.knows(t.cta.acquired_maps);
    const bool fenced = any && (!t.knows(published) || t.warp.all_have(t.lanes, &Clock::maps, published));
    breach(rules::tensormap_fence(fenced), t.op, t.s.events[published].operation, "a map that is not acquired");
  }
}

}  // namespace kiln::verifier::explore

// Asynchronous copies. Tensor copies without a launch do not say how many bytes they move: of one only its first bytes
// are looked at, and those that a phase waits for are taken to be done when nobody can go on without.
#include <algorithm>
#include <bit>
#include <utility>

#include "ptx/isa/tensor_copy.hpp"
#include "verifier/explore/machine.hpp"

namespace kiln::verifier::explore {
namespace {

using flow::TermId;
using isa::Opcode;

constexpr int answer_bytes = 16;  // of clusterlaunchcontrol.try_cancel

}  // namespace

std::optional<Box> Machine::box_at(const Turn& t, const ir::Argument& tensor) const {
  return box_of(program_.facts, program_.shape.maps, program_.made_map, t.op, tensor);
}

// Into shared memory: a destination in each CTA of the mask, and an mbarrier there.
void Machine::copy_in(Turn& t, int lane) {
  const isa::Modifiers& m = t.op.modifiers;
  const auto tensor = ops::as<ops::TensorCopy>(t.op);
  const auto copy = ops::roles<ops::BulkCopy>(t.op);
  const auto to = place(t, tensor ? tensor->shared : copy.to, lane, isa::Space::shared_cluster);
  const auto barrier = place(t, tensor ? tensor->mbarrier : copy.mbarrier, lane, isa::Space::shared_cluster);
  const auto box = tensor ? box_at(t, tensor->tensor) : std::nullopt;
  const std::uint32_t bytes = box      ? box->shared_bytes
                              : tensor ? looked_at
                                       : std::uint32_t(number(t, copy.bytes, lane, 32, "the size of a copy"));
  std::uint32_t ctas = 1u << to.cta;
  if (const ops::Operand mask = tensor ? tensor->ctas : copy.ctas)
    ctas = std::uint32_t(number(t, mask, lane, 16, "the CTAs of a multicast"));
  const Clock issued = t.warp.released(Mask{1} << lane).relaxed();
  for (std::uint32_t c = 0; c < t.s.ctas.size(); ++c) {
    if (!(ctas >> c & 1)) continue;
    // With cta_group::2, of the pair that the destination is in the one that the address names.
    const std::uint32_t own = m.cta_group == isa::CtaGroup::two ? (c & ~1u) | (barrier.cta & 1) : c;
    const std::uint32_t signalled = m.multicast ? own : barrier.cta;
    const EventId id = t.add_access(true, Proxy::async, true);
    access(t, id, t.s.ctas[c].shared, to.address, to.address + bytes, Mask{1} << lane);
    if (tensor) note_tile(t, c, to.address, box);
    Barrier& b = barrier_at(t, signalled, barrier.address);
    check_init(t, b, true);
    b.open.join(issued);
    b.open.seen.add(id), b.open.fenced.add(id), b.open.past.add(id);
    if (tensor && !box) {
      ++b.copies;
      continue;
    }
    b.tx -= box ? box->bytes : bytes;
    complete(t.s, signalled, barrier.address, t.op);
  }
}

// clusterlaunchcontrol.try_cancel: an answer, the same for all who read it, in this CTA or in each of the cluster.
void Machine::request(Turn& t, int lane) {
  const auto request = ops::roles<ops::LaunchControl>(t.op);
  const auto to = place(t, request.to, lane, isa::Space::shared_cta);
  const auto barrier = place(t, request.mbarrier, lane, isa::Space::shared_cta);
  const TermId answer = fresh("answer", 64);
  const Clock issued = t.warp.released(Mask{1} << lane).relaxed();
  for (std::uint32_t c = 0; c < t.s.ctas.size(); ++c) {
    if (c != t.cta_index && !t.op.modifiers.multicast_all) continue;
    const EventId id = t.add_access(true, Proxy::async, true);
    Cta& cta = t.s.ctas[c];
    access(t, id, cta.shared, to.address, to.address + answer_bytes, Mask{1} << lane);
    for (std::uint32_t at = to.address; at < to.address + answer_bytes; ++at) cta.stored.erase(at);
    cta.stored[to.address][answer_bytes] = answer;
    Barrier& b = barrier_at(t, c, barrier.address);
    b.open.join(issued);
    b.open.seen.add(id), b.open.fenced.add(id), b.open.past.add(id);
    b.tx -= answer_bytes;
    complete(t.s, c, barrier.address, t.op);
  }
}

// Out of shared memory: a read, done when its group is waited for.
void Machine::copy_out(Turn& t, int lane) {
  const auto tensor = ops::as<ops::TensorCopy>(t.op);
  const auto copy = ops::roles<ops::BulkCopy>(t.op);
  const auto from = place(t, tensor ? tensor->shared : copy.from, lane, isa::Space::shared_cta);
  const auto box = tensor ? box_at(t, tensor->tensor) : std::nullopt;
  const std::uint32_t bytes = box      ? box->shared_bytes
                              : tensor ? looked_at
                                       : std::uint32_t(number(t, copy.bytes, lane, 32, "the size of a copy"));
  const EventId id = t.add_access(false, Proxy::async, true);
  access(t, id, t.cta.shared, from.address, from.address + bytes, Mask{1} << lane);
  t.warp.copies[lane].open.add(id);
}

void Machine::wait_for_groups(Turn& t) {
  const auto keep =
      std::size_t(number(t, ops::roles<ops::Count>(t.op).count, t.leader(), 32, "the groups that may go on"));
  for (const int l : Lanes(t.lanes)) {
    auto& groups = t.warp.copies[l].committed;
    while (groups.size() > keep) {
      groups.front().each([&](EventId e) { t.warp.learn(Mask{1} << l, e); });
      groups.erase(groups.begin());
    }
  }
}

// cp.async: a write by the threads themselves that is done when they have waited for it.
void Machine::copy_by_threads(Turn& t) {
  const auto copy = ops::roles<ops::CpAsync>(t.op);
  const auto bytes = std::uint32_t(number(t, copy.bytes, t.leader(), 32, "the size of a copy"));
  const EventId id = t.add_access(true, Proxy::generic, true);
  for (const int l : Lanes(t.lanes)) {
    const auto to = place(t, copy.to, l, isa::Space::shared_cta);
    access(t, id, t.cta.shared, to.address, to.address + bytes, Mask{1} << l);
    for (std::uint32_t at = to.address; at < to.address + bytes; ++at) t.cta.stored.erase(at);
  }
  t.warp.own_copies.open.add(id);
}

void Machine::wait_for_threads_copies(Turn& t) {
  CopyGroups& copies = t.warp.own_copies;
  std::size_t keep = 0;
  if (t.op.opcode == Opcode::cp_async_wait_group)
    keep = std::size_t(number(t, ops::roles<ops::Count>(t.op).count, t.leader(), 32, "the groups that may go on"));
  else
    copies.committed.push_back(std::exchange(copies.open, {}));
  for (std::size_t k = 0; k + keep < copies.committed.size(); ++k)
    copies.committed[k].each([&](EventId e) {
      if (const Mask mine = t.s.events[e].lanes & t.lanes) t.warp.learn_own(mine, e);
    });
  // Lanes that stand elsewhere have their part of the groups still to wait for.
  if (keep < copies.committed.size() && t.warp.fragments.size() == 1)
    copies.committed.erase(copies.committed.begin(), copies.committed.end() - std::ptrdiff_t(keep));
}

// An arrival of each lane when the copies that it has made so far are done.
void Machine::arrive_behind_copies(Turn& t) {
  Clock clock = t.warp.released(t.lanes);
  const auto behind = [&](const EventSet& copies) {
    copies.each([&](EventId e) {
      if (t.s.events[e].lanes & t.lanes) clock.seen.add(e), clock.past.add(e);
    });
  };
  behind(t.warp.own_copies.open);
  for (const EventSet& c : t.warp.own_copies.committed) behind(c);
  for (Mask m = t.lanes; m; m &= m - 1) {
    const auto p = place(t, ops::roles<ops::Mbarrier>(t.op).object, std::countr_zero(m), isa::Space::shared_cta);
    if (!t.op.modifiers.noinc) ++barrier_at(t, p.cta, p.address).pending;
    EventSet& brought = t.warp.brought[std::countr_zero(m)];
    Clock mine = clock;
    mine.past.join(brought);
    if (const EventId end = arrive(t, p.cta, p.address, 1, mine)) brought.add(end);
  }
}

// Tensor copies are done where that lets a phase complete. True when one did. `may_copy`: somebody waits for a choice
// and may have another copy to make that a phase waits for; then only what has as many as it had before is done.
bool Machine::settle_copies(State& s, bool may_copy) {
  bool moved = false;
  for (std::uint32_t c = 0; c < s.ctas.size(); ++c)
    for (auto& [address, b] : s.ctas[c].mbarriers) {
      if (b.pending != 0 || b.tx <= 0 || b.copies == 0) continue;
      std::uint32_t& usual = copies_a_phase_[{c, address}];
      if (may_copy && (usual == 0 || b.copies < usual)) continue;
      usual = std::max(usual, b.copies);
      b.tx = 0;
      complete(s, c, address, *b.last);
      moved = true;
    }
  return moved;
}

Status Machine::copy(Turn& t) {
  const isa::Modifiers& m = t.op.modifiers;
  switch (t.op.opcode) {
    case Opcode::cp_async_bulk:
    case Opcode::cp_async_bulk_tensor:
    case Opcode::cp_reduce_async_bulk:
    case Opcode::cp_reduce_async_bulk_tensor:
      if (const auto tensor = ops::as<ops::TensorCopy>(t.op)) judge_map(t, tensor->tensor);
      for (const int l : Lanes(t.lanes)) {
        const bool signals = m.completion == isa::Completion::mbarrier;
        if (signals && !isa::is_shared(m.spaces[1]))
          copy_in(t, l);
        else if (!signals)
          copy_out(t, l);
        else
          throw Unfollowed{"a copy from CTA to CTA", &t.op};
      }
      return Status::next;
    case Opcode::clusterlaunchcontrol_try_cancel:
      for (Mask lanes = t.lanes; lanes; lanes &= lanes - 1) request(t, std::countr_zero(lanes));
      return Status::next;
    case Opcode::cp_async_bulk_commit_group:
      for (Mask lanes = t.lanes; lanes; lanes &= lanes - 1) {
        CopyGroups& g = t.warp.copies[std::countr_zero(lanes)];
        g.committed.push_back(std::move(g.open));
        g.open = {};
      }
      return Status::next;
    case Opcode::cp_async_bulk_wait_group: wait_for_groups(t); return Status::next;
    case Opcode::cp_async: copy_by_threads(t); return Status::next;
    case Opcode::cp_async_commit_group:
      t.warp.own_copies.committed.push_back(std::exchange(t.warp.own_copies.open, {}));
      return Status::next;
    case Opcode::cp_async_wait_group:
    case Opcode::cp_async_wait_all: wait_for_threads_copies(t); return Status::next;
    case Opcode::cp_async_mbarrier_arrive: arrive_behind_copies(t); return Status::next;
    case Opcode::cp_async_bulk_prefetch:
    case Opcode::cp_async_bulk_prefetch_tensor: return Status::next;
    case Opcode::tensormap_replace: edit_map(t); return Status::next;
    case Opcode::tensormap_cp_fenceproxy: return copy_map(t);
    default: throw Unfollowed{std::string(isa::spelling(t.op.opcode)), &t.op};
  }
}

}  // namespace kiln::verifier::explore

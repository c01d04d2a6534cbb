#include "verifier/explore/copies.hpp"

#include <algorithm>

#include "ptx/isa/access_bytes.hpp"
#include "ptx/isa/launch_control.hpp"
#include "ptx/isa/tensor_copy.hpp"
#include "ptx/isa/tma.hpp"
#include "ptx/rules/mbarrier.hpp"
#include "ptx/rules/order.hpp"
#include "verifier/mistakes.hpp"

namespace kiln::verifier::explore {
namespace {

using flow::TermId;
using isa::Opcode;

}  // namespace

Copies::Extent Copies::extent(const Turn& t, int lane) {
  const auto tensor = ops::as<ops::TensorCopy>(t.op);
  if (!tensor)
    return {{},
            std::uint32_t(values_.number(t, ops::roles<ops::BulkCopy>(t.op).bytes, lane, 32, "the size of a copy"))};
  auto box = box_of(program_.facts, program_.shape.maps, program_.made_map, t.op, tensor->tensor);
  if (const ir::Argument* map = program_.shape.place ? chosen_map(program_.facts, t.op) : nullptr)
    if (const auto at = values_.parameter_place(t, *map, lane)) box = box_of(program_.shape.maps, *at, t.op);
  if (box) return {box, box->shared_bytes};
  if (std::find(unknown_.begin(), unknown_.end(), &t.op) == unknown_.end()) unknown_.push_back(&t.op);
  return {{}, Memory::looked_at, false};
}

// A write whose issuer knew this is over when the current phase of an mbarrier is, which it brings so many bytes.
void Copies::bring(const Turn& t, EventId write, SharedPlace barrier, const Clock& issued,
                   std::optional<std::uint32_t> bytes, End end) {
  memory_.use(t, barrier.cta);
  Barrier& b = barriers_.at(t, barrier);
  barriers_.check_init(t, b, true);
  if (b.completed && !issued.past.has(b.completed)) {
    findings_.add(rules::mbarrier_bytes(0, bytes.value_or(1)), t.op, t.s.events[b.completed].operation,
                  "bytes that " + std::string(too_early));
    throw Unfollowed{"what follows bytes that may count for another phase", &t.op};
  }
  b.track(write, t.s.events[write].proxy, issued);
  if (end == End::late) {
    ++b.copies;
    if (bytes) ++b.sized_copies, b.late_bytes += *bytes;
    return;
  }
  b.tx -= *bytes;
  barriers_.complete(t.s, barrier, t.op);
}

// Into shared memory: a destination in each CTA of the mask, and an mbarrier there.
void Copies::copy_in(const Turn& t, int lane) {
  const isa::Modifiers& m = t.op.modifiers;
  const auto tensor = ops::as<ops::TensorCopy>(t.op);
  const auto copy = ops::roles<ops::BulkCopy>(t.op);
  const auto to = memory_.place(t, tensor ? tensor->shared : copy.to, lane, isa::Space::shared_cluster);
  const auto barrier = memory_.place(t, tensor ? tensor->mbarrier : copy.mbarrier, lane, isa::Space::shared_cluster);
  const Extent size = extent(t, lane);
  std::uint32_t ctas = 1u << to.cta;
  if (const ops::Operand mask = tensor ? tensor->ctas : copy.ctas)
    ctas = std::uint32_t(values_.number(t, mask, lane, t.op.modifiers.cta_mask_bits(), "the CTAs of a multicast"));
  const Clock issued = t.warp.released(Mask{1} << lane).relaxed();
  // Which slots of a ring hold tiles makes many states: descriptors are judged against the tiles of one launch alone.
  const bool is_of_launch = program_.shape.is_of_launch;
  for (std::uint32_t c = 0; c < t.s.ctas.size(); ++c) {
    if (!(ctas >> c & 1)) continue;
    // With cta_group::2 the mbarrier is in the CTA of the destination's pair that the address names.
    const std::uint32_t own = m.cta_group == isa::CtaGroup::two ? (c & ~1u) | (barrier.cta & 1) : c;
    const std::uint32_t signalled = m.multicast() ? own : barrier.cta;
    const EventId id = t.add_access(true, Proxy::async, true);
    const SharedPlace here{c, to.address}, there{signalled, barrier.address};
    memory_.overwrite(t, id, here, size.bytes, Mask{1} << lane);
    if (tensor) memory_.note_tile(t, here, is_of_launch ? size.box : std::nullopt);
    const std::uint32_t bytes = size.box ? size.box->bytes : size.bytes;
    bring(t, id, there, issued, size.is_exact ? std::optional(bytes) : std::nullopt,
          tensor && !(is_of_launch && size.is_exact) ? End::late : End::now);
  }
}

// From the shared memory of one CTA to that of another: when the mbarrier's phase is over, so is the read.
void Copies::copy_across(const Turn& t, int lane) {
  const auto copy = ops::roles<ops::BulkCopy>(t.op);
  const auto to = memory_.place(t, copy.to, lane, isa::Space::shared_cluster);
  const auto from = memory_.place(t, copy.from, lane, isa::Space::shared_cta);
  const auto barrier = memory_.place(t, copy.mbarrier, lane, isa::Space::shared_cluster);
  const auto bytes = std::uint32_t(values_.number(t, copy.bytes, lane, 32, "the size of a copy"));
  const Clock issued = t.warp.released(Mask{1} << lane).relaxed();
  const EventId read = t.add_access(false, Proxy::async, true), write = t.add_access(true, Proxy::async, true);
  memory_.touch(t, read, from, bytes, Mask{1} << lane);
  memory_.overwrite(t, write, to, bytes, Mask{1} << lane);
  Clock known = issued;
  known.seen.add(read), known.fenced.add(read), known.past.add(read);
  bring(t, write, barrier, known, bytes);
}

// st.async and red.async to shared memory: what a lane writes, the mbarrier says when it is there.
void Copies::store(const Turn& t, int lane) {
  const auto store = ops::roles<ops::AsyncStore>(t.op);
  if (!store.mbarrier) return;  // global memory
  const std::uint32_t bytes = isa::access_bytes(t.op.modifiers);
  const auto to = memory_.place(t, store.address, lane, isa::Space::shared_cluster);
  const auto barrier = memory_.place(t, store.mbarrier, lane, isa::Space::shared_cluster);
  const EventId id = t.add_access(true, Proxy::generic, true);
  memory_.overwrite(t, id, to, bytes, Mask{1} << lane);
  if (t.op.opcode == Opcode::st_async) memory_.keep_words(t, to, lane);
  bring(t, id, barrier, t.warp.released(Mask{1} << lane).relaxed(), bytes);
}

// clusterlaunchcontrol.try_cancel: an answer, the same for all threads that read it, in this CTA or in each of the
// cluster.
void Copies::request(const Turn& t, int lane) {
  const auto request = ops::roles<ops::LaunchControl>(t.op);
  const auto to = memory_.place(t, request.to, lane, isa::Space::shared_cta);
  const auto barrier = memory_.place(t, request.mbarrier, lane, isa::Space::shared_cta);
  const TermId answer = values_.symbols().fresh("answer", 64);
  const Clock issued = t.warp.released(Mask{1} << lane).relaxed();
  for (std::uint32_t c = 0; c < t.s.ctas.size(); ++c) {
    if (c != t.cta_index && !t.op.modifiers.multicast_all) continue;
    const EventId id = t.add_access(true, Proxy::async, true);
    memory_.overwrite(t, id, {c, to.address}, isa::cancel_answer_bytes, Mask{1} << lane);
    t.s.ctas[c].stored[to.address][isa::cancel_answer_bytes] = answer;
    bring(t, id, {c, barrier.address}, issued, isa::cancel_answer_bytes);
  }
}

// Out of shared memory: a read, done when its group is waited for.
void Copies::copy_out(const Turn& t, int lane) {
  const auto tensor = ops::as<ops::TensorCopy>(t.op);
  const auto copy = ops::roles<ops::BulkCopy>(t.op);
  const auto from = memory_.place(t, tensor ? tensor->shared : copy.from, lane, isa::Space::shared_cta);
  const Extent size = extent(t, lane);
  const EventId id = t.add_access(false, Proxy::async, true);
  memory_.touch(t, id, from, size.bytes, Mask{1} << lane);
  t.warp.copies[lane].open.add(id);
}

void Copies::wait_for_groups(const Turn& t) {
  const auto keep = std::size_t(values_.number(t, ops::roles<ops::Count>(t.op).count, 32, "the groups that may go on"));
  for (const int l : Lanes(t.lanes)) {
    auto& groups = t.warp.copies[l].committed;
    while (groups.size() > keep) {
      groups.front().each([&](EventId e) { t.warp.learn(Mask{1} << l, e); });
      groups.erase(groups.begin());
    }
  }
}

// cp.async: a write by the threads themselves that is done when they have waited for it.
void Copies::copy_by_threads(const Turn& t) {
  const auto copy = ops::roles<ops::CpAsync>(t.op);
  const auto bytes = std::uint32_t(values_.number(t, copy.bytes, 32, "the size of a copy"));
  const EventId id = t.add_access(true, Proxy::generic, true);
  for (const int l : Lanes(t.lanes)) {
    const auto to = memory_.place(t, copy.to, l, isa::Space::shared_cta);
    memory_.overwrite(t, id, to, bytes, Mask{1} << l);
  }
  t.warp.own_copies.open.add(id);
}

void Copies::wait_for_own_copies(const Turn& t) {
  CopyGroups& copies = t.warp.own_copies;
  std::size_t keep = 0;
  if (t.op.opcode == Opcode::cp_async_wait_group)
    keep = std::size_t(values_.number(t, ops::roles<ops::Count>(t.op).count, 32, "the groups that may go on"));
  else
    copies.commit();
  for (std::size_t k = 0; k + keep < copies.committed.size(); ++k)
    copies.committed[k].each([&](EventId e) {
      if (const Mask mine = t.s.events[e].lanes & t.lanes) t.warp.learn_own(mine, e);
    });
  // Lanes that stand elsewhere still have to wait for their part of the groups.
  if (keep < copies.committed.size() && t.warp.fragments.size() == 1)
    copies.committed.erase(copies.committed.begin(), copies.committed.end() - std::ptrdiff_t(keep));
}

// cp.async.mbarrier.arrive: an arrival of each lane when the copies that it has made so far are done.
void Copies::arrive_after_copies(const Turn& t) {
  Clock known = t.warp.released(t.lanes);
  const auto add = [&](const EventSet& copies) {
    copies.each([&](EventId e) {
      if (t.s.events[e].lanes & t.lanes) known.seen.add(e), known.past.add(e);
    });
  };
  add(t.warp.own_copies.open);
  for (const EventSet& c : t.warp.own_copies.committed) add(c);
  for (const int l : Lanes(t.lanes)) {
    const auto p = memory_.place(t, ops::roles<ops::Mbarrier>(t.op).object, l, isa::Space::shared_cta);
    if (!t.op.modifiers.noinc) ++barriers_.at(t, p).pending;
    EventSet& ended = t.warp.ended_phases[l];
    Clock mine = known;
    mine.past.join(ended);
    if (const EventId end = barriers_.arrive(t, p, 1, mine)) ended.add(end);
  }
}

bool Copies::finish(State& s, bool may_copy) {
  bool moved = false;
  for (std::uint32_t c = 0; c < s.ctas.size(); ++c)
    for (auto& [address, b] : s.ctas[c].mbarriers) {
      if (b.pending != 0 || b.tx <= 0 || b.copies == 0) continue;
      if (b.sized_copies == b.copies) {
        if (b.outstanding() != 0) continue;
      } else {
        std::uint32_t& usual = copies_a_phase_[{c, address}];
        if (may_copy && (usual == 0 || b.copies < usual)) continue;
        usual = std::max(usual, b.copies);
      }
      b.tx = b.late_bytes = 0;
      barriers_.complete(s, {c, address}, *b.last);
      moved = true;
    }
  return moved;
}

// tensormap.replace: the threads' own write, where the map lies in shared memory.
void Copies::edit_map(const Turn& t) {
  if (!isa::is_shared(t.op.modifiers.space())) return;
  const EventId id = t.add_access(true, Proxy::generic, false);
  for (const int l : Lanes(t.lanes)) {
    const auto p = memory_.place(t, ops::roles<ops::TensorMapEdit>(t.op).map, l, isa::Space::shared_cta);
    memory_.overwrite(t, id, p, isa::tensor_map_bytes, Mask{1} << l);
  }
  t.warp.learn_own(t.lanes, id);
}

// tensormap.cp_fenceproxy: the warp copies a map to global memory and publishes it. It is one operation: any lane may
// be the one that reads, and after it all know that it is done.
Status Copies::copy_map(const Turn& t) {
  if (!t.converge(all_lanes)) return Status::blocked;
  const auto from = memory_.place(t, ops::roles<ops::BulkCopy>(t.op).from, t.leader(), isa::Space::shared_cta);
  const EventId id = t.add_access(false, Proxy::generic, false);
  for (const int l : Lanes(t.lanes)) memory_.touch(t, id, from, isa::tensor_map_bytes, Mask{1} << l);
  t.warp.learn(t.lanes, id);
  publish_map(t);
  return Status::next;
}

void Copies::publish_map(const Turn& t) {
  const EventId id = t.add_event();
  t.warp.learn(t.lanes, id);
  t.cta.published_maps[{t.at, t.warp_index}] = id;
}

void Copies::fence_map(const Turn& t) {
  if (t.op.modifiers.semantics != isa::Semantics::acquire) return publish_map(t);
  if (!t.cta.acquired_maps) t.cta.acquired_maps = t.add_event();
  t.warp.learn(t.lanes, t.cta.acquired_maps);
  for (const auto& [where, published] : t.cta.published_maps) t.warp.acquire_map(t.lanes, published);
}

// Places of maps in global memory are not compared. Before a thread copies with any map, all maps that it knows to be
// published must have been acquired by a thread whose acquire it knows of. An acquire stands for all maps that its
// thread knows of.
void Copies::use_map(const Turn& t, const ir::Argument& tensor) {
  if (t.cta.published_maps.empty() || !may_be_made(program_.facts, tensor)) return;
  for (const auto& [where, published] : t.cta.published_maps) {
    const bool any = t.cta.acquired_maps && t.knows(t.cta.acquired_maps);
    const bool fenced = any && (!t.knows(published) || t.warp.all_have(t.lanes, &Clock::maps, published));
    findings_.add(rules::tensormap_fence(fenced), t.op, t.s.events[published].operation, "a map that is not acquired");
  }
}

Status Copies::execute(const Turn& t) {
  const isa::Modifiers& m = t.op.modifiers;
  switch (t.op.opcode) {
    case Opcode::cp_async_bulk:
    case Opcode::cp_async_bulk_tensor:
    case Opcode::cp_reduce_async_bulk:
    case Opcode::cp_reduce_async_bulk_tensor:
    case Opcode::multimem_cp_async_bulk:
    case Opcode::multimem_cp_reduce_async_bulk:
      if (const auto tensor = ops::as<ops::TensorCopy>(t.op)) use_map(t, tensor->tensor);
      for (const int l : Lanes(t.lanes)) {
        const bool signals = m.completion == isa::Completion::mbarrier;
        if (!signals)
          copy_out(t, l);
        else if (isa::is_shared(m.spaces[1]))
          copy_across(t, l);
        else
          copy_in(t, l);
      }
      return Status::next;
    case Opcode::st_async:
    case Opcode::red_async:
      for (const int l : Lanes(t.lanes)) store(t, l);
      return Status::next;
    case Opcode::clusterlaunchcontrol_try_cancel:
      for (const int l : Lanes(t.lanes)) request(t, l);
      return Status::next;
    case Opcode::cp_async_bulk_commit_group:
      for (const int l : Lanes(t.lanes)) t.warp.copies[l].commit();
      return Status::next;
    case Opcode::cp_async_bulk_wait_group: wait_for_groups(t); return Status::next;
    case Opcode::cp_async: copy_by_threads(t); return Status::next;
    case Opcode::cp_async_commit_group: t.warp.own_copies.commit(); return Status::next;
    case Opcode::cp_async_wait_group:
    case Opcode::cp_async_wait_all: wait_for_own_copies(t); return Status::next;
    case Opcode::cp_async_mbarrier_arrive: arrive_after_copies(t); return Status::next;
    case Opcode::applypriority_bulk:
    case Opcode::applypriority_tensor:
    case Opcode::cp_async_bulk_prefetch:
    case Opcode::cp_async_bulk_prefetch_tensor: return Status::next;
    case Opcode::tensormap_replace: edit_map(t); return Status::next;
    case Opcode::tensormap_cp_fenceproxy: return copy_map(t);
    default: throw Unfollowed{std::string(isa::spelling(t.op.opcode)), &t.op};
  }
}

}  // namespace kiln::verifier::explore

#include "sim/schedule/sync_trace.hpp"

#include "sim/schedule/schedule.hpp"

namespace kiln::sim::schedule {
namespace {

using Kind = Touch::Kind;

enum class Object : std::uint8_t { mbarrier, barrier, cluster, columns, progress, word };

constexpr std::uint64_t word_bytes = 4;
constexpr std::uint64_t small_write = 64;  // bytes: larger asynchronous writes are data, not flags

std::uint64_t object(Object kind, std::uint64_t owner, std::uint64_t which) {
  return mix(std::uint64_t(kind) << 56 | owner, which);
}

}  // namespace

std::uint64_t mbarrier_object(std::uint32_t cta, std::uint64_t address) {
  return object(Object::mbarrier, cta, address);
}

bool dependent(const Touch& a, const Touch& b) {
  if (a.object != b.object || a.kind >= Kind::signal || b.kind >= Kind::signal) return false;
  if (a.kind == Kind::read && b.kind == Kind::read) return false;
  return !(a.kind == Kind::update && b.kind == Kind::update && a.phase == b.phase);
}

void SyncTrace::start(Cluster& cluster, std::uint32_t) {
  cluster_ = &cluster;
  if (!cluster.beside) in_flight_.clear();
}

std::uint64_t SyncTrace::warp_of(const Agent& a) const {
  if (a.lanes == 0) return cluster_->actor.warp;
  return warp_name(cluster_->grid.number, a.cta, a.warp);
}

// `tag` is what of the object the operation met: its phase, generation or version.
void SyncTrace::touch(Touch t, std::uint64_t tag) {
  hash_ += mix(mix(t.object, tag), mix(t.warp ? t.warp : cluster_->actor.name, std::uint64_t(t.kind)));
  if (grain_ == Grain::coarse && t.kind == Kind::update) t.kind = Kind::write;
  if (keeps_) touches_.push_back(t);
}

void SyncTrace::issue(AsyncId id, const Agent& a, const ir::Operation&) { in_flight_[id].warp = warp_of(a); }

void SyncTrace::complete(AsyncId id) {
  const auto found = in_flight_.find(id);
  if (found == in_flight_.end()) return;
  if (keeps_) touches_.push_back({object(Object::progress, found->second.warp, 0), Kind::signal, 0, 0, false});
  for (const Range& r : found->second.writes)
    for (std::uint64_t w = r.address / word_bytes; w * word_bytes < r.address + r.bytes; ++w) {
      const std::uint64_t o = object(Object::word, r.space == isa::Space::global ? 0 : r.cta + 1, w);
      if (polled_.contains(o)) touch({o, Kind::write, 0, 0, false}, versions_[o]++);
    }
  in_flight_.erase(found);
}

void SyncTrace::access(const Agent& a, const ir::Operation& op, const Range& r, AccessKind k, Proxy, AsyncId id) {
  if (id) {
    if (k != AccessKind::read && r.bytes <= small_write && r.space != isa::Space::reg)
      in_flight_[id].writes.push_back(r);
    return;
  }
  if (r.space != isa::Space::global && r.space != isa::Space::shared_cta) return;
  const bool strong = is_strong(op);
  if (!strong && polled_.empty()) return;
  for (std::uint64_t w = r.address / word_bytes; w * word_bytes < r.address + r.bytes; ++w) {
    const std::uint64_t o = object(Object::word, r.space == isa::Space::global ? 0 : r.cta + 1, w);
    if (strong)
      polled_.insert(o);
    else if (!polled_.contains(o))
      continue;
    const bool reads = k == AccessKind::read;
    touch({o, reads ? Kind::read : Kind::write, 0, warp_of(a), false}, reads ? versions_[o] : versions_[o]++);
  }
}

std::uint64_t SyncTrace::phase_of(const Sync& s) const {
  for (const Cta& cta : cluster_->ctas)
    if (cta.index == s.cta)
      if (const Mbarrier* b = cta.mbarriers.find(std::uint32_t(s.object))) return b->phase;
  return 0;
}

void SyncTrace::mbarrier(const Agent& a, const ir::Operation* op, const Sync& s) {
  Touch t{mbarrier_object(s.cta, s.object), Kind::write, 0, s.by ? 0 : warp_of(a), false};
  switch (s.kind) {
    case SyncKind::mbarrier_init:
    case SyncKind::mbarrier_inval: return touch(t, versions_[t.object]++);
    case SyncKind::mbarrier_expect:
      if (op && (op->opcode == isa::Opcode::mbarrier_arrive || op->opcode == isa::Opcode::mbarrier_arrive_drop)) return;
      return touch(t, s.value);
    case SyncKind::mbarrier_observe:
      t.kind = Kind::read;
      t.phase = s.value;
      return touch(t, t.phase);
    case SyncKind::mbarrier_phase:
      for (auto at = touches_.rbegin(); at != touches_.rend(); ++at)
        if (at->object == t.object) {
          at->flips = true;
          return;
        }
      [[fallthrough]];  // no operation of this transition completed it
    default:
      t.kind = Kind::update;
      t.phase = s.kind == SyncKind::mbarrier_phase ? s.value - 1 : phase_of(s);
      t.flips = s.kind == SyncKind::mbarrier_phase;
      if (s.kind != SyncKind::mbarrier_phase || keeps_) touch(t, t.phase);
  }
}

// Arrivals of one generation of a counted barrier commute; those of different generations do not.
void SyncTrace::barrier(const ir::Operation* op, const Sync& s, std::uint64_t warp) {
  const std::uint64_t o = object(Object::barrier, s.cta, s.object);
  if (op && !is_for_all(*op)) {
    bool flips = false;
    for (const Cta& cta : cluster_->ctas)
      if (cta.index == s.cta) flips = cta.barriers[s.object].arrived >= cta.barriers[s.object].expected;
    touch({o, Kind::update, s.value, warp, flips}, s.value);
  }
  if (keeps_) touches_.push_back({o, Kind::signal, 0, warp, false});
}

void SyncTrace::sync(const Agent& a, const ir::Operation* op, const Sync& s) {
  const std::uint64_t warp = warp_of(a);
  switch (s.kind) {
    case SyncKind::mbarrier_init:
    case SyncKind::mbarrier_inval:
    case SyncKind::mbarrier_arrive:
    case SyncKind::mbarrier_expect:
    case SyncKind::mbarrier_complete:
    case SyncKind::mbarrier_observe:
    case SyncKind::mbarrier_phase: return mbarrier(a, op, s);
    case SyncKind::barrier_arrive: return barrier(op, s, warp);
    case SyncKind::cluster_arrive:
      if (keeps_) touches_.push_back({object(Object::cluster, 0, 0), Kind::signal, 0, warp, false});
      return;
    case SyncKind::barrier_leave:
      if (keeps_) touches_.push_back({object(Object::barrier, s.cta, s.object), Kind::await, 0, warp, false});
      return;
    case SyncKind::cluster_leave:
      if (keeps_) touches_.push_back({object(Object::cluster, 0, 0), Kind::await, 0, warp, false});
      return;
    case SyncKind::bulk_wait:
    case SyncKind::bulk_wait_read:
    case SyncKind::cp_async_wait:
    case SyncKind::wgmma_wait:
    case SyncKind::tcgen05_wait_ld:
    case SyncKind::tcgen05_wait_st:
      if (keeps_) touches_.push_back({object(Object::progress, warp, 0), Kind::await, 0, warp, false});
      return;
    case SyncKind::tmem_alloc:
    case SyncKind::tmem_dealloc: {
      const std::uint64_t o = object(Object::columns, s.cta / 2, 0);
      return touch({o, Kind::write, 0, warp, false}, versions_[o]++);
    }
    default: return;
  }
}

}  // namespace kiln::sim::schedule

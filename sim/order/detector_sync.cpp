// What synchronisation hands from thread to thread: the edges of the ordering model.
#include <fmt/format.h>

#include <algorithm>

#include "ptx/isa/proxy_fence.hpp"
#include "ptx/isa/wgmma.hpp"
#include "ptx/rules/execution.hpp"
#include "ptx/rules/order.hpp"
#include "sim/core/machine.hpp"
#include "sim/core/names.hpp"
#include "sim/order/detector.hpp"

namespace kiln::sim {
namespace {

using isa::Opcode;
using isa::Scope;
using isa::Semantics;

bool releases(Semantics s) { return s == Semantics::release || s == Semantics::acq_rel || s == Semantics::sc; }
bool acquires(Semantics s) { return s == Semantics::acquire || s == Semantics::acq_rel || s == Semantics::sc; }

// An arrival at a barrier of the CTA that does not wait for it.
bool only_arrives(Opcode op) {
  return op == Opcode::bar_arrive || op == Opcode::bar_cta_arrive || op == Opcode::barrier_arrive ||
         op == Opcode::barrier_cta_arrive;
}

}  // namespace

void RaceDetector::sync(const Agent& a, const ir::Operation* op, const Sync& s) {
  ++events_;
  switch (s.kind) {
    case SyncKind::mbarrier_init:
    case SyncKind::mbarrier_inval:
    case SyncKind::mbarrier_arrive:
    case SyncKind::mbarrier_expect:
    case SyncKind::mbarrier_complete:
    case SyncKind::mbarrier_observe:
    case SyncKind::mbarrier_phase:
    case SyncKind::mbarrier_use:
    case SyncKind::mbarrier_lapped: return sync_mbarrier(a, op, s);
    case SyncKind::barrier_arrive:
    case SyncKind::barrier_leave:
    case SyncKind::cluster_arrive:
    case SyncKind::cluster_leave: return sync_barrier(a, op, s);
    case SyncKind::warp_sync: return warp(a).knowledge.meet(a.lanes);
    case SyncKind::fence: return fence(a, *op);
    case SyncKind::fence_proxy: return fence_proxy(a, *op);
    case SyncKind::fence_mbarrier_init:
      warp(a).knowledge.fence(OwnFence::published, a.lanes);
      return warp(a).knowledge.advance();  // an initialisation behind the fence is not published
    case SyncKind::bulk_commit:
    case SyncKind::bulk_wait:
    case SyncKind::bulk_wait_read:
    case SyncKind::cp_async_commit:
    case SyncKind::cp_async_wait:
    case SyncKind::cp_async_arrive: return sync_async(a, *op, s);
    case SyncKind::wgmma_commit: ++warp(a).wgmma; return;
    case SyncKind::wgmma_wait: {
      WarpState& w = warp(a);
      const Stamp done{streams_.of(StreamKind::warpgroup, rank(cta(a.cta)), a.warp / isa::warps_per_warpgroup),
                       w.wgmma > s.value ? w.wgmma - Epoch(s.value) : 0};
      return w.knowledge.change(a.lanes, [&](Mask, Knowledge& k) { k.seen.happened.raise(done); });
    }
    case SyncKind::grid_wait: return wait_for_prior_grid(a);
    case SyncKind::wgmma_fence:
    case SyncKind::cta_start: return;
    case SyncKind::cta_exit: return leave(cta(s.cta));
    default: return sync_tensor(a, *op, s);
  }
}

void RaceDetector::sync_mbarrier(const Agent& a, const ir::Operation* op, const Sync& s) {
  CtaState& owner = cta(s.cta);
  const auto address = std::uint32_t(s.object);
  if (s.kind == SyncKind::mbarrier_inval) {
    owner.barriers.erase(address);
    return;
  }
  Barrier& b = owner.barriers[address];
  switch (s.kind) {
    case SyncKind::mbarrier_init: {
      b = {};
      WarpState& w = warp(a);
      b.init.component = w.knowledge.component(0);
      b.init.epoch = w.knowledge.epoch();
      b.init.cta = a.cta;
      b.init.warp = a.warp;
      b.init.operation = op;
      b.init_lanes = a.lanes;
      return;
    }
    case SyncKind::mbarrier_phase:
      b.phase = s.value;
      b.pending.happened.raise({streams_.of(StreamKind::mbarrier, rank(owner), address), Epoch(s.value)});
      b.complete = b.pending;
      b.complete_name = ++phases_;
      return;
    case SyncKind::mbarrier_complete:
      if (!s.by) return complete_tx(a, *op, s, b);
      completion(s.by).done = {streams_.of(StreamKind::mbarrier, rank(owner), address), Epoch(b.phase + 1)};
      return;
    case SyncKind::mbarrier_use: return check_init(a, *op, s, b, true);
    case SyncKind::mbarrier_expect: return check_init(a, *op, s, b, false);
    case SyncKind::mbarrier_lapped:
      return report(rules::mbarrier_lapped(std::int64_t(s.value)), a, *op,
                    [&]() -> Found { return {fmt::format("{} phases since the wait began", s.value)}; });
    case SyncKind::mbarrier_observe:
      check_init(a, *op, s, b, false);
      warp(a).knowledge.acquire(a.lanes, b.complete, b.complete_name);
      return;
    default: break;
  }
  if (s.by) return arrive_async(s, b);
  check_init(a, *op, s, b, false);
  arrive(a, *op, s, b);
}

// Arrivals are read-modify-writes: what one releases stays with the object for all who come later.
void RaceDetector::arrive(const Agent& a, const ir::Operation& op, const Sync& s, Barrier& b) {
  WarpState& w = warp(a);
  const isa::Modifiers& m = op.modifiers;
  const Reach reach = s.cta == a.cta ? Reach::cta : Reach::cluster;
  b.pending.join(m.semantics == Semantics::relaxed ? w.knowledge.relaxed_message(a.lanes, reach)
                                                   : w.knowledge.message(a.lanes));
  if (s.cta != a.cta) {
    report(rules::mbarrier_scope(m.semantics == Semantics::relaxed || m.scope == Scope::cluster), a, op,
           []() -> Found { return {".cta scope, the default"}; });
    use_remote(a, cta(s.cta), op);
    note_use(a, cta(s.cta), record(a, op, {}, AccessKind::atomic, Proxy::generic, 0), 0, false);
  }
  w.knowledge.advance();
}

// mbarrier.complete_tx is relaxed: it hands on what a fence before it has released.
void RaceDetector::complete_tx(const Agent& a, const ir::Operation& op, const Sync& s, Barrier& b) {
  check_init(a, op, s, b, false);
  WarpState& w = warp(a);
  b.pending.join(w.knowledge.relaxed_message(a.lanes, s.cta == a.cta ? Reach::cta : Reach::cluster));
  if (s.cta != a.cta) {
    use_remote(a, cta(s.cta), op);
    note_use(a, cta(s.cta), record(a, op, {}, AccessKind::atomic, Proxy::generic, 0), 0, false);
  }
  w.knowledge.advance();
}

void RaceDetector::arrive_async(const Sync& s, Barrier& b) {
  if (const auto payload = payloads_.find(s.by); payload != payloads_.end()) b.pending.join(payload->second);
  completion(s.by).done = {streams_.of(StreamKind::mbarrier, rank(cta(s.cta)), std::uint32_t(s.object)),
                           Epoch(b.phase + 1)};
}

void RaceDetector::check_init(const Agent& a, const ir::Operation& op, const Sync& s, const Barrier& b, bool is_async) {
  if (!b.init.operation) return;
  const WarpKnowledge& w = warp(a).knowledge;
  const bool own = b.init.component == w.component(0) && (b.init_lanes & a.lanes) == b.init_lanes;
  const Message& seen = w.of(first_lane(a.lanes)).seen;
  const int lane = first_lane(b.init_lanes);
  const Stamp init{b.init.component + Component(lane), b.init.epoch};
  const bool published =
      own ? w.has_fenced(OwnFence::published, lane, init.epoch) || w.has_fenced(OwnFence::shared, lane, init.epoch)
          : seen.published.knows(init) || seen.fenced_shared.knows(init);
  const bool known = own || published || seen.happened.knows(init), met = known || seen.met.knows(init);
  const auto found = [&](const char* why) -> Found {
    return {"mbarrier " + where({isa::Space::shared_cta, s.cta, s.object, 8, 1}) + why,
            {{"initialised by " + thread_name(cluster_->grid, b.init.cta, b.init.warp, b.init_lanes, *b.init.operation),
              code_->where(*b.init.operation)}}};
  };
  report(rules::mbarrier_init_order(met), a, op, [&] { return found(", whose initialisation is not known here"); });
  if (met && !known)
    report(rules::mbarrier_init_fence(known), a, op, [&] { return found(" behind a relaxed barrier"); });
  if (known && is_async) report(rules::mbarrier_init_fence(published), a, op, [&] { return found(""); });
}

// Who arrives without waiting may come again too early: to the use of the barrier in which he is counted already, or to
// the next one, which nothing but luck makes the next.
void RaceDetector::check_overrun(const Agent& a, const ir::Operation& op, const Sync& s, const Generations& all) {
  const auto early = [&](const Arrival& e) {
    report(rules::barrier_overrun(false), a, op, [&]() -> Found {
      return {fmt::format("an arrival at barrier {} that may come before its last use is over", s.object),
              {{"which waits for " + thread_name(cluster_->grid, a.cta, e.warp, e.lanes, *e.operation),
                code_->where(*e.operation)}}};
    });
  };
  const Message& seen = warp(a).knowledge.of(first_lane(a.lanes)).seen;
  if (const auto same = all.find(s.value); same != all.end())
    for (const Arrival& e : same->second.arrivals)
      if (e.warp == a.warp && (e.lanes & a.lanes) != 0) return early(e);
  if (const auto last = all.find(s.value - 1); s.value != 0 && last != all.end())
    for (const Arrival& e : last->second.arrivals)
      if (e.warp != a.warp && !seen.happened.knows(e.at)) return early(e);
}

void RaceDetector::sync_barrier(const Agent& a, const ir::Operation* op, const Sync& s) {
  WarpState& w = warp(a);
  const bool of_cluster = s.kind == SyncKind::cluster_arrive || s.kind == SyncKind::cluster_leave;
  Generations& g = of_cluster ? cluster_barrier_ : cta(a.cta).named[s.object];
  if (s.kind == SyncKind::barrier_arrive || s.kind == SyncKind::cluster_arrive) {
    if (!of_cluster) check_overrun(a, *op, s, g);
    Message m = w.knowledge.message(a.lanes);
    if (of_cluster && op->modifiers.semantics == Semantics::relaxed) {
      Clock all = std::move(m.happened);
      m = w.knowledge.relaxed_message(a.lanes, Reach::cluster);
      m.met.join(all);
    }
    g[s.value].released.join(m);
    if (!only_arrives(op->opcode)) g[s.value].waiting += count(a.lanes);
    if (!of_cluster) g[s.value].arrivals.push_back({a.warp, a.lanes, w.knowledge.now(first_lane(a.lanes)), op});
    w.knowledge.advance();
    return;
  }
  w.knowledge.change(a.lanes, [&](Mask, Knowledge& k) { k.acquire(g[s.value].released); });
  g[s.value].waiting -= count(a.lanes);
  // Others may use the barrier again, with another count, before a warp that it has released goes on.
  std::erase_if(g, [&](const auto& use) { return use.first + 2 < s.value && use.second.waiting <= 0; });
}

void RaceDetector::fence(const Agent& a, const ir::Operation& op) {
  WarpState& w = warp(a);
  const Semantics s = op.modifiers.semantics;
  const auto reach = int(order::reach_of(op.modifiers.scope));
  const bool both = s == Semantics::none || s == Semantics::acq_rel || s == Semantics::sc;  // none: membar
  // What is read before it is handed on behind it: it acquires first.
  if (both || acquires(s))
    w.knowledge.change(a.lanes, [&](Mask, Knowledge& k) {
      for (int r = 0; r <= reach; ++r) k.acquire(Message(k.observed[std::size_t(r)]));
    });
  if (both || releases(s)) {
    for (int r = 0; r <= reach; ++r) w.knowledge.fence(release_fence(Reach(r)), a.lanes);
    w.knowledge.change(a.lanes, [&](Mask lanes, Knowledge& k) {
      for (int r = 0; r <= reach; ++r) {
        Message& released = k.released[std::size_t(r)] = k.seen;
        w.knowledge.add_proxy_fences(released, lanes & a.lanes);
        released.tcgen05.join(k.tcgen05_fenced);
      }
    });
  }
  w.knowledge.advance();
}

void RaceDetector::fence_proxy(const Agent& a, const ir::Operation& op) {
  WarpKnowledge& w = warp(a).knowledge;
  const isa::Modifiers& m = op.modifiers;
  const auto fence = [&](OwnFence which, Clock Message::*clock) {
    w.fence(which, a.lanes);
    w.change(a.lanes, [&](Mask, Knowledge& k) { (k.seen.*clock).join(k.seen.happened); });
  };
  const isa::AsyncFence async = isa::async_fence(m);
  if (async.shared) fence(OwnFence::shared, &Message::fenced_shared);
  if (async.global) {
    fence(OwnFence::global, &Message::fenced_global);
    w.change(a.lanes, [](Mask, Knowledge& k) {
      for (const auto& [cluster, clock] : k.seen.foreign) k.seen.foreign_fenced[cluster].join(clock);
    });
  }
  if (m.proxy == isa::Proxy::tensormap_generic && acquires(m.semantics)) {
    for (Mask rest = a.lanes; rest; rest &= rest - 1) {
      const Clock released = w.message(rest & -rest).fenced_map;
      w.change(rest & -rest, [&](Mask, Knowledge& k) { k.maps_acquired.join(released); });
      cta(a.cta).map_acquires.push_back({w.now(first_lane(rest)), released});
    }
  } else if (m.proxy == isa::Proxy::tensormap_generic || op.opcode == Opcode::tensormap_cp_fenceproxy) {
    fence(OwnFence::map, &Message::fenced_map);
  }
  w.advance();
}

// A fence orders what lies on a path through it: an acquire by another thread of the CTA will do once it is known.
void RaceDetector::learn_map_acquires(const Agent& a) {
  WarpKnowledge& w = warp(a).knowledge;
  for (const MapAcquire& acquire : cta(a.cta).map_acquires)
    w.change(a.lanes, [&](Mask, Knowledge& k) {
      if (k.seen.happened.knows(acquire.at)) k.maps_acquired.join(acquire.released);
    });
}

// Strong accesses to memory: what a write releases there, a read that sees it may acquire.
void RaceDetector::follow_flag(const Agent& a, const ir::Operation& op, const Range& range, AccessKind kind) {
  const Access& x = accesses_[warp(a).last];
  const std::tuple key{range.space == isa::Space::global ? 0u : range.cta + 1, range.address};
  if (!x.strong) {
    if (kind != AccessKind::read && !flags_.empty()) flags_.erase(key);
    return;
  }
  ++events_;
  WarpState& w = warp(a);
  const Semantics s = op.modifiers.semantics;
  const auto reach = int(order::reach_of(op.modifiers.scope));
  std::vector<Flag>& flags = flags_[key];
  if (kind == AccessKind::read || kind == AccessKind::atomic)
    for (const Flag& f : flags) {
      // Both must name a scope that the other is in: else they do not synchronise.
      const std::size_t far = f.cluster != cluster_number_ ? 2 : f.cta != a.cta ? 1 : 0;
      if (int(far) > reach) continue;
      w.knowledge.change(a.lanes, [&](Mask, Knowledge& k) {
        if (acquires(s)) k.acquire(f.released[far]);
        k.observed[far].join(f.released[far]);
      });
    }
  if (kind == AccessKind::read) return;
  if (kind != AccessKind::atomic) flags.clear();
  auto own = std::find_if(flags.begin(), flags.end(),
                          [&](const Flag& f) { return f.cta == a.cta && f.cluster == cluster_number_; });
  if (own == flags.end()) own = flags.insert(flags.end(), {a.cta, cluster_number_, {}});
  for (int r = 0; r <= reach; ++r) {
    const Message m = releases(s) ? w.knowledge.message(a.lanes) : w.knowledge.relaxed_message(a.lanes, Reach(r));
    own->released[std::size_t(r)].join(Reach(r) == Reach::grid ? m.for_other_clusters(cluster_number_) : m);
  }
  w.knowledge.advance();
}

void RaceDetector::sync_async(const Agent& a, const ir::Operation&, const Sync& s) {
  WarpState& w = warp(a);
  const std::uint32_t r = rank(cta(a.cta));
  for (Mask m = a.lanes; m; m &= m - 1) {
    const Mask lane = m & -m;
    const Agent one{a.cta, a.warp, lane};
    ThreadState& t = thread(one);
    const auto know = [&](StreamKind kind, Epoch done) {
      const Stamp stamp{streams_.of(kind, r, thread_number(one)), done};
      w.knowledge.change(lane, [&](Mask, Knowledge& k) { k.seen.happened.raise(stamp); });
    };
    const auto all_but_latest = [&](std::size_t groups) { return groups > s.object ? groups - s.object : 0; };
    const auto close_batch = [&] { return ++t.copies; };
    switch (s.kind) {
      case SyncKind::bulk_commit: ++t.bulk; break;
      case SyncKind::bulk_wait: know(StreamKind::bulk, Epoch(all_but_latest(t.bulk))); [[fallthrough]];
      case SyncKind::bulk_wait_read: know(StreamKind::bulk_read, Epoch(all_but_latest(t.bulk))); break;
      case SyncKind::cp_async_commit: t.copy_groups.push_back(close_batch()); break;
      case SyncKind::cp_async_wait:
        if (s.value) t.copy_groups.push_back(close_batch());
        if (const std::size_t n = all_but_latest(t.copy_groups.size())) know(StreamKind::copies, t.copy_groups[n - 1]);
        break;
      case SyncKind::cp_async_arrive:
        payloads_[s.by].happened.raise({streams_.of(StreamKind::copies, r, thread_number(one)), close_batch()});
        break;
      default: break;
    }
  }
}

}  // namespace kiln::sim

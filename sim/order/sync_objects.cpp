#include "sim/order/sync_objects.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ptx/isa/mbarrier.hpp"
#include "ptx/ops/operations.hpp"
#include "ptx/rules/execution.hpp"
#include "ptx/rules/mbarrier.hpp"
#include "ptx/rules/order.hpp"

namespace kiln::sim {

using isa::Semantics;

void Mbarriers::sync(const Agent& a, const ir::Operation* op, const Sync& s, const Message* payload) {
  const std::pair key{s.cta, s.object};
  if (s.kind == SyncKind::mbarrier_inval) {
    barriers_.erase(key);
    return;
  }
  Barrier& b = barriers_[key];
  const auto phase = [&](std::uint64_t n) -> Stamp {
    return {agents_.stream(StreamKind::mbarrier, s.cta, std::uint32_t(s.object)), Epoch(n)};
  };
  switch (s.kind) {
    case SyncKind::mbarrier_init:
      b = {};
      from_ = std::min(from_, s.object);
      to_ = std::max(to_, s.object + isa::mbarrier_bytes);
      b.init = op;
      b.initialiser = a;
      b.init_at = agents_[a].now(first_lane(a.lanes));
      return;
    case SyncKind::mbarrier_phase:
      b.phase = s.value;
      b.pending.happened.raise(phase(s.value));
      b.near.raise(phase(s.value));
      b.complete = b.pending;
      b.complete_near = b.near;
      b.complete_name = ++phases_;
      return;
    case SyncKind::mbarrier_arrive:
    case SyncKind::mbarrier_complete:
      if (!s.by) return arrive(a, *op, s, b);
      if (payload) b.pending.join(*payload), b.near.join(payload->happened);
      records_.completion(s.by).done = phase(b.phase + 1);
      return;
    case SyncKind::mbarrier_use: return check_init(a, *op, s, true);
    case SyncKind::mbarrier_expect: return check_init(a, *op, s, false);
    case SyncKind::mbarrier_observe: check_init(a, *op, s, false); return observe(a, *op, b);
    case SyncKind::mbarrier_lapped:
      return reports_.report(rules::mbarrier_lapped(std::int64_t(s.value)), a, *op,
                             [&]() -> Found { return {fmt::format("{} phases since the wait began", s.value)}; });
    default: return;
  }
}

void Mbarriers::check_given_back(const Agent& a, const ir::Operation& op, const Range& range) {
  const auto first =
      std::pair{range.cta, range.address - std::min<std::uint64_t>(range.address, isa::mbarrier_bytes - 1)};
  for (auto at = barriers_.lower_bound(first); at != barriers_.end(); ++at) {
    const auto& object = at->first;
    const Barrier& b = at->second;
    if (object.first != range.cta || object.second >= range.address + range.bytes) return;
    reports_.report(rules::mbarrier_inval(!b.init), a, op, [&]() -> Found {
      return {fmt::format("a write of {}, where an mbarrier lives",
                          reports_.where({isa::Space::shared_cta, range.cta, object.second, isa::mbarrier_bytes, 1})),
              {reports_.note("initialised by ", b.initialiser, *b.init)}};
    });
  }
}

// What PTX lets the wait not acquire is known too, and doubtful; an acquire fence after a relaxed wait makes it
// certain.
void Mbarriers::observe(const Agent& a, const ir::Operation& op, const Barrier& b) {
  WarpKnowledge& w = agents_[a];
  const bool relaxed = op.modifiers.semantics == Semantics::relaxed;
  const bool narrow = b.is_far && op.modifiers.scope != isa::Scope::cluster;
  if (!relaxed && !narrow) return w.acquire(a.lanes, b.complete, b.complete_name);
  Message m = b.complete;
  if (narrow) m.happened.doubt(Doubt::narrow, b.complete_near);
  if (!relaxed) return w.acquire(a.lanes, m, ~b.complete_name);
  const Message observed = m;
  m.happened.doubt(Doubt::relaxed, {});
  w.change(a.lanes, [&](Mask, Knowledge& k) {
    for (Message& from : k.observed) from.join(observed);
    k.acquire(m);
  });
}

// Arrivals are read-modify-writes: what one releases stays with the object for all that come later.
void Mbarriers::arrive(const Agent& a, const ir::Operation& op, const Sync& s, Barrier& b) {
  check_init(a, op, s, false);
  const bool remote = s.cta != a.cta;
  // mbarrier.complete_tx is relaxed.
  const bool relaxed = s.kind == SyncKind::mbarrier_complete || op.modifiers.semantics == Semantics::relaxed;
  const Message released =
      relaxed ? agents_[a].relaxed_message(a.lanes, remote ? Reach::cluster : Reach::cta) : agents_[a].message(a.lanes);
  b.pending.join(released);
  if (!remote) return b.near.join(released.happened);
  b.is_far = true;
  const bool reaches = op.modifiers.scope == isa::Scope::cluster || s.kind == SyncKind::mbarrier_complete;
  reports_.report(rules::mbarrier_scope(reaches), a, op, []() -> Found { return {".cta scope, the default"}; });
}

void Mbarriers::check_init(const Agent& a, const ir::Operation& op, const Sync& s, bool is_async) {
  const auto at = barriers_.find({s.cta, s.object});
  if (at == barriers_.end() || !at->second.init) return;
  const Barrier& b = at->second;
  const WarpKnowledge& w = agents_[a];
  const Mask lanes = b.initialiser.lanes;
  const bool own = b.initialiser.cta == a.cta && b.initialiser.warp == a.warp && (lanes & a.lanes) == lanes;
  const Message& seen = agents_.seen(a);
  const auto fenced = [&](OwnFence which) { return w.has_fenced(which, first_lane(lanes), b.init_at.epoch); };
  const bool published = own ? fenced(OwnFence::published) || fenced(OwnFence::shared)
                             : seen.published.knows(b.init_at) || seen.fenced_shared.knows(b.init_at);
  const bool known = own || published || seen.happened.knows(b.init_at), met = known || seen.met.knows(b.init_at);
  const auto found = [&](const char* why) {
    return [&, why]() -> Found {
      return {"mbarrier " + reports_.where({isa::Space::shared_cta, s.cta, s.object, 8, 1}) + why,
              {reports_.note("initialised by ", b.initialiser, *b.init)}};
    };
  };
  reports_.report(rules::mbarrier_init_order(met), a, op, found(", whose initialisation is not known here"));
  if (met && !known) reports_.report(rules::mbarrier_init_fence(known), a, op, found(" after a relaxed barrier"));
  if (known && is_async) reports_.report(rules::mbarrier_init_fence(published), a, op, found(""));
}

void Barriers::arrive(const Agent& a, const ir::Operation& op, const Sync& s, Generations& all) {
  WarpKnowledge& w = agents_[a];
  const bool of_cluster = s.kind == SyncKind::cluster_arrive;
  const auto [at, is_first] = all.try_emplace(s.value);
  Generation& g = at->second;
  if (is_first && (of_cluster || !ops::roles<ops::Barrier>(op).threads)) {
    g.awaits_all = true;
    g.came.resize(agents_.warps());
    g.released = departed_[of_cluster ? 0 : a.cta + 1];
  }
  if (g.awaits_all) g.came[agents_.warp(a)] |= a.lanes;
  if (!of_cluster) {
    check_overrun(a, op, s, all);
    g.arrivals.push_back({a, w.now(first_lane(a.lanes)), &op});
  }
  Message m = w.message(a.lanes);
  if (of_cluster && op.modifiers.semantics == Semantics::relaxed) {
    const Clock happened = std::move(m.happened);
    m = w.relaxed_message(a.lanes, Reach::cluster);
    m.met.join(happened);
  }
  g.released.join(m);
  if (!order::arrives_alone(op.opcode)) g.waiting += count(a.lanes);
  w.advance();
}

void Barriers::exit(const Agent& a) {
  WarpKnowledge& w = agents_[a];
  const auto hand_over = [&](Mask lanes, Message& to) {
    Message m = w.message(lanes);
    m.met.join(m.happened);
    to.join(m);
  };
  for (const std::uint32_t owner : {0u, a.cta + 1}) {
    hand_over(a.lanes, departed_[owner]);
    for (auto at = barriers_.lower_bound({owner, 0}); at != barriers_.end() && at->first.first == owner; ++at)
      for (auto& [number, use] : at->second)
        if (const Mask late = use.awaits_all ? a.lanes & ~use.came[agents_.warp(a)] : 0) hand_over(late, use.released);
  }
  w.advance();
}

void Barriers::sync(const Agent& a, const ir::Operation* op, const Sync& s) {
  WarpKnowledge& w = agents_[a];
  const bool of_cluster = s.kind == SyncKind::cluster_arrive || s.kind == SyncKind::cluster_leave;
  Generations& all = barriers_[of_cluster ? std::pair{0u, std::uint64_t{0}} : std::pair{a.cta + 1, s.object}];
  if (s.kind == SyncKind::barrier_arrive || s.kind == SyncKind::cluster_arrive) return arrive(a, *op, s, all);
  Generation& g = all[s.value];
  w.change(a.lanes, [&](Mask, Knowledge& k) { k.acquire(g.released); });
  g.waiting -= count(a.lanes);
  // Others may use the barrier again, with another count, before a warp that it has released continues.
  std::erase_if(all, [&](const auto& use) { return use.first + 2 < s.value && use.second.waiting <= 0; });
}

// A thread that arrives without waiting may come again too early: it is counted in the use that other warps are late
// for, which then wait in the next one. That a warp arrives twice in one use is legal: barriers count arrivals
// (tests/gpu/arrive_twice.cu).
void Barriers::check_overrun(const Agent& a, const ir::Operation& op, const Sync& s, const Generations& all) {
  const auto early = [&](const Arrival& e) {
    reports_.report(rules::barrier_overrun(false), a, op, [&]() -> Found {
      return {fmt::format("an arrival at barrier {} that may come before its last use is over", s.object),
              {reports_.note("which waits for ", e.agent, *e.operation)}};
    });
  };
  if (const auto last = all.find(s.value - 1); s.value != 0 && last != all.end())
    for (const Arrival& e : last->second.arrivals)
      if (e.agent.warp != a.warp && !agents_.seen(a).happened.knows(e.at)) return early(e);
}

void Flags::access(WarpKnowledge& w, const Agent& a, const Access& x, const Range& range, AccessKind kind) {
  const std::pair key{range.space == isa::Space::global ? 0u : range.cta + 1, range.address};
  if (!x.strong) {
    if (kind != AccessKind::read && !flags_.empty()) flags_.erase(key);
    return;
  }
  const Semantics s = x.operation->modifiers.semantics;
  Word& word = flags_[key];
  if (kind == AccessKind::read || kind == AccessKind::atomic) {
    const auto see = [&](const Message& released, Reach from) {
      w.change(a.lanes, [&](Mask, Knowledge& k) {
        Message& observed = k.observed[std::size_t(from)];
        observed.join(released);
        if (acquires(s)) k.acquire(released);
        if (from != Reach::grid) return;
        observed.take_back(x.cluster);
        k.seen.take_back(x.cluster);
      });
    };
    // Both must name a scope that the other is in: else they do not synchronise.
    for (const Flag& f : word.near)
      if (const Reach far = distance(f.cluster, f.cta, x.cluster, a.cta); far != Reach::grid && far <= x.reach)
        see(f.released[std::size_t(far)], far);
    if (word.is_far && x.reach == Reach::grid) see(word.far, Reach::grid);
  }
  if (kind == AccessKind::read) return;
  if (kind != AccessKind::atomic) word = {};
  auto own = std::find_if(word.near.begin(), word.near.end(),
                          [&](const Flag& f) { return f.cta == a.cta && f.cluster == x.cluster; });
  if (own == word.near.end()) own = word.near.insert(word.near.end(), {a.cta, x.cluster, {}});
  for (int r = 0; r <= int(x.reach); ++r) {
    Message m = releases(s) ? w.message(a.lanes) : w.relaxed_message(a.lanes, Reach(r));
    if (releases(s))
      w.note_release(key, a.lanes, Reach(r), m);
    else
      w.add_released(key, a.lanes, Reach(r), m);
    if (Reach(r) != Reach::grid) {
      own->released[std::size_t(r)].join(m);
    } else {
      word.far.join(m.for_other_clusters(x.cluster));
      word.is_far = true;
    }
  }
  w.advance();
}

}  // namespace kiln::sim

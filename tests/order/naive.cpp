#include "tests/order/naive.hpp"

#include <algorithm>

#include "ptx/isa/proxy_fence.hpp"
#include "sim/core/machine.hpp"

namespace kiln::test {

using isa::Opcode;
using isa::Scope;
using isa::Semantics;
using order::acquires;
using order::releases;
using sim::AccessKind;
using sim::Agent;
using sim::Proxy;
using sim::SyncKind;

namespace {

int reach_of(Scope s) { return s == Scope::cta ? 0 : s == Scope::cluster ? 1 : 2; }

}  // namespace

NaiveDetector::Node NaiveDetector::event(const std::set<Node>& after) {
  std::vector<bool> past(past_.size());
  for (const Node n : after) {
    if (n == 0) continue;
    past[n] = true;
    for (Node k = 0; k < past_[n].size(); ++k)
      if (past_[n][k]) past[k] = true;
  }
  past_.push_back(std::move(past));
  return Node(past_.size() - 1);
}

NaiveDetector::Node NaiveDetector::advance(Thread& t, std::set<Node> after) {
  after.insert(t.now);
  return t.now = event(after);
}

int NaiveDetector::distance(std::uint32_t a, std::uint32_t b) const {
  return a == b ? 0 : cluster_of_.at(a) == cluster_of_.at(b) ? 1 : 2;
}

void NaiveDetector::start(sim::Cluster& cluster, std::uint32_t) {
  ++cluster_;
  code_ = cluster.grid.program.code;
  for (const sim::Cta& cta : cluster.ctas) cluster_of_[cta.index] = cluster_;
}

void NaiveDetector::issue(sim::AsyncId id, const Agent& a, const ir::Operation& op) {
  done_[id] = event({});
  read_[id] = event({});
  Thread& t = thread(a, std::uint32_t(sim::first_lane(a.lanes)));
  if (op.opcode == Opcode::cp_async) t.copies.back().copies.push_back(id);
  if (op.modifiers.completion == isa::Completion::bulk_group) t.bulk.back().copies.push_back(id);
}

void NaiveDetector::access(const Agent& a, const ir::Operation& op, const sim::Range& range, AccessKind kind,
                           Proxy proxy, sim::AsyncId id) {
  const auto lane = std::uint32_t(sim::first_lane(a.lanes));
  Thread& t = thread(a, lane);
  if (id == 0) advance(t);
  Access x;
  x.operation = &op;
  x.place = code_->where(op).place.begin;
  x.thread = {a.cta, a.warp, lane};
  x.instance = instance_;
  x.async = id;
  x.range = range;
  x.writes = kind != AccessKind::read;
  x.rewrites = kind == AccessKind::rewrite;
  x.proxy = proxy;
  x.strong = kind == AccessKind::atomic || sim::is_strong(op);
  x.reach = reach_of(op.modifiers.scope);
  if (id && !x.writes) sources_[id] = range.address;
  if (id && x.writes) x.source = sources_[id];
  if (proxy == Proxy::generic && id == 0) follow_flag(a, t, op, range, kind);
  x.node = t.now;
  accesses_.push_back(x);
}

// A write that releases hands on all that came before it; a relaxed one what came before the last release fence.
void NaiveDetector::release(const ir::Operation& op, Thread& t, int reach, std::set<Node>& into) {
  into.insert(op.modifiers.semantics == Semantics::relaxed ? t.release[std::size_t(reach)] : advance(t));
}

void NaiveDetector::follow_flag(const Agent& a, Thread& t, const ir::Operation& op, const sim::Range& range,
                                AccessKind kind) {
  std::vector<Flag>& flags = flags_[{range.space, range.cta, range.address}];
  const Semantics s = op.modifiers.semantics;
  if (!sim::is_strong(op)) {
    if (kind != AccessKind::read) flags.clear();
    return;
  }
  const int reach = reach_of(op.modifiers.scope);
  if (kind == AccessKind::read || kind == AccessKind::atomic) {
    std::set<Node> acquired;
    for (const Flag& f : flags) {
      const int far = distance(a.cta, f.cta);
      if (far > reach) continue;
      acquired.insert(f.source[std::size_t(far)]);
      t.observed[std::size_t(far)].insert(f.source[std::size_t(far)]);
    }
    if (acquires(s)) advance(t, acquired);
  }
  if (kind == AccessKind::read) return;
  if (kind != AccessKind::atomic) flags.clear();
  Flag f{a.cta, {}};
  for (int r = 0; r <= reach; ++r) f.source[std::size_t(r)] = releases(s) ? t.now : t.release[std::size_t(r)];
  flags.push_back(f);
}

void NaiveDetector::fence(Thread& t, const ir::Operation& op) {
  const Semantics s = op.modifiers.semantics;
  const int reach = reach_of(op.modifiers.scope);
  const bool both = s == Semantics::none;  // membar
  std::set<Node> acquired;
  if (both || acquires(s))
    for (int r = 0; r <= reach; ++r)
      acquired.insert(t.observed[std::size_t(r)].begin(), t.observed[std::size_t(r)].end());
  advance(t, acquired);
  if (both || releases(s))
    for (int r = 0; r <= reach; ++r) t.release[std::size_t(r)] = t.now;
}

void NaiveDetector::sync(const Agent& a, const ir::Operation* op, const sim::Sync& s) {
  Barrier& b = barriers_[{s.cta, s.object}];
  switch (s.kind) {
    case SyncKind::mbarrier_init:
    case SyncKind::mbarrier_inval: b = {}; return;
    case SyncKind::mbarrier_phase: b.complete = b.pending; return;
    case SyncKind::mbarrier_arrive:
      if (s.by == 0) break;
      b.pending.insert(payloads_[s.by].begin(), payloads_[s.by].end());
      return;
    case SyncKind::mbarrier_complete:
      if (s.by == 0) break;
      b.pending.insert(done_.at(s.by));
      return;
    case SyncKind::warp_sync: {
      std::set<Node> all;
      std::array<std::set<Node>, reaches> fences, observed;
      for (sim::Mask m = a.lanes; m; m &= m - 1) {
        const Thread& t = thread(a, std::uint32_t(sim::first_lane(m)));
        all.insert(t.now);
        for (std::size_t r = 0; r < reaches; ++r) {
          fences[r].insert(t.release[r]);
          observed[r].insert(t.observed[r].begin(), t.observed[r].end());
        }
      }
      // A fence before a warp barrier serves every lane that meets there.
      Sources release;
      for (std::size_t r = 0; r < reaches; ++r) release[r] = event(fences[r]);
      for (sim::Mask m = a.lanes; m; m &= m - 1) {
        Thread& t = thread(a, std::uint32_t(sim::first_lane(m)));
        advance(t, all);
        t.release = release;
        t.observed = observed;
      }
      return;
    }
    default: break;
  }
  for (sim::Mask m = a.lanes; m; m &= m - 1) sync_thread(a, thread(a, std::uint32_t(sim::first_lane(m))), op, s);
}

void NaiveDetector::sync_thread(const Agent& a, Thread& t, const ir::Operation* op, const sim::Sync& s) {
  const auto wait = [&](std::vector<Group>& groups, std::uint64_t left, bool reads_too, bool writes_too) {
    std::set<Node> over;
    for (std::size_t k = 0; k + left + 1 < groups.size(); ++k)  // the last is open
      for (const sim::AsyncId id : groups[k].copies) {
        if (reads_too) over.insert(read_.at(id));
        if (writes_too) over.insert(done_.at(id));
      }
    advance(t, over);
  };
  switch (s.kind) {
    case SyncKind::mbarrier_arrive:
    case SyncKind::mbarrier_complete:
      if (s.kind == SyncKind::mbarrier_complete)  // an instruction that is always relaxed
        barriers_[{s.cta, s.object}].pending.insert(t.release[s.cta == a.cta ? 0 : 1]);
      else
        release(*op, t, s.cta == a.cta ? 0 : 1, barriers_[{s.cta, s.object}].pending);
      return;
    case SyncKind::mbarrier_observe: advance(t, barriers_[{s.cta, s.object}].complete); return;
    case SyncKind::barrier_arrive: generations_[{false, a.cta, s.object, s.value}].insert(advance(t)); return;
    case SyncKind::barrier_leave: advance(t, generations_[{false, a.cta, s.object, s.value}]); return;
    case SyncKind::cluster_arrive: release(*op, t, 1, generations_[{true, cluster_, 0, s.value}]); return;
    case SyncKind::cluster_leave: advance(t, generations_[{true, cluster_, 0, s.value}]); return;
    case SyncKind::fence: fence(t, *op); return;
    case SyncKind::fence_proxy: {
      const isa::AsyncFence f = isa::async_fence(op->modifiers);
      fences_.push_back({advance(t), f.shared, f.global});
      return;
    }
    case SyncKind::bulk_commit: t.bulk.emplace_back(); return;
    case SyncKind::bulk_wait: wait(t.bulk, s.object, true, true); return;
    case SyncKind::bulk_wait_read: wait(t.bulk, s.object, true, false); return;
    case SyncKind::cp_async_commit: t.copies.emplace_back(); return;
    case SyncKind::cp_async_wait:
      if (s.value) t.copies.emplace_back();
      wait(t.copies, s.object, true, true);
      return;
    case SyncKind::cp_async_arrive:
      for (const Group& g : t.copies)
        for (const sim::AsyncId id : g.copies) payloads_[s.by].insert(done_.at(id));
      return;
    default: return;
  }
}

bool NaiveDetector::is_over(const Access& e, Node n) const {
  if (e.async == 0) return before(e.node, n);
  return before(done_.at(e.async), n) || (!e.writes && before(read_.at(e.async), n));
}

bool NaiveDetector::is_fenced(const Access& e, const Access& b) const {
  return std::any_of(fences_.begin(), fences_.end(), [&](const Fence& f) {
    return (b.range.space == isa::Space::global ? f.global : f.shared) && is_over(e, f.node) && before(f.node, b.node);
  });
}

bool NaiveDetector::are_morally_strong(const Access& e, const Access& b) const {
  const int far = distance(std::get<0>(e.thread), std::get<0>(b.thread));
  return e.strong && b.strong && far <= e.reach && far <= b.reach;
}

// Pairs that are no race although nothing orders them.
bool NaiveDetector::is_exempt(const Access& e, const Access& b) const {
  if (!e.writes && !b.writes) return true;
  if (e.async && e.async == b.async) return true;
  if (are_morally_strong(e, b)) return true;
  if (e.writes && b.writes && e.instance == b.instance && e.async == 0) return true;
  if (e.writes && b.rewrites && e.async == 0 && e.operation == b.operation) return true;
  return e.writes && b.writes && e.async && b.async && e.instance == b.instance && e.source != 0 &&
         e.source == b.source;
}

// Whether the pair is in order, or is reported.
bool NaiveDetector::is_judged(const Access& e, const Access& b) const {
  return (e.writes || b.writes) && (!is_exempt(e, b) || (e.proxy == b.proxy && is_over(e, b.node)));
}

// Whether an access between two writes, or a write between any two, was judged against both: it puts them in order, or
// one of its own pairs is reported.
bool NaiveDetector::links(const Access& e, const Access& between, const Access& b) const {
  if (!is_judged(e, between)) return false;
  return between.writes ? !are_morally_strong(between, b) : b.writes && is_over(between, b.node);
}

bool NaiveDetector::races(const Access& e, const Access& b, rules::Rule& rule) const {
  if (is_exempt(e, b)) return false;
  rule = e.async ? rules::Rule::race_async : rules::Rule::race;
  if (!is_over(e, b.node)) return true;
  rule = e.writes ? rules::Rule::proxy_fence : rules::Rule::proxy_fence_read;
  return e.proxy == Proxy::generic && b.proxy == Proxy::async && !is_fenced(e, b);
}

NaiveDetector::Races NaiveDetector::races() const {
  std::map<std::tuple<isa::Space, std::uint32_t, std::uint64_t>, std::vector<const Access*>> bytes;
  for (const Access& x : accesses_)
    for (std::uint64_t k = 0; k < x.range.bytes; ++k)
      bytes[{x.range.space, x.range.cta, x.range.address + k}].push_back(&x);
  Races out;
  for (const auto& entry : bytes) {
    const std::vector<const Access*>& all = entry.second;
    for (std::size_t later = 1; later < all.size(); ++later) {
      const Access& b = *all[later];
      std::set<RacingPair> pairs;
      bool must_tell = false;
      for (std::size_t earlier = 0; earlier < later; ++earlier) {
        const Access& e = *all[earlier];
        rules::Rule rule{};
        if (!races(e, b, rule)) continue;
        bool is_linked = false, is_surely_linked = false;
        for (std::size_t k = earlier + 1; k < later; ++k) {
          if (!links(e, *all[k], b)) continue;
          is_linked = true;
          is_surely_linked |= !all[k]->strong && !is_exempt(*all[k], b) && !races(e, *all[k]) &&
                              std::none_of(all.begin() + std::ptrdiff_t(k), all.begin() + std::ptrdiff_t(later),
                                           [&](const Access* m) { return races(*all[k], *m); });
        }
        pairs.insert({rule, e.place, b.place});
        must_tell |= !is_linked;
        if (!is_surely_linked) out.allowed.insert({rule, e.place, b.place});
      }
      if (!must_tell) continue;
      out.found.insert(pairs);
      out.allowed.insert(pairs.begin(), pairs.end());
    }
  }
  return out;
}

}  // namespace kiln::test

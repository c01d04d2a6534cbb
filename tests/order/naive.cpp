#include "tests/order/naive.hpp"

#include <algorithm>

#include "ptx/isa/proxy_fence.hpp"
#include "ptx/isa/tmem.hpp"
#include "sim/core/machine.hpp"
#include "tests/order/program.hpp"

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

bool is_pipelined(Opcode op) {
  return op == Opcode::tcgen05_mma || op == Opcode::tcgen05_cp || op == Opcode::tcgen05_shift;
}

// PTX ISA "Pipelined tcgen05 Instructions".
bool are_listed(Opcode a, Opcode b, isa::DataShape shape_of_b, bool same_accumulator) {
  if (a == Opcode::tcgen05_mma) return b == Opcode::tcgen05_mma ? same_accumulator : b == Opcode::tcgen05_shift;
  if (b == Opcode::tcgen05_mma) return true;
  return a == Opcode::tcgen05_shift && b == Opcode::tcgen05_cp && shape_of_b == isa::DataShape::s4x256b;
}

// Adds a smaller set.
void add(std::vector<std::uint64_t>& to, const std::vector<std::uint64_t>& from) {
  for (std::size_t k = 0; k < from.size(); ++k) to[k] |= from[k];
}

}  // namespace

NaiveDetector::Node NaiveDetector::event(const std::set<Node>& after) {
  Bits past(past_.size() / 64 + 1), met(past.size()), ended(past.size());
  for (const Node n : after) {
    if (n == 0) continue;
    past[n / 64] |= std::uint64_t{1} << n % 64;
    add(past, past_[n]);
    add(met, met_[n]);
    add(ended, ended_[n]);
  }
  past_.push_back(std::move(past));
  met_.push_back(std::move(met));
  ended_.push_back(std::move(ended));
  return Node(past_.size() - 1);
}

// What an arrival without release semantics hands on: what came before the last release fence, and what met before. At
// a barrier of the cluster all that came before it meets.
NaiveDetector::Node NaiveDetector::relaxed(Node fence, Node arrival, bool meets) {
  const Node n = event({fence});
  add(met_[n], met_[arrival]);
  if (!meets) return n;
  add(met_[n], past_[arrival]);
  met_[n][arrival / 64] |= std::uint64_t{1} << arrival % 64;
  return n;
}

NaiveDetector::Node NaiveDetector::advance(Thread& t, std::set<Node> after) {
  after.insert(t.now);
  return t.now = event(after);
}

int NaiveDetector::distance(std::uint32_t a, std::uint32_t b) const {
  return a == b ? 0 : cluster_of_.at(a) == cluster_of_.at(b) ? 1 : 2;
}

void NaiveDetector::start(sim::Cluster& cluster, std::uint32_t) {
  cluster_ = ++clusters_;
  code_ = cluster.grid.program.code;
  for (const sim::Cta& cta : cluster.ctas) cluster_of_[cta.index] = cluster_;
}

void NaiveDetector::enter(sim::Cluster& cluster) { cluster_ = cluster_of_.at(cluster.ctas.front().index); }

void NaiveDetector::issue(sim::AsyncId id, const Agent& a, const ir::Operation& op) {
  done_[id] = event({});
  read_[id] = event({});
  Thread& t = thread(a, std::uint32_t(sim::first_lane(a.lanes)));
  if (isa::unit(op.opcode) == isa::Unit::tcgen05) {
    t.tensor.push_back(id);
    t.last_tensor = advance(t);
  }
  if (op.opcode == Opcode::cp_async) t.copies.back().copies.push_back(id);
  if (op.modifiers.completion == isa::Completion::bulk_group) t.bulk.back().copies.push_back(id);
}

void NaiveDetector::access(const Agent& a, const ir::Operation& op, const sim::Range& range, AccessKind kind,
                           Proxy proxy, sim::AsyncId id) {
  if (range.space == isa::Space::global && range.address % RandomProgram::buffer_bytes == RandomProgram::meeting_word)
    return;
  const auto lane = std::uint32_t(sim::first_lane(a.lanes));
  Thread& t = thread(a, lane);
  if (id == 0) advance(t);
  Access x;
  x.operation = &op;
  x.opcode = op.opcode;
  x.shape = op.modifiers.shape;
  x.place = code_->where(op).place.begin;
  x.thread = {a.cta, a.warp, lane};
  x.instance = instance_;
  x.async = id;
  x.range = range;
  x.writes = kind != AccessKind::read;
  x.rewrites = kind == AccessKind::rewrite;
  x.by_warp = op.modifiers.aligned;
  x.proxy = proxy;
  x.strong = kind == AccessKind::atomic || sim::is_strong(op);
  x.reach = reach_of(op.modifiers.scope);
  if (id && !x.writes && proxy != Proxy::tensor_memory) sources_[id] = range.address;
  if (id && x.writes) x.source = sources_[id];
  if (proxy == Proxy::generic && id == 0) follow_flag(a, t, op, range, kind);
  x.node = t.now;
  if (proxy == Proxy::tensor_memory) tensor_access(a, op, x);
  accesses_.push_back(x);
}

// A warp loads, stores and frees once all of its lanes are there: what one of them knows will do.
void NaiveDetector::tensor_access(const Agent& a, const ir::Operation& op, Access& x) {
  std::set<Node> all;
  for (sim::Mask m = a.lanes; m; m &= m - 1) {
    const Thread& t = thread(a, std::uint32_t(sim::first_lane(m)));
    all.insert(t.now);
    x.fences_after.insert(t.fences_after.begin(), t.fences_after.end());
  }
  if (x.async) {
    if (x.writes) accumulators_[x.async].insert({x.range.address & 0xFFFF, x.range.bytes});
    return;
  }
  x.node = event(all);
  if (op.opcode == Opcode::tcgen05_dealloc) return;
  x.async = ++last_transfer_;
  done_[x.async] = event({});
  read_[x.async] = event({});
  Transfers& of_warp = transfers_[{a.cta, a.warp}];
  (x.writes ? of_warp.stores : of_warp.loads).push_back(x.async);
}

void NaiveDetector::tensor_wait(const Agent& a, std::vector<sim::AsyncId>& transfers) {
  std::set<Node> over;
  for (const sim::AsyncId id : transfers) over.insert(done_.at(id));
  for (sim::Mask m = a.lanes; m; m &= m - 1) advance(thread(a, std::uint32_t(sim::first_lane(m))), over);
}

// It hands over that its thread's operations are over, and what was known when the last of them was issued. It implies
// tcgen05.fence::before_thread_sync.
void NaiveDetector::tensor_commit(Thread& t, sim::AsyncId id) {
  std::set<Node> over{t.last_tensor};
  for (const sim::AsyncId op : t.tensor) over.insert(done_.at(op));
  payloads_[id].insert(*fences_before_.insert(event(over)).first);
}

// A write that releases hands on all that came before it; a relaxed one what came before the last release fence.
void NaiveDetector::release(const ir::Operation& op, Thread& t, int reach, std::set<Node>& into) {
  const bool meets = op.opcode == Opcode::barrier_cluster_arrive;
  into.insert(op.modifiers.semantics == Semantics::relaxed ? relaxed(t.release[std::size_t(reach)], t.now, meets)
                                                           : advance(t));
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
  Sources& released = t.released[{range.space, range.cta, range.address}];
  for (std::size_t r = 0; r <= std::size_t(reach); ++r) {
    if (releases(s)) released[r] = t.now;
    f.source[r] = releases(s) ? t.now : event({relaxed(t.release[r], t.now, false), released[r]});
  }
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
    case SyncKind::warp_sync: return meet({a.cta, a.warp, std::uint32_t(s.object)});
    case SyncKind::warp_wait: return wait_for_lanes({a.cta, a.warp, std::uint32_t(s.object)});
    case SyncKind::tcgen05_wait_ld: return tensor_wait(a, transfers_[{a.cta, a.warp}].loads);
    case SyncKind::tcgen05_wait_st: return tensor_wait(a, transfers_[{a.cta, a.warp}].stores);
    case SyncKind::tmem_dealloc:
      return access(a, *op, {isa::Space::reg, a.cta, s.object, s.value * 4, std::uint32_t(isa::tmem_lanes)},
                    AccessKind::write, Proxy::tensor_memory, 0);
    default: break;
  }
  for (sim::Mask m = a.lanes; m; m &= m - 1) {
    const Agent one{a.cta, a.warp, 1u << sim::first_lane(m)};
    sync_thread(one, thread(one, std::uint32_t(sim::first_lane(m))), op, s);
  }
}

// Nothing is handed over but that what came before for one lane has come before for all.
void NaiveDetector::wait_for_lanes(const Agent& a) {
  std::set<Node> all;
  for (sim::Mask m = a.lanes; m; m &= m - 1) all.insert(thread(a, std::uint32_t(sim::first_lane(m))).now);
  for (sim::Mask m = a.lanes; m; m &= m - 1) {
    const Node now = advance(thread(a, std::uint32_t(sim::first_lane(m))));
    for (const Node n : all) add(ended_[now], past_[n]), add(ended_[now], ended_[n]);
  }
}

// A fence before a warp barrier serves every lane that meets there.
void NaiveDetector::meet(const Agent& a) {
  std::set<Node> all, fences_before, fences_after;
  std::array<std::set<Node>, reaches> fences, observed;
  for (sim::Mask m = a.lanes; m; m &= m - 1) {
    const Thread& t = thread(a, std::uint32_t(sim::first_lane(m)));
    all.insert(t.now);
    for (std::size_t r = 0; r < reaches; ++r) {
      fences[r].insert(t.release[r]);
      observed[r].insert(t.observed[r].begin(), t.observed[r].end());
    }
    fences_before.insert(t.fences_before.begin(), t.fences_before.end());
    fences_after.insert(t.fences_after.begin(), t.fences_after.end());
  }
  Sources release;
  for (std::size_t r = 0; r < reaches; ++r) release[r] = event(fences[r]);
  // Nothing else than the barrier stands between lanes, so one tcgen05.fence of the two will do.
  fences_after.insert(event(fences_before));
  for (sim::Mask m = a.lanes; m; m &= m - 1) {
    Thread& t = thread(a, std::uint32_t(sim::first_lane(m)));
    advance(t, all);
    t.release = release;
    t.observed = observed;
    t.fences_before = fences_before;
    t.fences_after = fences_after;
  }
}

// A barrier of all threads is over once each has arrived or exited. A thread that did not arrive has exited before.
void NaiveDetector::leave(Thread& t, const Use& use, std::uint32_t cta, bool of_cluster) {
  std::set<Node> over = use.nodes;
  for (const Exit& e : exits_) {
    const std::uint32_t there = std::get<0>(e.thread);
    const bool takes_part = of_cluster ? cluster_of_.at(there) == cluster_of_.at(cta) : there == cta;
    if (takes_part && !use.threads.contains(e.thread)) over.insert(e.node);
  }
  advance(t, over);
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
        barriers_[{s.cta, s.object}].pending.insert(relaxed(t.release[s.cta == a.cta ? 0 : 1], t.now, false));
      else
        release(*op, t, s.cta == a.cta ? 0 : 1, barriers_[{s.cta, s.object}].pending);
      return;
    case SyncKind::mbarrier_observe: advance(t, barriers_[{s.cta, s.object}].complete); return;
    case SyncKind::barrier_arrive: {
      Use& use = generations_[{false, a.cta, s.object, s.value}];
      use.threads.insert({a.cta, a.warp, std::uint32_t(sim::first_lane(a.lanes))});
      use.nodes.insert(advance(t));
      return;
    }
    case SyncKind::cluster_arrive: {
      Use& use = generations_[{true, cluster_, 0, s.value}];
      use.threads.insert({a.cta, a.warp, std::uint32_t(sim::first_lane(a.lanes))});
      release(*op, t, 1, use.nodes);
      return;
    }
    case SyncKind::barrier_leave: {
      const Use& use = generations_[{false, a.cta, s.object, s.value}];
      if (op->arguments.size() == 1) return leave(t, use, a.cta, false);
      advance(t, use.nodes);  // one with a thread count
      return;
    }
    case SyncKind::cluster_leave: return leave(t, generations_[{true, cluster_, 0, s.value}], a.cta, true);
    case SyncKind::lanes_exit: {
      const Node exit = advance(t);
      add(met_[exit], past_[exit]);
      met_[exit][exit / 64] |= std::uint64_t{1} << exit % 64;
      exits_.push_back({{a.cta, a.warp, std::uint32_t(sim::first_lane(a.lanes))}, exit});
      return;
    }
    case SyncKind::fence: fence(t, *op); return;
    case SyncKind::fence_proxy: {
      const isa::AsyncFence f = isa::async_fence(op->modifiers);
      fences_.push_back({advance(t), f.shared, f.global});
      return;
    }
    case SyncKind::tcgen05_fence_before: t.fences_before.insert(*fences_before_.insert(advance(t)).first); return;
    case SyncKind::tcgen05_fence_after: t.fences_after.insert(advance(t)); return;
    case SyncKind::tcgen05_commit: return tensor_commit(t, s.by);
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

bool NaiveDetector::is_met(const Access& e, Node n) const {
  if (e.async == 0) return holds(met_[n], e.node);
  return holds(met_[n], done_.at(e.async)) || (!e.writes && holds(met_[n], read_.at(e.async)));
}

bool NaiveDetector::has_ended(const Access& e, Node n) const {
  return e.async != 0 && !e.writes && (holds(ended_[n], done_.at(e.async)) || holds(ended_[n], read_.at(e.async)));
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

// Whether the access at `by` reads, strongly, what the one at `write` wrote, or what atomic operations made of it.
bool NaiveDetector::observes(const std::vector<const Access*>& all, std::size_t write, std::size_t by) const {
  const auto updates = [](const Access& x) { return x.opcode == Opcode::atom || x.opcode == Opcode::red; };
  const Access &e = *all[write], &r = *all[by];
  if (!e.writes || !are_morally_strong(e, r) || (r.writes && r.opcode != Opcode::atom)) return false;
  return std::all_of(all.begin() + std::ptrdiff_t(write) + 1, all.begin() + std::ptrdiff_t(by),
                     [&](const Access* m) { return !m->writes || updates(*m); });
}

// Whether tcgen05.fence stands after the event and before the access, on both sides of what hands it over.
bool NaiveDetector::are_tensor_fenced(Node e, const Access& b) const {
  return std::any_of(fences_before_.begin(), fences_before_.end(), [&](Node first) {
    return before(e, first) && std::any_of(b.fences_after.begin(), b.fences_after.end(),
                                           [&](Node second) { return before(first, second); });
  });
}

bool NaiveDetector::are_tensor_fenced(const Access& e, const Access& b) const {
  return are_tensor_fenced(e.async ? done_.at(e.async) : e.node, b);
}

bool NaiveDetector::races_in_tensor_memory(const Access& e, const Access& b, rules::Rule& rule) const {
  const Opcode first = e.opcode, second = b.opcode;
  const bool same_warp =
      std::get<0>(e.thread) == std::get<0>(b.thread) && std::get<1>(e.thread) == std::get<1>(b.thread);
  const bool is_known = is_over(e, b.node);
  if (is_pipelined(first) && is_pipelined(second)) {
    const bool same_accumulator = first == second && accumulators_.at(e.async) == accumulators_.at(b.async);
    const bool is_listed = are_listed(first, second, b.shape, same_accumulator);
    if (e.thread == b.thread) {
      rule = rules::Rule::tcgen05_pipeline;
      return !is_listed && !is_known;
    }
    if (is_listed) {
      rule = rules::Rule::race_tmem;
      if (!is_known && !before(e.node, b.node)) return true;
      rule = rules::Rule::tcgen05_fence;
      return !(is_known && same_warp) && !are_tensor_fenced(e, b) && !are_tensor_fenced(e.node, b);
    }
  }
  rule = rules::Rule::race_tmem;
  if (!is_known && (same_warp || !is_met(e, b.node))) return true;
  rule = rules::Rule::cluster_relaxed;
  if (!is_known) return true;
  rule = rules::Rule::tcgen05_fence;
  return !same_warp && second != Opcode::tcgen05_dealloc && !are_tensor_fenced(e, b);
}

bool NaiveDetector::races(const Access& e, const Access& b, rules::Rule& rule) const {
  if (is_exempt(e, b)) return false;
  if (b.proxy == Proxy::tensor_memory) return races_in_tensor_memory(e, b, rule);
  rule = e.async ? rules::Rule::race_async : rules::Rule::race;
  if (!is_over(e, b.node)) {
    if (e.proxy != Proxy::generic || b.proxy == Proxy::generic) {
      if (has_ended(e, b.node)) return false;
      // Lanes of a warp, one of them at an instruction of the whole warp.
      const bool of_warp = e.by_warp || b.by_warp;
      const bool one_warp =
          std::get<0>(e.thread) == std::get<0>(b.thread) && std::get<1>(e.thread) == std::get<1>(b.thread);
      if (e.async == 0 && of_warp && one_warp && e.place != b.place) rule = rules::Rule::warp_order;
    }
    return true;
  }
  rule = e.writes ? rules::Rule::proxy_fence : rules::Rule::proxy_fence_read;
  return e.proxy == Proxy::generic && b.proxy == Proxy::async && !is_fenced(e, b);
}

std::set<std::vector<const NaiveDetector::Access*>> NaiveDetector::conflicts() const {
  // Tensor memory has rows and columns; other memory is one row.
  struct Box {
    std::uint64_t row, row_end, column, column_end;
  };
  const auto box_of = [](const Access& x) -> Box {
    if (x.range.space != isa::Space::reg) return {0, 1, x.range.address, x.range.address + x.range.bytes};
    const std::uint64_t row = x.range.address >> 16, column = x.range.address & 0xFFFF;
    return {row, row + x.range.rows, column, column + x.range.bytes / 4};
  };
  std::map<std::pair<isa::Space, std::uint32_t>, std::vector<const Access*>> memories;
  for (const Access& x : accesses_) memories[{x.range.space, x.range.cta}].push_back(&x);
  std::set<std::vector<const Access*>> out;
  for (const auto& entry : memories) {
    std::set<std::uint64_t> rows, columns;  // where an access begins or ends
    for (const Access* x : entry.second) {
      const Box box = box_of(*x);
      rows.insert({box.row, box.row_end});
      columns.insert({box.column, box.column_end});
    }
    for (const std::uint64_t row : rows)
      for (const std::uint64_t column : columns) {
        std::vector<const Access*> there;
        for (const Access* x : entry.second) {
          const Box box = box_of(*x);
          if (box.row <= row && row < box.row_end && box.column <= column && column < box.column_end)
            there.push_back(x);
        }
        out.insert(std::move(there));
      }
  }
  return out;
}

NaiveDetector::Races NaiveDetector::races() const {
  Races out;
  for (const std::vector<const Access*>& all : conflicts()) judge(all, out);
  return out;
}

void NaiveDetector::judge(const std::vector<const Access*>& all, Races& out) const {
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
        if (observes(all, earlier, k) && is_over(*all[k], b.node) &&
            (b.proxy == Proxy::generic || is_fenced(*all[k], b)))
          is_linked = true;
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

}  // namespace kiln::test

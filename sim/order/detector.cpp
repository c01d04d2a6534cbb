#include "sim/order/detector.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ptx/isa/tmem.hpp"
#include "ptx/isa/wgmma.hpp"
#include "ptx/rules/order.hpp"
#include "ptx/rules/tcgen05_ld.hpp"
#include "sim/core/machine.hpp"

namespace kiln::sim {
namespace {

using isa::Opcode;

}  // namespace

// Numbers of operations mean something within a cluster; what later ones must know of, their records keep.
void RaceDetector::keep_completions() {
  for (auto x = accesses_.rbegin(); x != accesses_.rend() && x->cluster == cluster_number_; ++x)
    x->completion = completion_of(*x);
}

void RaceDetector::start(Cluster& cluster, std::uint32_t launch) {
  keep_completions();
  const Grid& grid = cluster.grid;
  memo_.forget();
  ++events_;
  if (launch != launch_) begin_launch(grid);
  if (code_ != grid.program.code || launch != launch_) {
    code_ = grid.program.code;
    definitions_ = std::make_unique<flow::Definitions>(*code_);
  }
  cluster_ = &cluster;
  launch_ = launch;
  ++cluster_number_;
  threads_ = (std::uint32_t(grid.launch.block.volume()) + warp_lanes - 1) / warp_lanes * warp_lanes;
  const auto count = std::uint32_t(cluster.ctas.size());
  streams_.reset(count * threads_);
  thread_states_.assign(std::size_t(count) * threads_, {});
  completions_.clear();
  payloads_.clear();
  first_async_ = grid.last_async + 1;
  cluster_barrier_.clear();
  slot_of_.clear();
  last_use_ = {};
  ctas_.resize(count);
  for (std::uint32_t r = 0; r < count; ++r) {
    // Shadows keep their memory from one cluster to the next.
    Shadow shared = std::move(ctas_[r].shared), tensor = std::move(ctas_[r].tensor);
    CtaState& c = ctas_[r] = {};
    c.shared = std::move(shared);
    c.tensor = std::move(tensor);
    c.index = cluster.ctas[r].index;
    slot_of_[c.index] = r;
    c.shared.reset(cluster.ctas[r].shared.size() / Shadow::granule + 1);
    c.tensor.reset(tensor_memory_cells);
    Knowledge initial;
    const Stamp life{streams_.of(StreamKind::life, r, 0), 1};
    initial.seen.happened.raise(life);
    initial.seen.published.raise(life);
    for (std::uint32_t w = 0; w < threads_ / warp_lanes; ++w)
      c.warps.push_back({WarpKnowledge(r * threads_ + w * warp_lanes, initial), 0, 0, 0, {}});
  }
}

RaceDetector::CtaState& RaceDetector::cta(std::uint32_t index) {
  if (last_cta_ >= ctas_.size() || ctas_[last_cta_].index != index) last_cta_ = slot_of_.at(index);
  return ctas_[last_cta_];
}

std::uint32_t RaceDetector::thread_number(const Agent& a) const {
  return a.warp * warp_lanes + std::uint32_t(first_lane(a.lanes));
}

RaceDetector::ThreadState& RaceDetector::thread(const Agent& a) {
  return thread_states_[rank(cta(a.cta)) * threads_ + thread_number(a)];
}

Completion& RaceDetector::completion(AsyncId id) {
  if (id - first_async_ >= completions_.size()) completions_.resize(id - first_async_ + 1);
  return completions_[id - first_async_];
}

void RaceDetector::issue(AsyncId id, const Agent& a, const ir::Operation& op) {
  ++events_;
  ThreadState& t = thread(a);
  CtaState& c = cta(a.cta);
  WarpState& w = warp(a);
  const auto stream = [&](StreamKind kind) { return streams_.of(kind, rank(c), thread_number(a)); };
  Completion& x = completion(id);
  if (isa::unit(op.opcode) == isa::Unit::tcgen05) {
    x.done = {stream(StreamKind::tensor), ++t.tensor};
    if (t.tensor_version != w.knowledge.version()) t.tensor_issue = w.knowledge.message(a.lanes);
    t.tensor_version = w.knowledge.version();
  } else if (op.opcode == Opcode::wgmma_mma_async || op.opcode == Opcode::wgmma_mma_async_sp) {
    // The four warps of a warpgroup execute it together, and it completes for all of them.
    x.done = {streams_.of(StreamKind::warpgroup, rank(c), a.warp / isa::warps_per_warpgroup), w.wgmma + 1};
  } else if (op.opcode == Opcode::cp_async) {
    x.done = {stream(StreamKind::copies), t.copies + 1};
  } else if (op.modifiers.completion == isa::Completion::bulk_group) {
    x.done = {stream(StreamKind::bulk), t.bulk + 1};
    x.read = {stream(StreamKind::bulk_read), t.bulk + 1};
  }
}

AccessId RaceDetector::record(const Agent& a, const ir::Operation& op, const Range& range, AccessKind kind, Proxy proxy,
                              AsyncId id) {
  WarpState& w = warp(a);
  const Access& last = accesses_[w.last];
  const bool writes_accumulator = id && range.space == isa::Space::reg && kind == AccessKind::write;
  const std::uint64_t accumulator = (range.address & 0xFFFF) << 32 | range.bytes;
  const bool strong = kind == AccessKind::atomic || is_strong(op);
  const std::uint64_t tick = kind == AccessKind::read && id == 0 ? 0 : cluster_->tick;
  if (last.operation == &op && last.epoch == w.knowledge.epoch() && last.async == id && last.proxy == proxy &&
      last.cluster == cluster_number_ && last.is_async == (id != 0) && last.strong == strong && last.tick == tick) {
    if (writes_accumulator) accesses_[w.last].accumulator = accumulator;
    return w.last;
  }
  Access x;
  x.operation = &op;
  x.cluster = cluster_number_;
  x.cta = a.cta;
  x.warp = a.warp;
  x.component = w.knowledge.component(0);
  x.epoch = w.knowledge.epoch();
  x.async = id;
  x.is_async = id != 0;
  if (id) x.completion = completion(id);
  if (proxy == Proxy::tensor_memory && id == 0) start_warp_operation(a, x);
  x.proxy = proxy;
  x.tick = tick;
  x.strong = strong;
  x.reach = order::reach_of(op.modifiers.scope);
  if (writes_accumulator) x.accumulator = accumulator;
  if (accesses_.size() >= most_accesses_) forget_accesses();
  accesses_.push_back(x);
  return w.last = AccessId(accesses_.size() - 1);
}

void RaceDetector::access(const Agent& a, const ir::Operation& op, const Range& range, AccessKind kind, Proxy proxy,
                          AsyncId id) {
  if (proxy == Proxy::tensormap) ++events_, learn_map_acquires(a);
  const AccessId access = record(a, op, range, kind, proxy, id);
  if (id && kind == AccessKind::read && isa::is_shared(range.space)) accesses_[access].source = range.address;
  if (proxy == Proxy::generic && id == 0) follow_flag(a, op, range, kind);
  if (range.space == isa::Space::reg)
    touch_tensor(a, access, range, kind);
  else
    touch_bytes(a, access, range, kind);
  if (range.space == isa::Space::global) return;
  if (range.cta != a.cta) use_remote(a, cta(range.cta), op);
  if (range.cta == a.cta && !id) return;
  // Once for the many ranges of one operation.
  const std::tuple use{access, range.cta, kind == AccessKind::read};
  if (use == last_use_) return;
  last_use_ = use;
  note_use(a, cta(range.cta), access, id, kind == AccessKind::read);
}

template <class F>
void RaceDetector::each_access(F f) {
  page_lists_->each_access(f);
  f(prior_access_);
  for (auto& [number, page] : pages_) page->each_access(f);
  for (CtaState& c : ctas_) {
    for (Shadow* s : {&c.shared, &c.tensor}) s->each_access(f), s->lists().each_access(f);
    for (WarpState& w : c.warps) f(w.last);
    for (auto& [component, use] : c.uses.latest) f(use.access);
    for (Use& use : c.uses.open) f(use.access);
  }
}

// Keeps the records that something still refers to, in their order.
void RaceDetector::forget_accesses() {
  memo_.forget();
  ++events_;
  std::vector<AccessId> place(accesses_.size());
  each_access([&](AccessId& id) { place[id] = 1; });
  place[0] = 0;
  AccessId next = 1;
  for (AccessId id = 1; id < place.size(); ++id) {
    if (!place[id]) continue;
    accesses_[next] = accesses_[id];
    place[id] = next++;
  }
  accesses_.resize(next);
  each_access([&](AccessId& id) { id = place[id]; });
  last_use_ = {};
  most_accesses_ = std::max(most_accesses_, 2 * accesses_.size());
}

// tcgen05.ld and st are asynchronous operations of their warp.
void RaceDetector::start_warp_operation(const Agent& a, Access& x) {
  const ir::Operation& op = *x.operation;
  const bool loads = isa::is_tensor_load(op.opcode);
  if (!loads && op.opcode != Opcode::tcgen05_st) return;
  WarpState& w = warp(a);
  Epoch& issued = loads ? w.loads : w.stores;
  const auto kind = loads ? StreamKind::tensor_load : StreamKind::tensor_store;
  x.is_async = true;
  x.completion.done = {streams_.of(kind, rank(cta(a.cta)), a.warp), ++issued};
  if (!loads) return;
  const auto written = definitions_->written(code_->index(op));
  w.pending.push_back({issued, &op, {written.begin(), written.end()}});
}

void RaceDetector::execute(const Agent& a, const ir::Operation& op) {
  WarpState& w = warp(a);
  if (w.pending.empty() || op.opcode == Opcode::tcgen05_wait_ld) return;
  ++events_;
  const std::uint32_t index = code_->index(op);
  const auto read = definitions_->read(index), written = definitions_->written(index);
  for (auto& load : w.pending) {
    if (load.operation == &op) continue;
    const auto uses = [&](ir::RegisterId r) {
      if (std::find(read.begin(), read.end(), r) != read.end()) {
        const rules::Verdict v = rules::step(rules::LdState::pending, rules::LdEvent::read).verdict;
        report_once(v, load.operation, a, op, [&]() -> Found {
          return {code_->registers[r].name, {{"loaded here", code_->where(*load.operation)}}};
        });
        return true;
      }
      return std::find(written.begin(), written.end(), r) != written.end();
    };
    std::erase_if(load.registers, uses);
  }
  const auto is_left = [](const WarpState::PendingLoad& p) { return !p.registers.empty(); };
  const auto first = std::find_if(w.pending.begin(), w.pending.end(), is_left);
  const Epoch done = first == w.pending.end() ? w.loads : first->number - 1;
  w.pending.erase(w.pending.begin(), first);
  const Stamp stamp{streams_.of(StreamKind::tensor_load, rank(cta(a.cta)), a.warp), done};
  w.knowledge.change(all_lanes, [&](Mask, Knowledge& k) { k.seen.happened.raise(stamp); });
}

void RaceDetector::use_remote(const Agent& a, CtaState& owner, const ir::Operation& op) {
  const Stamp life{streams_.of(StreamKind::life, rank(owner), 0), 1};
  const Message& seen = warp(a).knowledge.of(first_lane(a.lanes)).seen;
  const auto name = [&] { return fmt::format("CTA {} of the cluster", rank(owner)); };
  report(rules::cluster_start(seen.happened.knows(life) || seen.published.knows(life)), a, op,
         [&]() -> Found { return {name() + ", whose start is not known here"}; });
  report(rules::cta_exit(!owner.exited), a, op,
         [&]() -> Found { return {"an access to " + name() + ", which has exited"}; });
}

void RaceDetector::note_use(const Agent& a, CtaState& owner, AccessId access, AsyncId id, bool reads) {
  const auto keep = [&](Stamp done, AccessId by) {
    Use& use = owner.uses.latest[done.component];
    if (done.epoch >= use.done.epoch) use = {done, by, 0};
  };
  if (id == 0) {
    for (Mask m = a.lanes; m; m &= m - 1) keep(warp(a).knowledge.now(first_lane(m)), access);
    return;
  }
  const Completion c = completion(id);
  if (reads && c.read.epoch != Completion::never) return keep(c.read, access);
  if (c.done.epoch != Completion::never) return keep(c.done, access);
  // Those that have completed meanwhile move to where only the latest is kept.
  std::vector<Use>& open = owner.uses.open;
  if (!open.empty() && open.back().async == id) return;
  std::erase_if(open, [&](const Use& u) {
    const Stamp done = completion(u.async).done;
    if (done.epoch != Completion::never) keep(done, u.access);
    return done.epoch != Completion::never;
  });
  open.push_back({{}, access, id});
}

ShadowSize RaceDetector::shadow_size() const {
  ShadowSize s;
  s.global_bytes = page_lists_->memory();
  for (const CtaState& c : ctas_) {
    s.shared_bytes += c.shared.memory() + c.shared.lists().memory();
    s.tensor_bytes += c.tensor.memory() + c.tensor.lists().memory();
  }
  for (const auto& [at, page] : pages_) s.global_bytes += page->memory();
  return s;
}

}  // namespace kiln::sim

#include "sim/order/detector.hpp"

#include <algorithm>

#include "ptx/isa/wgmma.hpp"
#include "sim/machine.hpp"

namespace kiln::sim {
namespace {

using isa::Opcode;

constexpr std::uint16_t whole = 0xFFFF;
constexpr std::uint64_t page_bytes = 4096;
constexpr int lane_block = Shadow::granule;  // lanes of tensor memory in one cell
constexpr std::size_t tensor_cells = std::size_t(isa::tmem_lanes / lane_block) * isa::tmem_columns;

std::uint16_t bits(std::uint64_t first, std::uint64_t last) {
  return std::uint16_t((last - first == Shadow::granule ? whole : (1u << (last - first)) - 1) << first);
}

bool is_strong(const ir::Operation& op, AccessKind kind) {
  const isa::Semantics s = op.modifiers.semantics;
  return kind == AccessKind::atomic || (s != isa::Semantics::none && s != isa::Semantics::weak);
}

}  // namespace

void RaceDetector::start(Cluster& cluster, std::uint32_t launch) {
  const Grid& grid = cluster.grid;
  if (launch != launch_) pages_.clear(), flags_.clear();  // launches run one after the other
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
  async_.clear();
  cluster_barrier_.clear();
  slot_of_.clear();
  ctas_.assign(count, {});
  for (std::uint32_t r = 0; r < count; ++r) {
    CtaState& c = ctas_[r];
    c.index = cluster.ctas[r].index;
    slot_of_[c.index] = r;
    c.shared.reset(cluster.ctas[r].shared.size() / Shadow::granule + 1);
    c.tensor.reset(tensor_cells);
    Knowledge initial;
    const Stamp life{streams_.of(StreamKind::life, r, 0), 1};
    initial.seen.happened.raise(life);
    initial.seen.published.raise(life);
    for (std::uint32_t w = 0; w < threads_ / warp_lanes; ++w)
      c.warps.push_back({WarpKnowledge(r * threads_ + w * warp_lanes, initial), 0, 0, 0, {}});
  }
}

RaceDetector::CtaState& RaceDetector::cta(std::uint32_t index) { return ctas_[slot_of_.at(index)]; }

std::uint32_t RaceDetector::thread_number(const Agent& a) const {
  return a.warp * warp_lanes + std::uint32_t(first_lane(a.lanes));
}

RaceDetector::ThreadState& RaceDetector::thread(const Agent& a) {
  return thread_states_[rank(cta(a.cta)) * threads_ + thread_number(a)];
}

Completion RaceDetector::completion_of(AsyncId id) const {
  const auto found = id ? async_.find(id) : async_.end();
  return found == async_.end() ? Completion{} : found->second.completion;
}

void RaceDetector::issue(AsyncId id, const Agent& a, const ir::Operation& op) {
  ThreadState& t = thread(a);
  CtaState& c = cta(a.cta);
  const auto stream = [&](StreamKind kind) { return streams_.of(kind, rank(c), thread_number(a)); };
  Completion& done = async_[id].completion;
  if (isa::unit(op.opcode) == isa::Unit::tcgen05) {
    done.done = {stream(StreamKind::tensor), ++t.tensor};
    t.tensor_issue = warp(a).knowledge.message(a.lanes);
  } else if (op.opcode == Opcode::wgmma_mma_async || op.opcode == Opcode::wgmma_mma_async_sp) {
    // The four warps of a warpgroup execute it together, and it completes for all of them.
    done.done = {streams_.of(StreamKind::warpgroup, rank(c), a.warp / isa::warps_per_warpgroup), warp(a).wgmma + 1};
  } else if (op.opcode == Opcode::cp_async) {
    done.done = {stream(StreamKind::copies), t.copies + 1};
    t.copies_open = true;
  } else if (op.modifiers.completion == isa::Completion::bulk_group) {
    done.done = {stream(StreamKind::bulk), t.bulk + 1};
    done.read = {stream(StreamKind::bulk_read), t.bulk + 1};
    t.bulk_open = true;
  }
}

AccessId RaceDetector::record(const Agent& a, const ir::Operation& op, const Range& range, AccessKind kind, Proxy proxy,
                              AsyncId id) {
  WarpState& w = warp(a);
  const Access& last = accesses_[w.last];
  const bool writes_accumulator = id && range.space == isa::Space::reg && kind == AccessKind::write;
  if (last.operation == &op && last.epoch == w.knowledge.epoch() && last.async == id && last.proxy == proxy &&
      last.cluster == cluster_number_) {
    if (writes_accumulator) accesses_[w.last].accumulator = (range.address & 0xFFFF) << 32 | range.bytes;
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
  x.proxy = proxy;
  x.strong = is_strong(op, kind);
  if (writes_accumulator) x.accumulator = (range.address & 0xFFFF) << 32 | range.bytes;
  accesses_.push_back(x);
  return w.last = AccessId(accesses_.size() - 1);
}

void RaceDetector::access(const Agent& a, const ir::Operation& op, const Range& range, AccessKind kind, Proxy proxy,
                          AsyncId id) {
  if (proxy == Proxy::tensormap) learn_map_acquires(a);
  if (id && kind == AccessKind::read && isa::is_shared(range.space)) async_[id].source = range.address;
  const AccessId access = record(a, op, range, kind, proxy, id);
  if (proxy == Proxy::generic && id == 0) follow_flag(a, op, range, kind);
  if (range.space == isa::Space::reg) {
    touch_tensor(a, access, range, kind);
  } else if (isa::is_shared(range.space)) {
    touch_shared(a, access, range, kind);
  } else {
    touch_global(a, access, range, kind);
  }
  if (range.space == isa::Space::global) return;
  if (range.cta != a.cta) use_remote(a, cta(range.cta), op);
  if (range.cta != a.cta || id) note_use(a, cta(range.cta), access, id, kind == AccessKind::read);
}

// Lanes that execute one copy with the same source write the same bytes: CUTLASS has a whole warp issue a tensor store.
bool RaceDetector::is_same_copy(const Access& x, const Access& y) const {
  if (x.proxy != Proxy::async || !x.async || !y.async || x.operation != y.operation || x.component != y.component ||
      x.epoch != y.epoch)
    return false;
  const auto first = async_.find(x.async), second = async_.find(y.async);
  return first != async_.end() && second != async_.end() && first->second.source != AsyncOp{}.source &&
         first->second.source == second->second.source;
}

// Whether threads have read what a generic write left, and the later access knows of that: the write has landed, and an
// asynchronous write over it must only come behind the reads.
bool RaceDetector::has_landed(const Shadow& shadow, std::size_t cell, std::uint16_t bytes, const Later& b) const {
  const WarpKnowledge& w = ctas_[slot_of_.at(b.access.cta)].warps[b.access.warp].knowledge;
  std::uint16_t seen = 0;
  shadow.each(cell, bytes, [&](const Touch& t, bool writes) {
    const Access& access = accesses_[t.access];
    if (writes || access.async) return;
    if (is_known({access, t.lanes, false, {}}, b, w, cluster_number_)) seen = std::uint16_t(seen | t.bytes);
  });
  return (bytes & ~seen) == 0;
}

void RaceDetector::touch(Shadow& shadow, std::size_t cell, std::uint16_t bytes, const Later& b, AccessId id,
                         AccessKind kind, const Range& range) {
  const WarpKnowledge& w = ctas_[slot_of_.at(b.access.cta)].warps[b.access.warp].knowledge;
  shadow.each(cell, bytes, [&](const Touch& t, bool writes) {
    const Access& access = accesses_[t.access];
    // Lanes that store to one place with one instruction: PTX lets one of them win.
    if (t.access == id && (access.async || t.lanes == b.lanes || (writes && kind != AccessKind::read))) return;
    // So do threads that execute one store with one value: compilers give several threads what one would do.
    if (kind == AccessKind::rewrite && writes && !access.async && access.operation == b.access.operation) return;
    if (kind == AccessKind::write && writes && is_same_copy(access, b.access)) return;
    const Earlier e{access, t.lanes, writes, completion_of(access.async)};
    auto broken = judge(e, b, w, cluster_number_);
    // An instruction of the whole warp is executed once all lanes are there: what one of them knows will do.
    Later other = b;
    for (Mask rest = b.lanes & (b.lanes - 1); broken && rest; rest &= rest - 1) {
      other.lane = first_lane(rest);
      broken = judge(e, other, w, cluster_number_);
    }
    // The reads behind the write are judged by themselves.
    if (broken == rules::Rule::proxy_fence && kind == AccessKind::write && has_landed(shadow, cell, t.bytes & bytes, b))
      return;
    if (broken) report(*broken, e, b, range);
  });
  const Touch t{id, b.lanes, bytes};
  if (kind != AccessKind::read) return shadow.write(cell, t);
  const bool transitive = !b.access.async || b.access.proxy == Proxy::tensor_memory ||
                          isa::unit(b.access.operation->opcode) == isa::Unit::tcgen05;
  shadow.read(cell, t, [&](const Touch& old) {
    const Access& access = accesses_[old.access];
    if (access.component == b.access.component && old.lanes == b.lanes && !access.async == !b.access.async &&
        access.operation->opcode == b.access.operation->opcode && transitive)
      return true;
    const Earlier e{access, old.lanes, false, completion_of(access.async)};
    return transitive && is_known(e, b, w, cluster_number_);
  });
}

void RaceDetector::touch_cells(const Agent& a, AccessId access, const Range& range, AccessKind kind) {
  const Later b{accesses_[access], first_lane(a.lanes), a.lanes, kind != AccessKind::read, range.space};
  const bool is_global = range.space == isa::Space::global;
  Shadow* shadow = is_global ? nullptr : &cta(range.cta).shared;
  const std::uint64_t end = range.address + range.bytes;
  for (std::uint64_t at = range.address; at < end;) {
    const std::uint64_t base = at / Shadow::granule * Shadow::granule, next = std::min(end, base + Shadow::granule);
    if (is_global && (!shadow || base % page_bytes == 0)) {
      auto& page = pages_[base / page_bytes];
      if (!page) page = std::make_unique<Shadow>(), page->reset(page_bytes / Shadow::granule);
      shadow = page.get();
    }
    const std::uint64_t cell = (is_global ? base % page_bytes : base) / Shadow::granule;
    if (cell < shadow->size()) touch(*shadow, cell, bits(at - base, next - base), b, access, kind, range);
    at = next;
  }
}

void RaceDetector::touch_shared(const Agent& a, AccessId access, const Range& range, AccessKind kind) {
  touch_cells(a, access, range, kind);
}

void RaceDetector::touch_global(const Agent& a, AccessId access, const Range& range, AccessKind kind) {
  touch_cells(a, access, range, kind);
}

void RaceDetector::touch_tensor(const Agent& a, AccessId access, const Range& range, AccessKind kind) {
  WarpState& w = warp(a);
  Access& x = accesses_[access];
  const ir::Operation& op = *x.operation;
  // tcgen05.ld and st are asynchronous operations of their warp.
  const bool loads = op.opcode == Opcode::tcgen05_ld || op.opcode == Opcode::tcgen05_ld_red;
  if (x.async == 0 && (loads || op.opcode == Opcode::tcgen05_st)) {
    Epoch& issued = loads ? w.loads : w.stores;
    const auto stream =
        streams_.of(loads ? StreamKind::tensor_load : StreamKind::tensor_store, rank(cta(a.cta)), a.warp);
    x.async = ~AsyncId{0} - (AsyncId(stream) << 32) - ++issued;
    async_[x.async].completion.done = {stream, issued};
    if (loads) {
      const auto written = definitions_->written(std::uint32_t(&op - code_->operations.data()));
      w.pending.push_back({issued, &op, {written.begin(), written.end()}});
    }
  }
  const Later b{x, first_lane(a.lanes), a.lanes, kind != AccessKind::read, isa::Space::reg};
  const auto lane = std::uint32_t(range.address >> 16), column = std::uint32_t(range.address & 0xFFFF);
  const std::uint32_t columns = std::uint32_t(range.bytes / 4), end = std::min(lane + range.rows, 128u);
  for (std::uint32_t l = lane; l < end;) {
    const std::uint32_t block = l / lane_block, next = std::min<std::uint32_t>(end, (block + 1) * lane_block);
    for (std::uint32_t k = column; k < std::min(column + columns, std::uint32_t(isa::tmem_columns)); ++k)
      touch(cta(range.cta).tensor, std::size_t(block) * isa::tmem_columns + k,
            bits(l - block * lane_block, next - block * lane_block), b, access, kind, range);
    l = next;
  }
}

void RaceDetector::execute(const Agent& a, const ir::Operation& op) {
  WarpState& w = warp(a);
  if (w.pending.empty() || op.opcode == Opcode::tcgen05_wait_ld) return;
  const auto index = std::uint32_t(&op - code_->operations.data());
  const auto read = definitions_->read(index), written = definitions_->written(index);
  for (auto& load : w.pending) {
    if (load.operation == &op) continue;
    const auto uses = [&](ir::RegisterId r) {
      if (std::find(read.begin(), read.end(), r) != read.end()) {
        report(rules::Rule::ld_wait, a, op, code_->registers[r].name, {{"loaded here", code_->where(*load.operation)}});
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
  const std::string name = "CTA " + std::to_string(rank(owner)) + " of the cluster";
  if (!seen.happened.knows(life) && !seen.published.knows(life))
    report(rules::Rule::cluster_start, a, op, name + ", whose start is not known here", {});
  if (owner.exited) report(rules::Rule::cta_exit, a, op, "an access to " + name + ", which has exited", {});
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
  const Completion c = completion_of(id);
  if (reads && c.read.epoch != Completion::never) return keep(c.read, access);
  if (c.done.epoch != Completion::never) return keep(c.done, access);
  // Those that have completed meanwhile move to where only the latest is kept.
  std::vector<Use>& open = owner.uses.open;
  if (!open.empty() && open.back().async == id) return;
  std::erase_if(open, [&](const Use& u) {
    const Stamp done = completion_of(u.async).done;
    if (done.epoch != Completion::never) keep(done, u.access);
    return done.epoch != Completion::never;
  });
  open.push_back({{}, access, id});
}

ShadowSize RaceDetector::shadow_size() const {
  ShadowSize s;
  for (const CtaState& c : ctas_) s.shared_bytes += c.shared.memory(), s.tensor_bytes += c.tensor.memory();
  for (const auto& [at, page] : pages_) s.global_bytes += page->memory();
  return s;
}

}  // namespace kiln::sim

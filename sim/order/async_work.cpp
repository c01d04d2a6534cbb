#include "sim/order/async_work.hpp"

#include <algorithm>

#include "ptx/isa/tensor_copy.hpp"
#include "ptx/rules/tcgen05_ld.hpp"

namespace kiln::sim {

using isa::Opcode;

void AsyncWork::start(const ir::Code& code, bool is_new_launch) {
  if (is_new_launch) definitions_ = std::make_unique<flow::Definitions>(code);
  code_ = &code;
  threads_.assign(agents_.warps() * std::size_t(warp_lanes), {});
  warps_.assign(agents_.warps(), {});
  payloads_.clear();
}

Completion AsyncWork::issue(const Agent& a, const ir::Operation& op) {
  Thread& t = thread(a);
  Completion x;
  if (isa::unit(op.opcode) == isa::Unit::tcgen05) {
    const WarpKnowledge& w = agents_[a];
    x.done = {agents_.stream(StreamKind::tensor, a), ++t.tensor};
    if (t.tensor_version != w.version()) t.tensor_issue = w.message(a.lanes);
    t.tensor_version = w.version();
    warp(a).has_issued = true;
  } else if (op.opcode == Opcode::wgmma_mma_async || op.opcode == Opcode::wgmma_mma_async_sp) {
    // The four warps of a warpgroup execute it together, and it completes for all of them.
    x.done = {agents_.stream(StreamKind::warpgroup, a), warp(a).wgmma + 1};
  } else if (op.opcode == Opcode::cp_async) {
    x.done = {agents_.stream(StreamKind::copies, a), t.copies + 1};
  } else if (op.modifiers.completion == isa::Completion::bulk_group) {
    x.done = {agents_.stream(StreamKind::bulk, a), t.bulk + 1};
    x.read = {agents_.stream(StreamKind::bulk_read, a), t.bulk + 1};
  }
  return x;
}

Completion AsyncWork::issue_transfer(const Agent& a, const ir::Operation& op) {
  Warp& w = warp(a);
  if (op.opcode == Opcode::tcgen05_st) return {{agents_.stream(StreamKind::tensor_store, a), ++w.stores}};
  const auto written = definitions_->written(code_->index(op));
  w.pending.push_back({++w.loads, &op, {written.begin(), written.end()}});
  return {{agents_.stream(StreamKind::tensor_load, a), w.loads}};
}

void AsyncWork::execute(const Agent& a, const ir::Operation& op) {
  Warp& w = warp(a);
  if (w.pending.empty() || op.opcode == Opcode::tcgen05_wait_ld) return;
  const std::uint32_t index = code_->index(op);
  const auto read = definitions_->read(index), written = definitions_->written(index);
  for (PendingLoad& load : w.pending) {
    if (load.operation == &op) continue;
    std::erase_if(load.registers, [&](ir::RegisterId r) {
      if (std::find(read.begin(), read.end(), r) == read.end())
        return std::find(written.begin(), written.end(), r) != written.end();
      const rules::Verdict v = rules::step(rules::LdState::pending, rules::LdEvent::read).verdict;
      const auto describe = [&]() -> Found {
        return {code_->registers[r].name, {{"loaded here", code_->where(*load.operation)}}};
      };
      reports_.report(v, a, op, describe, load.operation);
      return true;
    });
  }
  const auto is_left = [](const PendingLoad& p) { return !p.registers.empty(); };
  const auto first = std::find_if(w.pending.begin(), w.pending.end(), is_left);
  const Epoch done = first == w.pending.end() ? w.loads : first->number - 1;
  w.pending.erase(w.pending.begin(), first);
  learn({a.cta, a.warp, all_lanes}, StreamKind::tensor_load, done);
}

void AsyncWork::sync(const Agent& a, const Sync& s) {
  Warp& w = warp(a);
  switch (s.kind) {
    case SyncKind::wgmma_commit: ++w.wgmma; return;
    case SyncKind::wgmma_wait: return learn(a, StreamKind::warpgroup, w.wgmma > s.value ? w.wgmma - s.value : 0);
    case SyncKind::tcgen05_wait_ld: w.pending.clear(); return learn(a, StreamKind::tensor_load, w.loads);
    case SyncKind::tcgen05_wait_st: return learn(a, StreamKind::tensor_store, w.stores);
    // It releases the completion of what its thread issued, and what was known when that was issued.
    case SyncKind::tcgen05_commit: {
      const Thread& t = thread(a);
      Message& payload = payloads_[s.by] = t.tensor_issue;
      payload.happened.raise({agents_.stream(StreamKind::tensor, a), t.tensor});
      payload.tcgen05.join(payload.happened);  // it implies tcgen05.fence::before_thread_sync
      return end_issue(a);
    }
    default:
      for (const int l : each_lane(a.lanes)) sync_thread({a.cta, a.warp, 1u << l}, s);
  }
}

void AsyncWork::sync_thread(const Agent& a, const Sync& s) {
  Thread& t = thread(a);
  const auto all_but_latest = [&](std::size_t groups) { return groups > s.object ? groups - s.object : 0; };
  switch (s.kind) {
    case SyncKind::bulk_commit: ++t.bulk; return;
    case SyncKind::bulk_wait: learn(a, StreamKind::bulk, all_but_latest(t.bulk)); [[fallthrough]];
    case SyncKind::bulk_wait_read: return learn(a, StreamKind::bulk_read, all_but_latest(t.bulk));
    case SyncKind::cp_async_commit: return t.copy_groups.push_back(++t.copies);
    case SyncKind::cp_async_wait:
      if (s.value) t.copy_groups.push_back(++t.copies);
      if (const std::size_t n = all_but_latest(t.copy_groups.size()))
        learn(a, StreamKind::copies, t.copy_groups[n - 1]);
      return;
    case SyncKind::cp_async_arrive:
      return payloads_[s.by].happened.raise({agents_.stream(StreamKind::copies, a), ++t.copies});
    default: return;
  }
}

}  // namespace kiln::sim

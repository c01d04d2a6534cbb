#include "sim/order/reports.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ptx/isa/tensor_copy.hpp"
#include "ptx/isa/tmem.hpp"
#include "ptx/rules/finding.hpp"
#include "ptx/rules/order.hpp"
#include "sim/core/names.hpp"

namespace kiln::sim {

using isa::Opcode;
using rules::Rule;

namespace {

// What would put the pair in order.
std::string missing(Rule rule, const Earlier& e, const Later& b) {
  if (e.access.cluster == prior_cluster)
    return "repair: griddepcontrol.wait before this access, by its thread or by one that it is ordered after";
  if (&e.access == &b.access)
    return "repair: let one lane store, or give each lane bytes of its own; which value stays is not defined";
  const Opcode first = e.access.operation->opcode;
  const bool tensor = isa::unit(first) == isa::Unit::tcgen05;
  switch (rule) {
    case Rule::proxy_fence:
    case Rule::proxy_fence_read:
      return fmt::format(
          "repair: fence.proxy.async{} by the thread that made the access before it signals, or by the one "
          "that issues the asynchronous operation",
          b.space == isa::Space::global ? ".global" : ".shared::cta");
    case Rule::tensormap_fence:
      return "repair: fence.proxy.tensormap::generic.release after the change, .acquire with the map's address before "
             "the use";
    case Rule::tcgen05_fence:
      return "repair: tcgen05.fence::before_thread_sync before the signal, tcgen05.fence::after_thread_sync after the "
             "wait";
    case Rule::mbarrier_wait_acquire:
      return "repair: .acquire on the wait between the two, at .cluster scope if another CTA arrives";
    case Rule::tcgen05_pipeline: return "repair: tcgen05.commit after the first, and a wait for it before the second";
    default: break;
  }
  if (isa::is_tensor_load(first) || first == Opcode::tcgen05_st) {
    const bool loads = first != Opcode::tcgen05_st;
    return fmt::format(
        "repair: tcgen05.wait::{} after it{}", loads ? "ld" : "st",
        e.access.component == b.access.component ? "" : ", then an arrival that the other thread waits for");
  }
  if (tensor)
    return "repair: tcgen05.commit after it in the same thread, and a wait for that mbarrier before this access";
  if (!e.access.is_async) return "repair: a barrier, or an arrival after the first and a wait before the second";
  if (first == Opcode::cp_async)
    return "repair: cp.async.wait_group (or an mbarrier arrival of the copies) and a barrier";
  if (e.access.operation->modifiers.completion == isa::Completion::bulk_group)
    return fmt::format("repair: cp.async.bulk.wait_group{} by the thread that issued it, and a barrier for the others",
                       e.writes ? "" : ".read");
  return "repair: a wait for the phase of the mbarrier on which it completes";
}

// What would let a read wait for the write that is the first to give what it reads.
std::string missing_before_read(const Later& write) {
  const ir::Operation& op = *write.access.operation;
  const char* wait = "a barrier, or an arrival after the write and a wait before the read";
  if (isa::unit(op.opcode) == isa::Unit::tcgen05 && op.opcode != Opcode::tcgen05_st)
    wait = "tcgen05.commit after the write in the same thread, and a wait for that mbarrier before the read";
  else if (write.access.is_async && op.modifiers.completion == isa::Completion::mbarrier)
    wait = "before the read, a wait for the phase of the mbarrier on which the write completes";
  return fmt::format("the read came too early: nothing else was written there before it; repair: {}", wait);
}

// Whether nothing stands yet where an access begins.
bool holds_nothing(const Cluster& cluster, const Range& r) {
  const auto cta =
      std::find_if(cluster.ctas.begin(), cluster.ctas.end(), [&](const Cta& c) { return c.index == r.cta; });
  if (cta == cluster.ctas.end()) return false;
  if (r.space == isa::Space::reg) return cta->tmem.is_unwritten(int(r.address >> 16), int(r.address & 0xFFFF));
  return isa::is_shared(r.space) && r.address < cta->shared.size() && !cta->shared.is_written(r.address);
}

}  // namespace

std::string Reports::where(const Range& r) const {
  if (r.space == isa::Space::reg) {
    const std::uint64_t lane = r.address >> 16, column = r.address & 0xFFFF;
    return fmt::format("tensor memory, lanes {} to {}, columns {} to {}", lane, lane + r.rows - 1, column,
                       column + r.bytes / 4 - 1);
  }
  if (r.space != isa::Space::global)
    return fmt::format("`{}`", shared_name(grid_->program, std::uint32_t(r.address), std::uint32_t(r.bytes)));
  if (const Region* region = grid_->memory.region(r.address))
    return fmt::format("`{}` from byte {}", region->name, r.address - region->base);
  return fmt::format("global address {:#x}", r.address);
}

diag::Note Reports::note(const std::string& words, const Agent& a, const ir::Operation& op) const {
  return {words + thread_name(*grid_, a.cta, a.warp, a.lanes, op), grid_->program.code->where(op)};
}

// Whether a weak load races with a write: it is noted, for what it has loaded may reach nothing.
bool Reports::note_racing_read(Rule rule, const Earlier& e, const Later& b) {
  if (rule != Rule::race || e.writes == b.writes || e.access.cluster == prior_cluster) return false;
  const Access& read = e.writes ? b.access : e.access;
  if (read.operation->opcode != Opcode::ld || read.strong) return false;
  read_races_.reads.add({grid_->number, grid_->program.code->index(*read.operation), read.cta, read.warp},
                        e.writes ? b.lanes : e.lanes);
  return true;
}

// Whether a read is not in order with the first write of what it was to read. Freed columns are not read again.
bool Reports::is_read_too_early(Rule rule, const Earlier& e, const Later& b, const Range& range) const {
  const bool is_race = rule == Rule::race || rule == Rule::race_async || rule == Rule::race_tmem;
  return is_race && b.writes && !e.writes && b.access.operation->opcode != Opcode::tcgen05_dealloc &&
         e.access.cluster == b.access.cluster && holds_nothing(*cluster_, range);
}

void Reports::report(Rule rule, const Earlier& e, const Later& b, const Range& range) {
  const Access &then = e.access, &now = b.access;
  const bool is_read = note_racing_read(rule, e, b);
  if (!reported_.insert({rule, then.operation, now.operation}).second) return;
  const std::string got = fmt::format("a {} of {} by {}", b.writes ? "write" : "read", where(range),
                                      thread_name(*grid_, now.cta, now.warp, b.lanes, *now.operation));
  diag::Diagnostic d = rules::finding(rule, got);
  d.where = grid_->program.code->where(*now.operation);
  const std::string against = fmt::format("against the {} by ", e.writes ? "write" : "read");
  if (then.cluster == prior_cluster) {
    d.notes.push_back({against + "the grid before this one, which may still run", {}});
  } else {
    d.notes.push_back(note(against, {then.cta, then.warp, e.lanes}, *then.operation));
    if (then.cluster != now.cluster && !beside_) d.notes.back().message += ", which ran before";
  }
  if (const rules::Verdict v = rules::race_unused(false); is_read && v.broken()) {
    diag::Diagnostic& unused = read_races_.unused[grid_->sink.all().size()] = rules::finding(v.rule, got);
    unused.where = d.where, unused.notes = d.notes;
  }
  d.notes.push_back({is_read_too_early(rule, e, b, range) ? missing_before_read(b) : missing(rule, e, b), {}});
  grid_->sink.report(std::move(d));
}

void Reports::publish(Rule rule, const Agent& a, const ir::Operation& op, Found found) {
  diag::Diagnostic d = rules::finding(rule, found.got);
  d.where = grid_->program.code->where(op);
  d.notes = std::move(found.notes);
  const bool at_exit = rule == Rule::cta_exit || rule == Rule::cta_exit_copy;
  if (!at_exit || a.lanes != 1)
    d.notes.push_back({"executed by " + thread_name(*grid_, a.cta, a.warp, a.lanes, op), {}});
  grid_->sink.report(std::move(d));
}

}  // namespace kiln::sim

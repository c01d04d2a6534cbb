// What the detector says: both accesses, who made them, what is missing between them, and the cheapest repair.
#include <fmt/format.h>

#include "ptx/isa/tmem.hpp"
#include "ptx/rules/finding.hpp"
#include "sim/core/machine.hpp"
#include "sim/core/names.hpp"
#include "sim/order/detector.hpp"

namespace kiln::sim {

using isa::Opcode;
using rules::Rule;

std::string RaceDetector::where(const Range& r) const {
  if (r.space == isa::Space::reg) {
    const std::uint64_t lane = r.address >> 16, column = r.address & 0xFFFF;
    return fmt::format("tensor memory, lanes {} to {}, columns {} to {}", lane, lane + r.rows - 1, column,
                       column + r.bytes / 4 - 1);
  }
  if (r.space != isa::Space::global)
    return fmt::format("`{}`", shared_name(cluster_->grid.program, std::uint32_t(r.address), std::uint32_t(r.bytes)));
  if (const Region* region = cluster_->grid.memory.region(r.address))
    return fmt::format("`{}` from byte {}", region->name, r.address - region->base);
  return fmt::format("global address {:#x}", r.address);
}

std::string RaceDetector::missing(Rule rule, const Earlier& e, const Later& b) const {
  if (e.access.cluster == prior_cluster)
    return "repair: griddepcontrol.wait before this access, by its thread or by one that it is ordered behind";
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
      return "repair: fence.proxy.tensormap::generic.release behind the change, .acquire with the map's address before "
             "the use";
    case Rule::tcgen05_fence:
      return "repair: tcgen05.fence::before_thread_sync before the signal, tcgen05.fence::after_thread_sync behind the "
             "wait";
    case Rule::tcgen05_pipeline: return "repair: tcgen05.commit behind the first, and a wait for it before the second";
    default: break;
  }
  if (isa::is_tensor_load(first) || first == Opcode::tcgen05_st) {
    const bool loads = first != Opcode::tcgen05_st;
    return fmt::format(
        "repair: tcgen05.wait::{} behind it{}", loads ? "ld" : "st",
        e.access.component == b.access.component ? "" : ", then an arrival that the other thread waits for");
  }
  if (tensor)
    return "repair: tcgen05.commit behind it in the same thread, and a wait for that mbarrier before this access";
  if (!e.access.is_async) return "repair: a barrier, or an arrival behind the first and a wait before the second";
  if (first == Opcode::cp_async)
    return "repair: cp.async.wait_group (or an mbarrier arrival of the copies) and a barrier";
  if (e.access.operation->modifiers.completion == isa::Completion::bulk_group)
    return fmt::format("repair: cp.async.bulk.wait_group{} by the thread that issued it, and a barrier for the others",
                       e.writes ? "" : ".read");
  return "repair: a wait for the phase of the mbarrier on which it completes";
}

void RaceDetector::report(Rule rule, const Earlier& e, const Later& b, const Range& range) {
  if (!reported_.insert({rule, e.access.operation, b.access.operation}).second) return;
  diag::Diagnostic d = rules::finding(
      rule, fmt::format("a {} of {} by {}", b.writes ? "write" : "read", where(range),
                        thread_name(cluster_->grid, b.access.cta, b.access.warp, b.lanes, *b.access.operation)));
  d.where = code_->where(*b.access.operation);
  const bool here = e.access.cluster == cluster_number_;
  if (e.access.cluster == prior_cluster)
    d.notes.push_back(
        {fmt::format("against the {} by the grid before this one, which may still run", e.writes ? "write" : "read"),
         {}});
  else
    d.notes.push_back(
        {fmt::format("against the {} by {}{}", e.writes ? "write" : "read",
                     thread_name(cluster_->grid, e.access.cta, e.access.warp, e.lanes, *e.access.operation),
                     here ? "" : ", which ran before"),
         code_->where(*e.access.operation)});
  d.notes.push_back({missing(rule, e, b), {}});
  cluster_->grid.sink.report(std::move(d));
}

void RaceDetector::publish(Rule rule, const Agent& a, const ir::Operation& op, Found found) {
  diag::Diagnostic d = rules::finding(rule, found.got);
  d.where = code_->where(op);
  d.notes = std::move(found.notes);
  const bool at_exit = rule == Rule::cta_exit || rule == Rule::cta_exit_copy;
  if (!at_exit || a.lanes != 1)
    d.notes.push_back({"executed by " + thread_name(cluster_->grid, a.cta, a.warp, a.lanes, op), {}});
  cluster_->grid.sink.report(std::move(d));
}

}  // namespace kiln::sim

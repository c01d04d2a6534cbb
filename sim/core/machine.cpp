#include "sim/core/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ptx/diag/error.hpp"
#include "ptx/rules/execution.hpp"
#include "ptx/rules/finding.hpp"

namespace kiln::sim {

std::uint32_t NamedBarrier::arrive(std::uint32_t warp, Mask lanes, Mask live) {
  const auto part = std::find_if(parts.begin(), parts.end(), [&](const Part& p) { return p.warp == warp; });
  const Mask before = part == parts.end() ? 0 : part->lanes;
  if ((live & ~(before | lanes)) == 0) {
    if (part != parts.end()) parts.erase(part);
    return std::uint32_t(warp_lanes - count(before));
  }
  if (part == parts.end())
    parts.push_back({warp, lanes});
  else
    part->lanes |= lanes;
  return std::uint32_t(count(lanes));
}

void NamedBarrier::leave(std::uint32_t warp, Mask live) {
  const auto part = std::find_if(parts.begin(), parts.end(), [&](const Part& p) { return p.warp == warp; });
  if (part == parts.end() || (live & ~part->lanes) != 0) return;
  arrived += std::uint32_t(warp_lanes - count(part->lanes));
  parts.erase(part);
}
namespace {

// Ticks that an adversary holds a completion back while others run: far longer than a machine would, short enough that
// a thread that polls for it does not poll for ever.
constexpr std::uint32_t latest_completion = 1 << 16;

}  // namespace

void BulkGroups::commit() {
  committed.push_back(open ? std::exchange(open, nullptr) : std::make_shared<BulkGroup>());
  while (!committed.empty() && committed.front()->writes_left == 0) committed.pop_front();
}

std::uint32_t Cta::live_threads() const {
  std::uint32_t n = 0;
  for (const Warp& w : warps) n += std::uint32_t(count(w.live));
  return n;
}

void Cta::wake(WaitKind kind) {
  for (Warp& w : warps) w.wake(kind);
}

void Cluster::wake(WaitKind kind) {
  for (Cta& cta : ctas) cta.wake(kind);
}

void Cluster::later(std::uint32_t least, std::uint32_t spread, const ir::Operation* operation,
                    std::function<void()> action, std::uint64_t name) {
  std::uint32_t delay = least + random.below(spread);
  if (grid.options.strategy == Strategy::adversarial) delay = random.below(2) ? 0 : latest_completion;
  events.add({now + delay, 0, name ? name : next_name(), actor.warp, operation, std::move(action)});
}

void Grid::report(const ir::Operation* operation, const rules::Verdict& broken) {
  report(operation, broken.rule, rules::found(broken));
}

void Grid::report(const ir::Operation* operation, rules::Rule rule, const std::string& got) {
  if (!reported.insert({operation, rule}).second) return;
  diag::Diagnostic d = rules::finding(rule, got);
  d.where = place_of(program, operation);
  sink.report(std::move(d));
}

void Grid::report_poison(const ir::Operation* operation, PoisonSource source, std::string_view as) {
  if (source == 0) throw diag::InternalError("poison that no read found");
  if (racing) racing->note_use();
  if (poison.report(source) || !reported.insert({operation, rules::Rule::memory_uninitialised}).second) return;
  const PoisonSources::Read& read = poison[source];
  diag::Diagnostic d = rules::finding(rules::Rule::memory_uninitialised, fmt::format("{} as {}", read.what, as));
  d.where = place_of(program, operation);
  if (read.operation != operation) d.notes.push_back({"it was read here", place_of(program, read.operation)});
  sink.report(std::move(d));
}

std::uint64_t warp_name(const Cta& cta, const Warp& warp) {
  return warp_name(cta.cluster->grid.number, cta.index, warp.index);
}

std::uint64_t Cluster::next_name() { return Random(actor.name + 0x9E3779B97F4A7C15u * ++*actor.asked).next(); }

void check_cta_mask(const Context& c, std::uint32_t mask) {
  const std::size_t ctas = c.cluster->ctas.size();
  require(rules::cluster_mask(mask, std::int64_t(ctas)), "the mask {:#x} in a cluster of {}", mask, ctas);
}

}  // namespace kiln::sim

#include "verifier/explore/premise.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ptx/isa/wgmma.hpp"
#include "ptx/ops/operations.hpp"

namespace kiln::verifier::explore {
namespace {

using isa::Opcode;

constexpr std::uint32_t warp_threads = isa::threads_per_warp;
constexpr std::uint32_t warpgroup_threads = warp_threads * isa::warps_per_warpgroup;

std::uint32_t rounded_up(std::uint32_t n, std::uint32_t unit) { return (n + unit - 1) / unit * unit; }

bool is_of_warpgroup(Opcode o) {
  switch (o) {
    case Opcode::setmaxnreg:
    case Opcode::wgmma_fence:
    case Opcode::wgmma_mma_async:
    case Opcode::wgmma_mma_async_sp:
    case Opcode::tcgen05_ld:
    case Opcode::tcgen05_ld_red:
    case Opcode::tcgen05_st: return true;
    default: return false;
  }
}

bool is_barrier_of_cta(const ir::Operation& op) {
  return isa::unit(op.opcode) == isa::Unit::barrier && op.opcode != Opcode::barrier_cluster_arrive &&
         op.opcode != Opcode::barrier_cluster_wait;
}

bool has_other_dimensions(const ir::Operation& op) {
  return std::any_of(op.arguments.begin(), op.arguments.end(), [](const ir::Argument& a) {
    const auto s = ir::Special(a.id);
    return a.kind == ir::Argument::Kind::special && (s == ir::Special::tid_y || s == ir::Special::tid_z);
  });
}

// The fewest threads that the largest CTA can be cut down to without a thread that the set singles out. A set that goes
// on to the end, as it began or every so often, singles out its first thread.
std::uint32_t fewest_threads(const flow::ThreadSet& set) {
  std::uint32_t first = flow::max_threads, last = 0, gap = 0;
  for (std::uint32_t t = 0; t < flow::max_threads; ++t) {
    if (!set[t]) continue;
    if (first == flow::max_threads)
      first = t;
    else
      gap = std::max(gap, t - last - 1);
    last = t;
  }
  if (first == flow::max_threads) return 0;
  return flow::max_threads - 1 - last > gap ? last + 1 : first + 1;
}

}  // namespace

std::uint32_t suggested_threads(const Facts& facts) {
  std::uint32_t threads = warp_threads;
  const auto need = [&](std::uint32_t n, std::uint32_t unit) { threads = std::max(threads, rounded_up(n, unit)); };
  for (std::uint32_t i = 0; i < facts.code.operations.size(); ++i) {
    const ir::Operation& op = facts.code.operations[i];
    if (has_other_dimensions(op)) return 0;
    const std::uint32_t fewest = fewest_threads(facts.uniformity.threads_at(i));
    if (fewest == 0) continue;
    need(fewest, is_of_warpgroup(op.opcode) ? warpgroup_threads : warp_threads);
    if (!is_barrier_of_cta(op)) continue;
    const ops::Operand count = ops::roles<ops::Barrier>(op).threads;
    if (!count) need(2 * warp_threads, warp_threads);
    if (const auto n = count ? facts.known.constant(*count, 32) : std::nullopt; n && *n <= flow::max_threads)
      need(std::uint32_t(*n), warp_threads);
  }
  return threads;
}

std::string text(const Premise& p) {
  switch (p.fact) {
    case Premise::Fact::block: return fmt::format("with {} threads to a CTA", p.value);
    case Premise::Fact::cluster: return fmt::format("with {} CTA{} to a cluster", p.value, p.value == 1 ? "" : "s");
    case Premise::Fact::grid: return fmt::format("with {} CTAs in the grid", p.value);
    case Premise::Fact::loop: return "where a loop has no step";
  }
  return {};
}

std::string question(Premise::Fact fact) {
  return fact == Premise::Fact::block ? "how many threads a CTA has" : "how many CTAs a cluster has";
}

std::string option(const Premise& p) {
  return fmt::format("--assume {}={}", p.fact == Premise::Fact::block ? "block" : "cluster", p.value);
}

}  // namespace kiln::verifier::explore

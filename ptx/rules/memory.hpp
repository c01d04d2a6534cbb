// Memory accesses: which addresses are legal, and what a read may find there.
#pragma once

#include "ptx/isa/modifiers.hpp"
#include "ptx/rules/verdict.hpp"

namespace kiln::rules {

/// `bytes` bytes at `at` in a memory that reaches from `begin` to `end`.
constexpr Verdict memory_bounds(std::uint64_t at, std::uint64_t bytes, std::uint64_t begin, std::uint64_t end) {
  if (at >= begin && at <= end && bytes <= end - at) return legal;
  return breaks(Rule::memory_bounds, std::int64_t(at));
}

/// `alignment` is a power of two.
constexpr Verdict memory_alignment(std::uint64_t address, std::uint64_t alignment) {
  const std::uint64_t rest = address & (alignment - 1);
  return rest == 0 ? legal
                   : breaks(Rule::memory_alignment, std::int64_t(address), std::int64_t(address - rest + alignment));
}

constexpr Verdict memory_uninitialised(bool written) { return written ? legal : breaks(Rule::memory_uninitialised); }

/// An operand in the shared memory of the CTA with rank `owner`, used by the CTA with rank `rank`.
constexpr Verdict shared_remote(std::uint32_t owner, std::uint32_t rank) {
  return owner == rank ? legal : breaks(Rule::shared_remote, owner, rank);
}

/// What carries a memory order: arrivals at an mbarrier, waits for one, changes of its transaction count, arrivals and
/// waits at the cluster's barrier, fences.
enum class Ordered : std::uint8_t { arrival, wait, transaction, cluster_arrival, cluster_wait, fence, atomic, load, store };

/// The order that it carries, and its scope; the cluster's barrier has no scope.
constexpr Verdict memory_order(Ordered what, isa::Semantics s, isa::Scope scope) {
  using isa::Semantics;
  const bool narrow = scope == isa::Scope::cta || scope == isa::Scope::cluster, bare = scope == isa::Scope::none;
  const bool relaxed = s == Semantics::relaxed, release = s == Semantics::release, acquire = s == Semantics::acquire;
  bool fits = false;
  switch (what) {
    case Ordered::arrival: fits = narrow && (relaxed || release); break;
    case Ordered::wait: fits = narrow && (relaxed || acquire); break;
    case Ordered::transaction: fits = narrow && relaxed; break;
    case Ordered::cluster_arrival: fits = bare && (relaxed || release); break;
    case Ordered::cluster_wait: fits = bare && acquire; break;
    case Ordered::fence: fits = !bare && !relaxed; break;
    case Ordered::atomic: fits = !bare && s != Semantics::sc; break;
    case Ordered::load: fits = !bare && (relaxed || acquire); break;
    case Ordered::store: fits = !bare && (relaxed || release); break;
  }
  return fits ? legal : breaks(Rule::memory_order, int(s));
}

/// An asynchronous read of what threads have stored. `fenced`: a fence.proxy.async may lie between.
constexpr Verdict proxy_fence(bool fenced) { return fenced ? legal : breaks(Rule::proxy_fence); }

constexpr Verdict param_read_only(bool is_parameter) { return is_parameter ? breaks(Rule::param_read_only) : legal; }

}  // namespace kiln::rules

// Memory accesses: where they may lie and what they may find there.
#pragma once

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

/// An asynchronous read of what threads have stored. `fenced`: some fence.proxy.async may lie between.
constexpr Verdict proxy_fence(bool fenced) { return fenced ? legal : breaks(Rule::proxy_fence); }

constexpr Verdict param_read_only(bool is_parameter) { return is_parameter ? breaks(Rule::param_read_only) : legal; }

}  // namespace kiln::rules

// The DSL's own rules: what host code and the kernel builder must respect for the PTX to do what the C++ seems to say.
#pragma once

#include "ptx/rules/verdict.hpp"

namespace kiln::rules {

/// The body of a device loop, branch or role.
constexpr Verdict body_result(bool returns_nothing) { return returns_nothing ? legal : breaks(Rule::body_result); }

/// `visible`: the value's block is still open, in the kernel that is being built.
constexpr Verdict value_scope(bool visible) { return visible ? legal : breaks(Rule::value_scope); }

/// Register `index` of an array of `count`.
constexpr Verdict register_index(int index, int count) {
  return index >= 0 && index < count ? legal : breaks(Rule::register_index, index, count - 1);
}

constexpr Verdict ring_roles(int producers, int consumers) {
  return producers >= 1 && consumers >= 1 ? legal : breaks(Rule::ring_roles, 0, 1);
}
/// `fit`: several roles of a side share its work without a gap and without filling anything twice.
constexpr Verdict ring_shares(bool fit) { return fit ? legal : breaks(Rule::ring_roles, 0, 1); }

/// `released`: every role that reads a slot arrives on its empty barrier.
constexpr Verdict ring_release(bool released) { return released ? legal : breaks(Rule::ring_release); }

/// `whole`: what ends its role early is the role's one thread or a warp of it, no thread that was elected for a while.
constexpr Verdict role_exit(bool whole) { return whole ? legal : breaks(Rule::scope); }

/// A role on warps up to `last` of a CTA of `warps` warps.
constexpr Verdict role_warps(int last, int warps) {
  return last >= 0 && last < warps ? legal : breaks(Rule::role_warps, last, warps - 1);
}

/// `complete`: every parameter is given once, with a value of its type, and nothing else is given.
constexpr Verdict launch_arguments(bool complete) { return complete ? legal : breaks(Rule::launch_arguments); }

}  // namespace kiln::rules

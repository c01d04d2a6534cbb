// How long each role waits for its mbarriers: what a profile of a GPU says, beside the same profile predicted.
#pragma once

#include <string>
#include <vector>

namespace kiln::command {

/// Of a role's warps: the part of their time that they wait for an mbarrier, from a CTA's first record to its last, in
/// percent. A wait that one of the two profiles does not have is 0 there.
struct RoleWait {
  std::string role{}, mbarrier{};
  double measured = 0, predicted = 0;
};

/// Of two profiles of one instrumented kernel, as `--profile` writes them. What a record costs, and the latency of a
/// wait that has nothing to wait for, is in both. Throws InputError for what is no profile.
std::vector<RoleWait> role_waits(const std::string& measured, const std::string& predicted);

std::string waits_text(const std::vector<RoleWait>&);
/// A summary in JSON with the waits in it.
std::string with_waits(const std::string& summary, const std::vector<RoleWait>&);

}  // namespace kiln::command

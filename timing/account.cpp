#include "timing/account.hpp"

#include <algorithm>
#include <numeric>

namespace kiln::timing {

std::string_view spelling(Stall s) {
  switch (s) {
    case Stall::arithmetic: return "results of arithmetic";
    case Stall::shared_memory: return "shared memory";
    case Stall::global_memory: return "global memory";
    case Stall::tensor_memory: return "tensor memory";
    case Stall::issue: return "the scheduler";
    case Stall::barrier: return "barriers of the CTA";
    case Stall::cluster_barrier: return "barriers of the cluster";
    case Stall::fence: return "fences and releases";
    case Stall::mma_queue: return "room for an MMA";
    case Stall::copies: return "its own copies";
    case Stall::wgmma: return "wgmma";
    case Stall::columns: return "columns of tensor memory";
    case Stall::mbarrier: return "mbarriers";
    case Stall::lanes: return "lanes of its warp";
  }
  return "";
}

double RoleTime::waited() const {
  double sum = std::accumulate(stalls.begin(), stalls.end(), 0.0);
  for (const auto& [name, cycles] : mbarriers) sum += cycles;
  return sum;
}

std::vector<std::pair<std::string, double>> RoleTime::reasons() const {
  std::vector<std::pair<std::string, double>> out(mbarriers.begin(), mbarriers.end());
  for (std::size_t k = 0; k < stall_count; ++k)
    if (stalls[k] > 0) out.emplace_back(spelling(Stall(k)), stalls[k]);
  std::stable_sort(out.begin(), out.end(), [](const auto& x, const auto& y) { return x.second > y.second; });
  return out;
}

Roles::Roles(const sim::Program& program, std::uint32_t warps) {
  const auto& operations = program.code->operations;
  std::map<std::string_view, std::uint32_t> known;
  bool any = false;
  for (const ir::Operation& op : operations) {
    const std::string_view role = role_of(program, op);
    any |= !role.empty();
    const auto [at, is_new] = known.try_emplace(role, std::uint32_t(known.size()));
    if (is_new) times_.push_back({role.empty() ? "no role" : std::string(role)});
    by_operation_.push_back(at->second);
  }
  by_operation_.push_back(by_operation_.empty() ? 0 : by_operation_.back());  // the exit after the last
  if (any) return;
  by_operation_.clear();
  times_.clear();
  for (std::uint32_t w = 0; w < warps; ++w) times_.push_back({"warp " + std::to_string(w)});
}

std::vector<RoleTime> Roles::times() const {
  std::vector<RoleTime> out;
  for (const RoleTime& t : times_)
    if (t.issued > 0) out.push_back(t);
  return out;
}

}  // namespace kiln::timing

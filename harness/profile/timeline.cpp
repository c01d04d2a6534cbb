#include <fmt/format.h>

#include <map>

#include "harness/profile/profile.hpp"
#include "harness/views/trace_json.hpp"

namespace kiln::harness {
namespace {

constexpr const char* ticks_note =
    "simulated ticks, not time, and those of the instrumented kernel; a tick is shown as one microsecond";
constexpr const char* time_note = "time on the GPU of the instrumented kernel, whose records take time too";

std::string cta_name(const launch::Launch& l, const WarpProfile& w, std::size_t launches) {
  const std::uint64_t x = w.cta % l.grid.x, y = w.cta / l.grid.x % l.grid.y, z = w.cta / l.grid.x / l.grid.y;
  return fmt::format("{}CTA ({}, {}, {}) on SM {}", launches > 1 ? fmt::format("launch {}, ", w.launch + 1) : "", x, y,
                     z, w.sm);
}

void add(sim::Trace& trace, const ProfilePlan& plan, const WarpProfile& w, std::uint32_t process) {
  const std::string role = role_of(plan, w);
  trace.tracks.push_back(
      {process, w.warp, role.empty() ? fmt::format("warp {}", w.warp) : fmt::format("warp {}: {}", w.warp, role)});
  for (std::size_t i = 0; i < w.phases.size(); ++i) {
    const ProfilePhase& p = w.phases[i];
    const ProfileSite& site = plan.sites[p.site];
    sim::TraceSlice slice{process, w.warp, p.begin, p.end, std::string(spelling(site.phase)), {}};
    if (!site.role.empty()) slice.arguments.emplace_back("role", site.role);
    if (!site.barrier.empty()) slice.arguments.emplace_back("mbarrier", fmt::format("{}[{}]", site.barrier, p.index));
    const bool last = i + 1 == w.phases.size();
    if (last && w.dropped) slice.arguments.emplace_back("phases without room", std::int64_t(w.dropped));
    if (last && !w.finished) slice.arguments.emplace_back("unfinished", std::int64_t{1});
    trace.slices.push_back(std::move(slice));
  }
}

}  // namespace

std::string profile_json(const ProfilePlan& plan, const launch::Contract& contract,
                         const std::vector<WarpProfile>& warps, const std::string& kernel, ProfileClock clock) {
  sim::Trace trace;
  std::map<std::pair<std::size_t, std::uint64_t>, std::uint32_t> processes;
  for (const WarpProfile& w : warps) {
    const auto [process, is_new] = processes.try_emplace({w.launch, w.cta}, std::uint32_t(processes.size()));
    if (is_new)
      trace.processes.push_back({process->second, cta_name(contract.launches[w.launch], w, contract.launches.size())});
    add(trace, plan, w, process->second);
  }
  return trace_json(trace, kernel,
                    clock == ProfileClock::simulated ? TraceClock{ticks_note, 1, {}} : TraceClock{time_note, 1000, {}});
}

}  // namespace kiln::harness

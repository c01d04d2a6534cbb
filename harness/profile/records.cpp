// Reads what warps wrote. Words that no warp wrote are still poison.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>

#include "harness/profile/profile.hpp"
#include "harness/views/trace_json.hpp"

namespace kiln::harness {
namespace {

constexpr std::uint64_t unwritten = ~std::uint64_t{0};

// A warp's bytes as they stand.
struct Raw {
  const std::uint8_t* bytes;
  std::uint64_t at(std::uint64_t offset) const {
    std::uint64_t word;
    std::memcpy(&word, bytes + offset, sizeof word);
    return word;
  }
  std::uint64_t sm() const { return at(0); }
  std::uint64_t time() const { return at(8); }
  std::uint64_t clock() const { return at(16); }
  std::uint64_t count() const { return at(32); }
  std::uint64_t end_time() const { return at(40); }
  std::uint64_t end_clock() const { return at(48); }
  bool began() const { return clock() != unwritten; }
  bool ended() const { return end_clock() != unwritten; }
};

/// The clocks of all SMs as nanoseconds. The global timer moves in steps, so that its latest reading against a clock is
/// the nearest; how many nanoseconds a clock takes is known best from the warp that lived longest.
class Clocks {
 public:
  void add(const Raw& r) {
    readings_.push_back({r.sm(), r.clock(), r.time()});
    if (!r.ended()) return;
    readings_.push_back({r.sm(), r.end_clock(), r.end_time()});
    const std::uint64_t life = r.end_clock() - r.clock();
    if (life <= longest_ || r.end_time() <= r.time()) return;
    longest_ = life;
    rate_ = double(r.end_time() - r.time()) / double(life);
  }

  void settle() {
    origin_ = std::numeric_limits<std::uint64_t>::max();
    for (const Reading& r : readings_) origin_ = std::min(origin_, r.time);
    for (const Reading& r : readings_) {
      const auto [sm, is_new] = offsets_.try_emplace(r.sm, Offset{r.clock, double(r.time - origin_)});
      const double here = sm->second.time + rate_ * (double(r.clock) - double(sm->second.clock));
      if (!is_new && double(r.time - origin_) > here) sm->second = {r.clock, double(r.time - origin_)};
    }
  }

  std::uint64_t nanoseconds(std::uint64_t sm, std::uint64_t clock) const {
    const Offset& o = offsets_.at(sm);
    return std::uint64_t(std::max(0.0, o.time + rate_ * (double(clock) - double(o.clock))));
  }

 private:
  struct Reading {
    std::uint64_t sm, clock, time;
  };
  struct Offset {
    std::uint64_t clock;
    double time;
  };
  std::vector<Reading> readings_{};
  std::map<std::uint64_t, Offset> offsets_{};
  std::uint64_t origin_ = 0, longest_ = 0;
  double rate_ = 1;
};

struct Record {
  std::uint64_t what = 0, clock = 0;
};

// The first `written` records of a warp, in the order of their clocks. Lanes that have parted count their own records,
// so that those of one stand between those of the other, or over them.
std::vector<Record> records_of(const ProfilePlan& plan, const Raw& raw, std::uint64_t written) {
  std::vector<Record> out;
  for (std::uint64_t i = 0; i < written; ++i) {
    const std::uint64_t at = ProfilePlan::header_bytes + i * ProfilePlan::record_bytes;
    const Record r{raw.at(at), raw.at(at + 8)};
    if (r.what == unwritten || r.clock == unwritten || std::uint32_t(r.what) >= plan.sites.size()) break;
    out.push_back(r);
  }
  std::stable_sort(out.begin(), out.end(), [](const Record& a, const Record& b) { return a.clock < b.clock; });
  return out;
}

WarpProfile read_warp(const ProfilePlan& plan, const Raw& raw, const Clocks& clocks) {
  WarpProfile w;
  w.sm = std::uint32_t(raw.sm());
  w.finished = raw.ended();
  const auto time = [&](std::uint64_t clock) { return clocks.nanoseconds(raw.sm(), clock); };
  const std::uint64_t written = raw.ended() ? std::min<std::uint64_t>(raw.count(), plan.records) : plan.records;
  if (raw.ended()) w.dropped = raw.count() - written;
  for (const Record& r : records_of(plan, raw, written)) {
    const std::uint64_t begin = time(r.clock);
    const ProfilePhase phase{std::uint32_t(r.what), std::uint32_t(r.what >> 32), begin, begin};
    if (!w.phases.empty()) w.phases.back().end = phase.begin;
    const bool goes_on =
        !w.phases.empty() && w.phases.back().site == phase.site && w.phases.back().index == phase.index;
    if (!goes_on) w.phases.push_back(phase);
  }
  if (raw.ended() && !w.phases.empty() && w.dropped == 0)
    w.phases.back().end = std::max(w.phases.back().begin, time(raw.end_clock()));
  return w;
}

std::string shown(const ProfilePlan& plan, const ProfilePhase& phase) {
  const ProfileSite& site = plan.sites[phase.site];
  if (site.barrier.empty()) return std::string(spelling(site.phase));
  return fmt::format("{} {}[{}]", spelling(site.phase), site.barrier, phase.index);
}

constexpr const char* ticks_note =
    "simulated ticks, not time, and those of the instrumented kernel; a tick is shown as one microsecond";
constexpr const char* cycles_note =
    "predicted cycles of the instrumented kernel, of the clusters that were run; a cycle is shown as one microsecond";
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

std::string_view spelling(Phase p) {
  switch (p) {
    case Phase::setup: return "Setup";
    case Phase::wait_tma: return "WaitTMA";
    case Phase::issue_tma: return "IssueTMA";
    case Phase::wait_mma: return "WaitMMA";
    case Phase::issue_mma: return "IssueMMA";
    case Phase::wait_mainloop: return "WaitMainloop";
    case Phase::epilogue: return "Epilogue";
    case Phase::wait_epilogue: return "WaitEpilogue";
    case Phase::run: return "Run";
    case Phase::cleanup: return "Cleanup";
  }
  return "";
}

std::vector<WarpProfile> read_profile(const ProfilePlan& plan, const launch::Contract& contract) {
  const launch::Buffer& buffer = contract.at(ProfilePlan::buffer);
  const auto raw = [&](std::uint64_t warp) { return Raw{buffer.bytes.data() + warp * plan.warp_bytes()}; };
  Clocks clocks;
  for (std::uint64_t i = 0; i < buffer.shape[0]; ++i)
    if (raw(i).began()) clocks.add(raw(i));
  clocks.settle();
  std::vector<WarpProfile> out;
  for (std::size_t l = 0; l < plan.first_warps.size(); ++l) {
    const std::uint64_t warps = (contract.launches[l].block.volume() + 31) / 32;
    const std::uint64_t end = l + 1 < plan.first_warps.size() ? plan.first_warps[l + 1] : buffer.shape[0];
    for (std::uint64_t i = plan.first_warps[l]; i < end; ++i) {
      if (!raw(i).began()) continue;
      WarpProfile w = read_warp(plan, raw(i), clocks);
      w.launch = l;
      w.cta = (i - plan.first_warps[l]) / warps;
      w.warp = std::uint32_t((i - plan.first_warps[l]) % warps);
      out.push_back(std::move(w));
    }
  }
  return out;
}

std::vector<WarpEnds> read_ends(const ProfilePlan& plan, const launch::Contract& contract,
                                const std::vector<std::uint8_t>& bytes) {
  std::vector<WarpEnds> out;
  for (std::size_t l = 0; l < plan.first_warps.size(); ++l) {
    const std::uint64_t of_cta = (contract.launches[l].block.volume() + 31) / 32;
    const std::uint64_t warps = of_cta * contract.launches[l].grid.volume();
    for (std::uint64_t w = 0; w < warps; ++w) {
      const Raw raw{bytes.data() + (plan.first_warps[l] + w) * plan.warp_bytes()};
      if (raw.began() && raw.ended())
        out.push_back(
            {l, w / of_cta, std::uint32_t(raw.sm()), raw.time(), raw.end_time(), raw.end_clock() - raw.clock()});
    }
  }
  return out;
}

std::string role_of(const ProfilePlan& plan, const WarpProfile& w) {
  std::map<std::string, int> counts;
  for (const ProfilePhase& p : w.phases) {
    const ProfileSite& site = plan.sites[p.site];
    if (!site.role.empty() && site.phase != Phase::setup && site.phase != Phase::cleanup) ++counts[site.role];
  }
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](auto& a, auto& b) { return a.second < b.second; });
  return most == counts.end() ? std::string() : most->first;
}

std::vector<std::string> last_phases(const ProfilePlan& plan, const std::vector<WarpProfile>& warps) {
  std::map<std::string, int> counts;
  for (const WarpProfile& w : warps) {
    if (w.finished || w.phases.empty()) continue;
    const std::string role = plan.sites[w.phases.back().site].role;
    ++counts[fmt::format("{}: {}", role.empty() ? fmt::format("warp {}", w.warp) : role, shown(plan, w.phases.back()))];
  }
  std::vector<std::pair<std::string, int>> order(counts.begin(), counts.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> out;
  for (const auto& [what, count] : order)
    out.push_back(fmt::format("{} ({} warp{})", what, count, count == 1 ? "" : "s"));
  return out;
}

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
  const auto noted = [&]() -> TraceClock {
    switch (clock) {
      case ProfileClock::simulated: return {ticks_note, 1, {}};
      case ProfileClock::predicted: return {cycles_note, 1, {}};
      case ProfileClock::gpu: return {time_note, 1000, {}};
    }
    return {};
  };
  return trace_json(trace, kernel, noted());
}

}  // namespace kiln::harness

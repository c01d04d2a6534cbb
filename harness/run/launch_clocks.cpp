#include "harness/run/launch_clocks.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace kiln::harness {
namespace {

LaunchClock clock_of(std::size_t launch, const std::vector<WarpEnds>& warps) {
  std::uint64_t first = warps.front().begin_ns, last = 0;
  std::set<std::uint64_t> ctas;
  std::set<std::uint32_t> sms;
  for (const WarpEnds& w : warps) {
    first = std::min(first, w.begin_ns), last = std::max(last, w.end_ns);
    ctas.insert(w.cta), sms.insert(w.sm);
  }
  double cycles = 0, lived = 0;
  for (const WarpEnds& w : warps)
    if (2 * (w.end_ns - w.begin_ns) >= last - first) cycles += double(w.cycles), lived += double(w.end_ns - w.begin_ns);
  if (lived == 0)  // CTAs one after the other: none of them is long
    for (const WarpEnds& w : warps) cycles += double(w.cycles), lived += double(w.end_ns - w.begin_ns);
  return {launch, lived > 0 ? cycles / lived : 0, double(last - first), ctas.size(), sms.size()};
}

}  // namespace

std::vector<LaunchClock> launch_clocks(const std::vector<WarpEnds>& all) {
  std::map<std::size_t, std::vector<WarpEnds>> by_launch;
  for (const WarpEnds& w : all) by_launch[w.launch].push_back(w);
  std::vector<LaunchClock> out;
  for (const auto& [launch, warps] : by_launch) out.push_back(clock_of(launch, warps));
  return out;
}

}  // namespace kiln::harness

#include "tools/command/time_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "tools/command/json.hpp"
#include "tools/command/report/console.hpp"

namespace kiln::command {
namespace {

using nlohmann::ordered_json;
using timing::Predicted;

constexpr std::size_t most_reasons = 3, most_parts = 6;
constexpr double least_share = 0.01;  // of a role's cycles, to be worth a line

std::string cycles(double value) { return grouped(static_cast<unsigned long long>(std::llround(value))); }
std::string cycles(const Predicted& p) {
  return fmt::format("{} cycles ({} to {})", cycles(p.value), cycles(p.least), cycles(p.most));
}

std::string microseconds(double seconds) { return fmt::format("{:.1f}", seconds * 1e6); }

std::string role_lines(const timing::RoleTime& role, double whole) {
  std::string text = fmt::format("    {:<14} {:>12} {:>12}  ", role.name, cycles(role.issued), cycles(role.waited()));
  std::string reasons;
  const auto all = role.reasons();
  for (std::size_t k = 0; k < std::min(most_reasons, all.size()); ++k)
    if (all[k].second >= least_share * whole)
      reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", cycles(all[k].second), all[k].first);
  return text + reasons + "\n";
}

// How far the launch is from the best that the chip could do with its work.
std::string roofline_text(const timing::LaunchTime& l) {
  const timing::Roof& top = l.roofs.front();
  if (top.cycles <= 0) return {};
  std::string text = fmt::format("    roofline: {} cycles by {}, {:.0f} % of it is reached", cycles(top.cycles),
                                 top.name, 100 * top.cycles / l.cycles.value);
  for (std::size_t k = 1; k < l.roofs.size(); ++k)
    if (l.roofs[k].cycles > 0) text += fmt::format("; {} by {}", cycles(l.roofs[k].cycles), l.roofs[k].name);
  text += "\n";
  if (l.operations > 0 && l.hbm_bytes > 0)
    text += fmt::format("    {:.3g} operations, {:.3g} for each byte of HBM's, {:.3g} for each of L2's\n", l.operations,
                        l.operations / l.hbm_bytes, l.operations / l.l2_bytes);
  return text;
}

// What decides, by the critical path.
std::string path_text(const timing::ClusterTime& c) {
  std::string text = "\n    critical path\n";
  for (std::size_t k = 0; k < std::min(most_parts, c.path.size()); ++k)
    if (c.path[k].cycles >= least_share * c.cycles)
      text += fmt::format("    {:>12}{:>5.0f} %  {}\n", cycles(c.path[k].cycles), 100 * c.path[k].cycles / c.cycles,
                          c.path[k].what);
  return text;
}

std::string launch_text(const timing::LaunchTime& l) {
  const timing::ClusterTime& c = l.cluster;
  std::string text = fmt::format("  {}: {}\n", l.entry.empty() ? "the kernel" : l.entry, cycles(l.cycles));
  text += fmt::format("    grid: {} cluster{} of {} CTA{}, {} at once, {}\n", grouped(c.clusters),
                      c.clusters == 1 ? "" : "s", c.ctas, c.ctas == 1 ? "" : "s", grouped(c.resident),
                      c.takes_clusters ? std::string("which take each other's work")
                                       : fmt::format("{} wave{}", l.waves, l.waves == 1 ? "" : "s"));
  text += fmt::format("    the first cluster: {}\n", cycles(l.cluster_cycles));
  if (l.grid.kinds > 1)
    text += fmt::format("    clusters differ: {} were run, which take {} on average\n", l.grid.ran,
                        cycles(l.grid.busy / double(l.cluster.clusters)));
  if (l.grid.adds > 0)
    text += fmt::format("    adds up what others left, where it comes last: {} cycles more\n", cycles(l.grid.adds));
  if (l.start_cycles > 0) text += fmt::format("    a start with cold caches: {} cycles\n", cycles(l.start_cycles));
  if (l.hidden_cycles > 0)
    text +=
        fmt::format("    begins before the launch before it is over: {} cycles are hidden\n", cycles(l.hidden_cycles));
  text += fmt::format("    binds: {}\n", l.binds);
  if (l.hbm_bytes > 0)
    text += fmt::format("    HBM gives {:.1f} MB, each byte once: at least {} cycles\n", l.hbm_bytes * 1e-6,
                        cycles(l.hbm_cycles));
  text += roofline_text(l);
  text += "\n    resource          busy\n";
  for (const timing::Use& u : c.uses)
    if (u.busy > 0) text += fmt::format("    {:<18}{:>3.0f} %\n", u.name, 100 * u.busy / c.cycles);
  text += path_text(c);
  text += "\n    role                 issued       waited  for\n";
  for (const timing::RoleTime& role : c.roles) text += role_lines(role, c.cycles);
  return text + "\n";
}

ordered_json json_of(const Predicted& p) { return {{"value", p.value}, {"least", p.least}, {"most", p.most}}; }

ordered_json json_of(const timing::LaunchTime& l) {
  ordered_json out{{"entry", l.entry},
                   {"cycles", json_of(l.cycles)},
                   {"cluster_cycles", json_of(l.cluster_cycles)},
                   {"clusters", l.cluster.clusters},
                   {"ctas_per_cluster", l.cluster.ctas},
                   {"resident_clusters", l.cluster.resident},
                   {"takes_clusters", l.cluster.takes_clusters},
                   {"waves", l.waves},
                   {"clusters_run", l.grid.ran},
                   {"kinds_of_clusters", l.grid.kinds},
                   {"mmas", l.cluster.mmas},
                   {"tensor_use", l.tensor_use},
                   {"start_cycles", l.start_cycles},
                   {"adds_cycles", l.grid.adds},
                   {"hidden_cycles", l.hidden_cycles},
                   {"hbm_bytes", l.hbm_bytes},
                   {"hbm_cycles", l.hbm_cycles},
                   {"binds", l.binds},
                   {"binds_share", l.binds_share}};
  ordered_json resources = ordered_json::array(), roles = ordered_json::array();
  for (const timing::Use& u : l.cluster.uses) resources.push_back({{"name", u.name}, {"busy_cycles", u.busy}});
  for (const timing::RoleTime& r : l.cluster.roles) {
    ordered_json waits = ordered_json::array();
    for (const auto& [name, waited] : r.reasons()) waits.push_back({{"for", name}, {"cycles", waited}});
    roles.push_back({{"name", r.name}, {"issued", r.issued}, {"waited", r.waited()}, {"waits", waits}});
  }
  ordered_json path = ordered_json::array();
  for (const timing::PathPart& p : l.cluster.path) path.push_back({{"what", p.what}, {"cycles", p.cycles}});
  ordered_json roofs = ordered_json::array();
  for (const timing::Roof& r : l.roofs) roofs.push_back({{"name", r.name}, {"cycles", r.cycles}});
  out["roofline"] = {{"operations", l.operations}, {"l2_bytes", l.l2_bytes}, {"roofs", roofs}};
  out["resources"] = resources, out["roles"] = roles, out["critical_path"] = path;
  return out;
}

}  // namespace

std::string time_text(const std::string& name, const timing::Chip& chip, const timing::Prediction& p,
                      const std::vector<WhatIf>& changes, const std::vector<std::string>& advice) {
  std::string text = fmt::format("predicted: {} on {}\n\n", name, chip.title);
  for (const timing::LaunchTime& l : p.launches) text += launch_text(l);
  text +=
      fmt::format("  predicted: {}; at {:.4g} GHz{} {} us ({} to {}), and {:.3g} us for a launch\n", cycles(p.cycles),
                  p.clock, p.by_law ? " (the chip's law)" : "", microseconds(p.seconds.value),
                  microseconds(p.seconds.least), microseconds(p.seconds.most), p.launch_us * double(p.launches.size()));
  for (const WhatIf& w : changes)
    text += fmt::format("  what if {}: {} cycles, {:+.1f} %; {} us\n", w.what, cycles(w.cycles.value),
                        100 * (w.cycles.value / p.cycles.value - 1), microseconds(w.seconds.value));
  for (const std::string& a : advice) text += fmt::format("  advice: {}\n", a);
  text += fmt::format("  products: {}\n",
                      p.values ? "computed" : "left out, nothing that the kernel decides depends on them");
  text += fmt::format("  assumed: {}\n", p.l2_is_warm ? "L2 holds the buffers, if they fit"
                                                      : "L2 holds something else when the launch begins");
  if (!p.facts.empty()) text += "  facts that matter, each at the slow end of its trust:\n";
  for (const timing::FactEffect& f : p.facts)
    text += fmt::format("    {:<18}{:>8} {}  {:+.0f} cycles, {:+.1f} %\n", f.name,
                        f.value > 0 ? fmt::format("{:g}", f.value) : "", spelling(f.trust), f.cycles,
                        100 * f.cycles / p.cycles.value);
  text += "  not modelled:\n";
  for (const std::string& what : p.unmodelled) text += fmt::format("    {}\n", what);
  return text;
}

std::string time_json(const std::string& name, const timing::Chip& chip, const timing::Prediction& p,
                      const std::vector<WhatIf>& changes, const std::vector<std::string>& advice) {
  ordered_json launches = ordered_json::array();
  for (const timing::LaunchTime& l : p.launches) launches.push_back(json_of(l));
  ordered_json facts = ordered_json::array();
  for (const timing::FactEffect& f : p.facts)
    facts.push_back({{"name", f.name}, {"value", f.value}, {"trust", spelling(f.trust)}, {"cycles", f.cycles}});
  ordered_json out{{"predicted", true},
                   {"kernel", name},
                   {"chip", chip.name},
                   {"clock_ghz", p.clock},
                   {"clock_by_law", p.by_law},
                   {"cycles", json_of(p.cycles)},
                   {"seconds", json_of(p.seconds)},
                   {"launch_us", p.launch_us * double(p.launches.size())},
                   {"products_computed", p.values},
                   {"l2", p.l2_is_warm ? "warm" : "cold"},
                   {"launches", launches},
                   {"facts", facts},
                   {"not_modelled", p.unmodelled}};
  if (!advice.empty()) out["advice"] = advice;
  for (const WhatIf& w : changes)
    out["what_if"].push_back({{"what", w.what}, {"cycles", json_of(w.cycles)}, {"seconds", json_of(w.seconds)}});
  return versioned(out);
}

}  // namespace kiln::command

#include "tools/command/time_views.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "harness/views/svg.hpp"

namespace kiln::command {
namespace {

using harness::escaped;
using timing::Span;

constexpr double page_width = 1100, label_width = 210, row = 16;  // pixels
constexpr double least_width = 0.2;                               // of a span that is drawn

// A colour for each reason, the same on every page.
std::string colour(const Span& s) {
  if (s.lane == "tensor core") return "#2a9d4e";
  if (s.lane == "copies") return "#3b7dd8";
  unsigned hash = 2166136261u;
  for (const char c : s.what) hash = (hash ^ unsigned(static_cast<unsigned char>(c))) * 16777619u;
  return fmt::format("hsl({},65%,62%)", hash % 360);
}

std::vector<std::string> lanes_of(const timing::ClusterTime& c) {
  std::vector<std::string> lanes;
  for (const Span& s : c.spans) {
    const std::string lane = fmt::format("CTA {} {}", s.cta, s.lane);
    if (std::find(lanes.begin(), lanes.end(), lane) == lanes.end()) lanes.push_back(lane);
  }
  std::sort(lanes.begin(), lanes.end());
  return lanes;
}

std::string timeline(const timing::ClusterTime& c) {
  const std::vector<std::string> lanes = lanes_of(c);
  const double width = page_width - label_width, scale = c.cycles > 0 ? width / c.cycles : 0;
  std::string svg =
      fmt::format("<svg class=\"timeline\" width=\"{}\" height=\"{}\">\n", page_width, row * double(lanes.size() + 1));
  for (std::size_t k = 0; k < lanes.size(); ++k)
    svg += fmt::format("<text x=\"0\" y=\"{}\">{}</text>\n", row * double(k) + 12, escaped(lanes[k]));
  std::map<std::string, double> drawn;  // until where, by lane: what is narrower than a pixel is drawn once
  for (const Span& s : c.spans) {
    const std::string lane = fmt::format("CTA {} {}", s.cta, s.lane);
    const double x = s.begin * scale, w = (s.end - s.begin) * scale;
    if (w < least_width && x < drawn[lane]) continue;
    drawn[lane] = std::max(drawn[lane], x + std::max(w, 0.5));
    const auto k = double(std::find(lanes.begin(), lanes.end(), lane) - lanes.begin());
    svg += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{}\" width=\"{:.2f}\" height=\"{}\" fill=\"{}\"><title>{}: {:.0f} to {:.0f}</title>"
        "</rect>\n",
        label_width + x, row * k + 1, std::max(w, 0.4), row - 3, colour(s), escaped(s.what), s.begin, s.end);
  }
  return svg + fmt::format(
                   "<text x=\"{}\" y=\"{}\">0</text><text x=\"{}\" y=\"{}\" text-anchor=\"end\">{:.0f} cycles"
                   "</text></svg>\n",
                   label_width, row * double(lanes.size()) + 12, page_width, row * double(lanes.size()) + 12, c.cycles);
}

std::string bar(const std::string& name, double share, const std::string& said) {
  return fmt::format(
      "<tr><td>{}</td><td><div class=\"bar\"><div style=\"width:{:.1f}%\"></div></div></td><td>{}</td></tr>\n",
      escaped(name), 100 * std::clamp(share, 0.0, 1.0), escaped(said));
}

std::string launch_part(const timing::LaunchTime& l) {
  const timing::ClusterTime& c = l.cluster;
  std::string html = fmt::format(
      "<h2>{}</h2>\n<p>{:.0f} cycles ({:.0f} to {:.0f}); {} clusters of {} CTAs, {} at once; "
      "binds: <b>{}</b></p>\n",
      escaped(l.entry.empty() ? "the kernel" : l.entry), l.cycles.value, l.cycles.least, l.cycles.most, c.clusters,
      c.ctas, c.resident, escaped(l.binds));
  html += "<h3>Resources: how much of the first cluster's time each is busy</h3>\n<table>\n";
  for (const timing::Use& u : c.uses)
    if (u.busy > 0) html += bar(u.name, u.busy / c.cycles, fmt::format("{:.0f} %", 100 * u.busy / c.cycles));
  html += "</table>\n<h3>Roles: what their warps wait for, cycles</h3>\n<table>\n";
  for (const timing::RoleTime& r : c.roles) {
    const double all = r.issued + r.waited();
    html += bar(r.name, all > 0 ? r.issued / all : 0, fmt::format("{:.0f} issued of {:.0f}", r.issued, all));
    for (const auto& [what, cycles] : r.reasons())
      if (cycles >= 0.01 * all) html += bar("  waits for " + what, cycles / all, fmt::format("{:.0f}", cycles));
  }
  html += "</table>\n";
  if (!c.spans.empty())
    html += "<h3>Timeline of the first cluster: waits of warps, MMAs, loads on their way</h3>\n" + timeline(c);
  return html;
}

}  // namespace

std::string time_trace(const timing::Prediction& p) {
  nlohmann::ordered_json events = nlohmann::ordered_json::array();
  const double us = p.clock > 0 ? 1e-3 / p.clock : 1e-3;
  int process = 0;
  for (const timing::LaunchTime& l : p.launches) {
    std::map<std::pair<std::uint32_t, std::string>, int> threads;
    for (std::uint32_t cta = 0; cta < l.cluster.ctas; ++cta)
      events.push_back({{"ph", "M"},
                        {"name", "process_name"},
                        {"pid", process + int(cta)},
                        {"args", {{"name", fmt::format("{}, CTA {}", l.entry.empty() ? "kernel" : l.entry, cta)}}}});
    for (const Span& s : l.cluster.spans) {
      const auto [at, fresh] = threads.try_emplace({s.cta, s.lane}, int(threads.size()) + 1);
      if (fresh)
        events.push_back({{"ph", "M"},
                          {"name", "thread_name"},
                          {"pid", process + int(s.cta)},
                          {"tid", at->second},
                          {"args", {{"name", s.lane}}}});
      events.push_back({{"ph", "X"},
                        {"name", s.what},
                        {"pid", process + int(s.cta)},
                        {"tid", at->second},
                        {"ts", s.begin * us},
                        {"dur", (s.end - s.begin) * us}});
    }
    process += int(l.cluster.ctas);
  }
  return nlohmann::ordered_json{{"displayTimeUnit", "ns"}, {"traceEvents", events}}.dump() + "\n";
}

std::string time_page(const std::string& name, const timing::Chip& chip, const timing::Prediction& p) {
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}: predicted</title>\n<style>\n"
      "body {{ font: 14px sans-serif; margin: 2em; max-width: 1150px; color: #222 }}\n"
      "td {{ padding: 1px 10px 1px 0; white-space: pre }}\n"
      ".bar {{ width: 300px; height: 11px; background: #eee }} .bar div {{ height: 11px; background: #3b7dd8 }}\n"
      ".timeline text {{ font: 11px sans-serif }}\n</style></head>\n<body>\n<h1>{0} on {1}: predicted</h1>\n"
      "<p><b>{2:.0f} cycles</b> ({3:.0f} to {4:.0f}); at {5:.4g} GHz {6:.1f} us ({7:.1f} to {8:.1f}), and {9:.3g} us "
      "for "
      "launches. Nothing here was measured.</p>\n",
      escaped(name), escaped(chip.title), p.cycles.value, p.cycles.least, p.cycles.most, p.clock, p.seconds.value * 1e6,
      p.seconds.least * 1e6, p.seconds.most * 1e6, p.launch_us * double(p.launches.size()));
  for (const timing::LaunchTime& l : p.launches) html += launch_part(l);
  html += "<h3>Not modelled</h3>\n<ul>\n";
  for (const std::string& what : p.unmodelled) html += "<li>" + escaped(what) + "</li>\n";
  return html + "</ul>\n</body></html>\n";
}

}  // namespace kiln::command

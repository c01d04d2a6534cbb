// kiln merge: results of --schedules N --json, put together, and caches of `kiln tune`; and how such a result reads.
#include <fmt/format.h>

#include <memory>

#include "harness/json/json_node.hpp"
#include "harness/tune/tune_cache.hpp"
#include "ptx/diag/error.hpp"
#include "tools/command/json.hpp"
#include "tools/command/read_source.hpp"
#include "tools/command/schedules.hpp"

namespace kiln::command {
namespace {

using harness::SchedulesReport;

constexpr const char* merge_examples =
    "  kiln merge part-1.json part-2.json part-3.json\n"
    "  kiln merge part-*.json --json > all.json         a result again\n"
    "  kiln merge tune-*.json > tune.json               caches of kiln tune; a measured entry wins";

struct MergeArguments {
  std::vector<std::string> files{};
  bool json = false;
};

std::string seeds_text(const SchedulesReport& r) {
  if (r.seeds.empty()) return "";
  const std::uint64_t first = *r.seeds.begin(), last = *r.seeds.rbegin();
  if (first == last) return fmt::format(", seed {}", first);
  return fmt::format(", seeds {} to {}{}", first, last, last - first + 1 == r.seeds.size() ? "" : " with gaps");
}

std::string again(const SchedulesReport& r, std::uint64_t first) {
  if (r.exploration)
    return fmt::format("first in order {}; --save-schedule FILE writes that of the first error", first);
  return fmt::format("first with --schedule {} --seed {}", r.strategy, first);
}

std::string exploration_text(const SchedulesReport& r) {
  const auto& e = *r.exploration;
  std::string text =
      fmt::format("  explored {} order{}, {} run{} given up: {}\n", e.traces, e.traces == 1 ? "" : "s", e.abandoned,
                  e.abandoned == 1 ? "" : "s", e.complete ? "complete" : "cut by the limit, there are more");
  if (e.clusters > 1)
    text += fmt::format("  left out: other orders of the {} clusters, and clusters side by side; seeds choose those\n",
                        e.clusters);
  if (e.peeks)
    text += "  left out: that a wait which is no loop answers false while others go on; seeds and pct choose that\n";
  return text;
}

// Whether a text is a cache of `kiln tune`. One that is no JSON at all is for parse_schedules to refuse.
bool is_tune_cache(std::string_view text, const std::string& file) {
  try {
    const harness::Json j = harness::parse_json(text, file);
    return j.is_object() && j.contains("tune_cache");
  } catch (const diag::InputError&) {
    return false;
  }
}

int merge_caches(const MergeArguments& a) {
  harness::TuneCache all;
  for (const std::string& file : a.files) all.merge(harness::TuneCache::read(read_source(file)->text(), file));
  print(all.json());
  return Exit::clean;
}

int merge(const MergeArguments& a) {
  if (is_tune_cache(read_source(a.files.front())->text(), a.files.front())) return merge_caches(a);
  SchedulesReport all;
  for (const std::string& file : a.files) all.merge(harness::parse_schedules(read_source(file)->text(), file, nullptr));
  diag::Sink findings;
  const std::string text = schedules_text(all, findings);
  print_findings(findings);
  print(a.json ? versioned(harness::schedules_json(all)) : text);
  return all.exit_code();
}

}  // namespace

std::string schedules_text(const SchedulesReport& r, diag::Sink& findings) {
  for (const harness::FoundIn& f : r.findings) {
    diag::Diagnostic d = f.finding;
    d.notes.push_back({fmt::format("in {} of {} schedules, {}", f.count, r.runs, again(r, f.first)), {}});
    findings.report(std::move(d));
  }
  std::string out =
      fmt::format("{}\n  {} schedule{}: {}{}\n", r.name, r.runs, r.runs == 1 ? "" : "s", r.strategy, seeds_text(r));
  if (r.exploration) out += exploration_text(r);
  for (const auto& [outcome, n] : r.outcomes) out += fmt::format("  {} {}\n", n, outcome);
  if (!r.wrong.empty())
    out += fmt::format("  {} with wrong results, {}: {}\n", r.wrong.size(), again(r, r.wrong.begin()->first),
                       r.wrong.begin()->second);
  out += fmt::format("  {} distinct order{} of synchronisation operations\n", r.traces.size(),
                     r.traces.size() == 1 ? "" : "s");
  const int code = r.exit_code();
  out += code == Exit::errors ? "fail" : code == Exit::incomplete ? "incomplete" : "pass";
  out += ": simulated on the CPU, not run on a GPU";
  if (!findings.all().empty()) out += "; " + diag::summary(findings);
  return out + "\n";
}

void add_merge(const Builder& builder) {
  CLI::App* sub =
      builder.add("merge", "Put results of --schedules N --json, or caches of kiln tune, together", merge_examples);
  auto a = std::make_shared<MergeArguments>();
  sub->add_option("FILE", a->files, "results, each of other seeds; or caches")->required();
  sub->add_flag("--json", a->json, "print the result as JSON");
  sub->callback([a, &action = builder.action] { action = [a] { return merge(*a); }; });
}

}  // namespace kiln::command

// Reports of many schedules as JSON: what `--json` prints, `--merge` reads and the processes of `--jobs` send.
#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "harness/schedules/schedules.hpp"
#include "ptx/diag/refuse.hpp"

namespace kiln::harness {
namespace {

using Json = nlohmann::ordered_json;

constexpr int result_version = 1;
constexpr std::array severities{diag::Severity::error, diag::Severity::portability, diag::Severity::note,
                                diag::Severity::incomplete};

Json where_json(const diag::Where& w) {
  Json j;
  if (w.source) {
    const diag::LineColumn at = w.source->position(w.place.begin);
    j = {{"file", w.source->name()},
         {"line", at.line},
         {"column", at.column},
         {"begin", w.place.begin},
         {"end", w.place.end}};
    if (w.line) j["behind"] = {{"file", w.file}, {"line", w.line}};
  } else {
    j = {{"file", w.file}, {"line", w.line}};
  }
  return j;
}

diag::Where where_of(const Json& j, const diag::SourcePtr& source) {
  diag::Where w;
  if (source && j.contains("begin")) {
    w.source = source;
    w.place = {j.at("begin").get<std::uint32_t>(), j.at("end").get<std::uint32_t>()};
    if (j.contains("behind")) {
      w.file = j["behind"].at("file").get<std::string>();
      w.line = j["behind"].at("line").get<unsigned>();
    }
  } else {
    w.file = j.at("file").get<std::string>();
    w.line = j.at("line").get<unsigned>();
  }
  return w;
}

Json finding_json(const FoundIn& f) {
  const diag::Diagnostic& d = f.finding;
  Json j = {{"severity", diag::spelling(d.severity)}, {"slug", d.slug}, {"message", d.message}};
  j.update(where_json(d.where));
  j["reference"] = d.reference;
  j["notes"] = Json::array();
  for (const diag::Note& n : d.notes) {
    Json note = {{"message", n.message}};
    note.update(where_json(n.where));
    j["notes"].push_back(std::move(note));
  }
  j["fixits"] = Json::array();
  for (const diag::FixIt& x : d.fixits)
    j["fixits"].push_back({{"begin", x.place.begin}, {"end", x.place.end}, {"text", x.text}});
  j["first"] = f.first;
  j["count"] = f.count;
  return j;
}

FoundIn finding_of(const Json& j, const diag::SourcePtr& source) {
  FoundIn f;
  const auto severity = j.at("severity").get<std::string>();
  for (const diag::Severity s : severities)
    if (diag::spelling(s) == severity) f.finding.severity = s;
  f.finding.slug = j.at("slug").get<std::string>();
  f.finding.message = j.at("message").get<std::string>();
  f.finding.reference = j.at("reference").get<std::string>();
  f.finding.where = where_of(j, source);
  for (const Json& n : j.at("notes"))
    f.finding.notes.push_back({n.at("message").get<std::string>(), where_of(n, source)});
  if (source)
    for (const Json& x : j.at("fixits"))
      f.finding.fixits.push_back(
          {{x.at("begin").get<std::uint32_t>(), x.at("end").get<std::uint32_t>()}, x.at("text").get<std::string>()});
  f.first = j.at("first").get<std::uint64_t>();
  f.count = j.at("count").get<std::uint64_t>();
  return f;
}

// Seeds as [first, last] ranges.
Json ranges_json(const std::set<std::uint64_t>& seeds) {
  Json out = Json::array();
  for (const std::uint64_t s : seeds) {
    if (!out.empty() && out.back()[1].get<std::uint64_t>() + 1 == s)
      out.back()[1] = s;
    else
      out.push_back({s, s});
  }
  return out;
}

SchedulesReport report_of(const Json& j, const diag::SourcePtr& source) {
  SchedulesReport r;
  r.name = j.at("name").get<std::string>();
  r.strategy = j.at("schedule").get<std::string>();
  r.runs = j.at("schedules").get<std::uint64_t>();
  for (const Json& range : j.at("seeds"))
    for (auto s = range.at(0).get<std::uint64_t>(); s <= range.at(1).get<std::uint64_t>(); ++s) r.seeds.insert(s);
  if (!r.seeds.empty() && r.seeds.size() != r.runs) throw diag::InputError("as many seeds as schedules must be named");
  for (const auto& [word, n] : j.at("outcomes").items()) r.outcomes[word] = n.get<std::uint64_t>();
  for (const Json& w : j.at("wrong")) r.wrong[w.at("seed").get<std::uint64_t>()] = w.at("what").get<std::string>();
  for (const Json& t : j.at("traces")) r.traces.insert(std::stoull(t.get<std::string>(), nullptr, 16));
  for (const Json& f : j.at("findings")) r.findings.push_back(finding_of(f, source));
  r.first_bad = j.at("first_bad").get<std::uint64_t>();
  r.incomplete = j.at("incomplete").get<bool>();
  return r;
}

}  // namespace

std::string schedules_json(const SchedulesReport& r) {
  Json j = {{"kiln_schedules", result_version},
            {"name", r.name},
            {"schedule", r.strategy},
            {"schedules", r.runs},
            {"seeds", ranges_json(r.seeds)},
            {"exit_code", r.exit_code()},
            {"first_bad", r.first_bad},
            {"incomplete", r.incomplete},
            {"outcomes", r.outcomes}};
  if (r.exploration)
    j["exploration"] = {{"traces", r.exploration->traces},
                        {"abandoned", r.exploration->abandoned},
                        {"clusters", r.exploration->clusters},
                        {"peeks", r.exploration->peeks},
                        {"complete", r.exploration->complete}};
  j["wrong"] = Json::array();
  for (const auto& [seed, what] : r.wrong) j["wrong"].push_back({{"seed", seed}, {"what", what}});
  j["distinct_traces"] = r.traces.size();
  j["traces"] = Json::array();
  for (const std::uint64_t t : r.traces) j["traces"].push_back(fmt::format("{:016x}", t));
  j["findings"] = Json::array();
  for (const FoundIn& f : r.findings) j["findings"].push_back(finding_json(f));
  return j.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

SchedulesReport parse_schedules(std::string_view text, const std::string& name, const diag::SourcePtr& source) {
  const Json j = Json::parse(text, nullptr, false);
  if (!j.is_object() || !j.contains("kiln_schedules"))
    diag::refuse("{}: is no result of `kiln --schedules N --json`", name);
  if (j["kiln_schedules"] != result_version)
    diag::refuse("{}: is a result of version {}; this Kiln reads version {}", name, j["kiln_schedules"].dump(),
                 result_version);
  if (j.contains("exploration")) diag::refuse("{}: is an exploration; those cannot be put together", name);
  try {
    return report_of(j, source);
  } catch (const std::exception& e) {
    diag::refuse("{}: is a damaged result: {}", name, e.what());
  }
}

}  // namespace kiln::harness

#include "tools/command/baseline.hpp"

#include <cctype>
#include <filesystem>

#include "harness/json/json_node.hpp"
#include "tools/command/read_source.hpp"

namespace kiln::command {
namespace {

constexpr int baseline_version = 1;

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }

// The statement without spaces at its ends and without the numbers at the ends of registers (%r12) and labels
// ($L__BB0_3).
std::string unnumbered(std::string_view line) {
  std::string out;
  for (std::size_t i = 0; i < line.size();) {
    const bool named = line[i] == '%' || line[i] == '$';
    std::size_t end = i + 1;
    while (named && end < line.size() && is_word(line[end])) ++end;
    std::size_t kept = end;
    while (named && kept > i + 1 && is_digit(line[kept - 1])) --kept;
    out.append(line.substr(i, kept - i));
    i = end;
  }
  const std::size_t first = out.find_first_not_of(" \t\r"), last = out.find_last_not_of(" \t\r");
  return first == std::string::npos ? "" : out.substr(first, last + 1 - first);
}

std::string statement(const diag::Diagnostic& d) {
  if (!d.where.source || d.where.place.empty()) return d.message;
  return unnumbered(d.where.source->line(d.where.source->position(d.where.place.begin).line));
}

}  // namespace

Baseline::Kind Baseline::kind(const diag::Diagnostic& d) {
  const std::string& path = d.where.source ? d.where.source->name() : d.where.file;
  return {std::filesystem::path(path).filename().string(), std::string(spelling(d.severity)), d.slug, statement(d)};
}

Baseline Baseline::of(const diag::Sink& sink) {
  Baseline out;
  for (const diag::Diagnostic& d : sink.all()) ++out.places_[kind(d)];
  return out;
}

Baseline Baseline::read(const std::string& path) {
  const harness::Json json = harness::parse_json(read_source(path)->text(), path);
  const harness::JsonNode root(json, path);
  root.expect_object({"baseline", "findings"});
  root.at("baseline").whole(baseline_version, baseline_version);
  Baseline out;
  root.at("findings").each_element(0, json["findings"].size(), [&](std::size_t, const harness::JsonNode& f) {
    f.expect_object({"file", "severity", "rule", "statement", "places"});
    const auto text = [&](const char* key) { return f.at(key).text(); };
    out.places_[{text("file"), text("severity"), text("rule"), text("statement")}] += f.at("places").whole(1);
  });
  return out;
}

std::string Baseline::json() const {
  harness::Json findings = harness::Json::array();
  for (const auto& [kind, places] : places_) {
    const auto& [file, severity, rule, statement] = kind;
    findings.push_back(
        {{"file", file}, {"severity", severity}, {"rule", rule}, {"statement", statement}, {"places", places}});
  }
  const harness::Json out = {{"baseline", baseline_version}, {"findings", std::move(findings)}};
  return out.dump(2, ' ', false, harness::Json::error_handler_t::replace) + "\n";
}

diag::Sink Baseline::take_known(const diag::Sink& found) {
  diag::Sink out;
  for (const diag::Diagnostic& d : found.all()) {
    const auto known = places_.find(kind(d));
    if (known != places_.end() && known->second > 0)
      --known->second;
    else
      out.report(d);
  }
  return out;
}

}  // namespace kiln::command

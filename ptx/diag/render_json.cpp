#include "ptx/diag/render_json.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>

namespace kiln::diag {
namespace {

using Json = nlohmann::ordered_json;

Json place_json(const Where& w) {
  Json j;
  j["file"] = w.source ? w.source->name() : w.file;
  if (w.source) {
    const auto begin = w.source->position(w.place.begin), end = w.source->position(w.place.end);
    j["line"] = begin.line;
    j["column"] = begin.column;
    j["end_line"] = end.line;
    j["end_column"] = end.column;
    if (w.line) j["behind"] = {{"file", w.file}, {"line", w.line}};
  } else {
    j["line"] = w.line;
  }
  return j;
}

// A path as a relative reference, or as a file's URI.
std::string uri(std::string_view path) {
  return (path.starts_with('/') ? "file://" : "") + percent_encoded(path, "-._~/!$&'()*+,;=@");
}

// SARIF counts the characters of a line, and a Source its bytes: those that continue a character of UTF-8 do not count.
int character(const Source& source, LineColumn at) {
  const std::string_view before = source.line(at.line).substr(0, std::size_t(std::max(0, at.column - 1)));
  const auto continues = [](char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; };
  return at.column - int(std::count_if(before.begin(), before.end(), continues));
}

Json sarif_region(const Where& w) {
  if (!w.source) return w.line ? Json{{"startLine", w.line}} : Json();
  const auto begin = w.source->position(w.place.begin), end = w.source->position(w.place.end);
  return {{"startLine", begin.line},
          {"startColumn", character(*w.source, begin)},
          {"endLine", end.line},
          {"endColumn", character(*w.source, end)}};
}

// Empty where there is no place.
Json sarif_location(const Where& w) {
  const std::string& file = w.source ? w.source->name() : w.file;
  if (file.empty()) return Json::object();
  Json place = {{"artifactLocation", {{"uri", uri(file)}}}};
  if (Json region = sarif_region(w); !region.is_null()) place["region"] = std::move(region);
  return {{"physicalLocation", std::move(place)}};
}

Json sarif_related(std::string_view message, const Where& w) {
  Json related = sarif_location(w);
  related["message"]["text"] = message;
  return related;
}

std::string_view sarif_level(Severity s) {
  switch (s) {
    case Severity::error: return "error";
    case Severity::portability: return "warning";
    case Severity::note: return "note";
    case Severity::incomplete: return "warning";
  }
  return "none";
}

// One fix with all its edits: to SARIF, several fixes would be a choice.
Json sarif_fix(const Diagnostic& d) {
  Json change;
  for (const FixIt& f : d.fixits) {
    Where at = d.where;
    at.place = f.place;
    const Json location = sarif_location(at)["physicalLocation"];
    change["artifactLocation"] = location["artifactLocation"];
    change["replacements"].push_back({{"deletedRegion", location["region"]}, {"insertedContent", {{"text", f.text}}}});
  }
  return {{"artifactChanges", Json::array({change})}};
}

Json sarif_result(const Diagnostic& d) {
  Json r;
  r["ruleId"] = d.slug.empty() ? "syntax" : d.slug;
  r["level"] = sarif_level(d.severity);
  r["message"]["text"] = d.message;
  r["locations"] = Json::array({sarif_location(d.where)});
  if (d.where.source && d.where.line)
    r["relatedLocations"].push_back(
        sarif_related("the source line of this instruction", {nullptr, {}, d.where.file, d.where.line}));
  for (const Note& n : d.notes) r["relatedLocations"].push_back(sarif_related(n.message, n.where));
  if (!d.fixits.empty()) r["fixes"] = Json::array({sarif_fix(d)});
  r["properties"]["severity"] = spelling(d.severity);
  return r;
}

// Names and messages may hold bytes of an input that is not UTF-8.
std::string dump(const Json& j) { return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace

std::string percent_encoded(std::string_view bytes, std::string_view kept) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80 && (std::isalnum(byte) || kept.find(c) != kept.npos))
      out += c;
    else
      out.append({'%', digits[byte >> 4], digits[byte & 15]});
  }
  return out;
}

std::string render_json(const Sink& sink) {
  Json out;
  out["diagnostics"] = Json::array();
  for (const Diagnostic& d : sink.all()) {
    Json j = {{"severity", spelling(d.severity)}, {"slug", d.slug}, {"message", d.message}};
    j.update(place_json(d.where));
    for (const FixIt& f : d.fixits)
      j["fixits"].push_back({{"begin", f.place.begin}, {"end", f.place.end}, {"text", f.text}});
    for (const Note& n : d.notes) {
      Json note = {{"message", n.message}};
      note.update(place_json(n.where));
      j["notes"].push_back(std::move(note));
    }
    if (!d.reference.empty()) j["reference"] = d.reference;
    out["diagnostics"].push_back(std::move(j));
  }
  for (Severity s : {Severity::error, Severity::portability, Severity::note, Severity::incomplete})
    out["counts"][std::string(spelling(s))] = sink.count(s);
  return dump(out);
}

std::string render_sarif(const Sink& sink) {
  Json run;
  run["tool"]["driver"] = {{"name", "kiln"}, {"rules", Json::array()}};
  std::map<std::string, std::string> rules;
  for (const Diagnostic& d : sink.all()) rules[d.slug.empty() ? "syntax" : d.slug] = d.reference;
  for (const auto& [slug, reference] : rules) {
    Json rule = {{"id", slug}};
    if (!reference.empty()) rule["shortDescription"]["text"] = reference;
    run["tool"]["driver"]["rules"].push_back(std::move(rule));
  }
  run["columnKind"] = "unicodeCodePoints";
  run["results"] = Json::array();
  for (const Diagnostic& d : sink.all()) run["results"].push_back(sarif_result(d));
  Json out;
  out["$schema"] = "https://json.schemastore.org/sarif-2.1.0.json";
  out["version"] = "2.1.0";
  out["runs"] = Json::array({run});
  return dump(out);
}

}  // namespace kiln::diag

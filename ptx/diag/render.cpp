#include "ptx/diag/render.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

namespace kiln::diag {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view bold = "\033[1m", plain = "\033[0m", green = "\033[32m";

std::string_view colour_of(Severity s) {
  switch (s) {
    case Severity::error: return "\033[1;31m";
    case Severity::portability: return "\033[1;35m";
    case Severity::note: return "\033[1;36m";
    case Severity::incomplete: return "\033[1;33m";
  }
  return plain;
}

std::string paint(std::string_view text, std::string_view with, Colour colour) {
  if (colour == Colour::off) return std::string(text);
  return fmt::format("{}{}{}", with, text, plain);
}

std::string head(const Where& w) {
  if (!w.source) return w.line ? fmt::format("{}:{}: ", w.file, w.line) : w.file.empty() ? "" : w.file + ": ";
  if (w.place.empty() && w.place.begin == 0) return w.source->name() + ": ";
  const auto [line, column] = w.source->position(w.place.begin);
  return fmt::format("{}:{}:{}: ", w.source->name(), line, column);
}

// A caret line aligns only if tabs before it stay tabs.
std::string indent_like(std::string_view line, std::size_t columns) {
  std::string out;
  for (std::size_t i = 0; i < columns; ++i) out += i < line.size() && line[i] == '\t' ? '\t' : ' ';
  return out;
}

// The part of a line that is shown: all of it, or a window around the caret when a register vector makes it very long.
struct Window {
  std::string text;
  std::size_t first = 0;  // column of the line that follows `lead`
  std::size_t lead = 0;   // characters put before it
};

Window window_of(std::string_view line, std::size_t at) {
  constexpr std::size_t widest = 160, before = 60;
  constexpr std::string_view cut = "...";
  if (line.size() <= widest) return {std::string(line), 0, 0};
  const std::size_t first = at > widest - before ? at - before : 0;
  Window w{std::string(line.substr(first, widest)), first, first ? cut.size() : 0};
  if (first) w.text.insert(0, cut);
  if (first + widest < line.size()) w.text += cut;
  return w;
}

std::string snippet(const Where& w, const std::vector<FixIt>& fixits, Colour colour) {
  if (!w.source || (w.place.empty() && w.place.begin == 0)) return {};
  const auto [line_number, column] = w.source->position(w.place.begin);
  const std::string_view line = w.source->line(line_number);
  const auto at = std::size_t(column - 1);
  const Window shown = window_of(line, at);
  const std::size_t indent_columns = at - shown.first + shown.lead;
  const std::size_t room = shown.text.size() > indent_columns ? shown.text.size() - indent_columns : 1;
  const std::size_t width = std::clamp<std::size_t>(w.place.size(), 1, room);
  const std::string caret = paint("^" + std::string(width - 1, '~'), green, colour);
  std::string out = fmt::format("{}\n{}{}\n", shown.text, indent_like(shown.text, indent_columns), caret);
  for (const FixIt& f : fixits) {
    const auto p = w.source->position(f.place.begin);
    const auto to = std::size_t(p.column - 1);
    if (p.line != line_number || to < shown.first || f.text.find('\n') != std::string::npos) continue;
    out += fmt::format("{}{}\n", indent_like(shown.text, to - shown.first + shown.lead), paint(f.text, green, colour));
  }
  return out;
}

// Statements to insert, which have no room under the caret.
std::string insertions(const Diagnostic& d, Colour colour) {
  std::string out;
  for (const FixIt& f : d.fixits) {
    const std::size_t first = f.text.find_first_not_of(" \t\r\n"), last = f.text.find_last_not_of(" \t\r\n");
    if (!d.where.source || f.text.find('\n') == std::string::npos || first == std::string::npos) continue;
    Where at = d.where;
    at.place = f.place;
    out += head(at) + paint("note: ", colour_of(Severity::note), colour);
    out += fmt::format("repair: put in {}\n", f.text.substr(first, last + 1 - first));
  }
  return out;
}

std::string source_line(const Where& w) {
  return w.source && w.line ? fmt::format("{}:{}: note: the source line of this instruction\n", w.file, w.line) : "";
}

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

Json sarif_location(const Where& w) {
  Json region;
  const Json p = place_json(w);
  region["startLine"] = std::max(1, p["line"].get<int>());
  if (w.source) {
    region["startColumn"] = p["column"];
    region["endLine"] = p["end_line"];
    region["endColumn"] = p["end_column"];
  }
  return {{"physicalLocation", {{"artifactLocation", {{"uri", p["file"]}}}, {"region", region}}}};
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
  for (const Note& n : d.notes) {
    Json related = sarif_location(n.where);
    related["message"]["text"] = n.message;
    r["relatedLocations"].push_back(std::move(related));
  }
  if (!d.fixits.empty()) r["fixes"] = Json::array({sarif_fix(d)});
  r["properties"]["severity"] = spelling(d.severity);
  return r;
}

// Names and messages may hold bytes of an input that is not UTF-8.
std::string dump(const Json& j) { return j.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace

std::string render_text(const Diagnostic& d, Colour colour) {
  std::string out = paint(head(d.where), bold, colour);
  out += paint(fmt::format("{}: ", spelling(d.severity)), colour_of(d.severity), colour);
  out += paint(d.message, bold, colour);
  if (!d.slug.empty()) out += fmt::format(" [{}]", d.slug);
  out += '\n';
  out += snippet(d.where, d.fixits, colour);
  out += source_line(d.where);
  for (const Note& n : d.notes) {
    out += head(n.where) + paint("note: ", colour_of(Severity::note), colour) + n.message + '\n';
    out += snippet(n.where, {}, colour);
  }
  return out + insertions(d, colour);
}

std::string render_text(const Sink& sink, Colour colour) {
  std::string out;
  for (const Diagnostic& d : sink.all()) out += render_text(d, colour);
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
  run["results"] = Json::array();
  for (const Diagnostic& d : sink.all()) run["results"].push_back(sarif_result(d));
  Json out;
  out["$schema"] = "https://json.schemastore.org/sarif-2.1.0.json";
  out["version"] = "2.1.0";
  out["runs"] = Json::array({run});
  return dump(out);
}

std::string summary(const Sink& sink) {
  std::string out;
  for (Severity s : {Severity::error, Severity::portability, Severity::note, Severity::incomplete}) {
    const std::size_t n = sink.count(s);
    if (n == 0) continue;
    const bool plural = n > 1 && (s == Severity::error || s == Severity::note);
    out += fmt::format("{}{} {}{}", out.empty() ? "" : ", ", n, spelling(s), plural ? "s" : "");
  }
  return out.empty() ? "clean" : out;
}

}  // namespace kiln::diag

#include "tools/command/lsp_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "ptx/diag/render_json.hpp"

namespace kiln::command {
namespace {

using Json = nlohmann::ordered_json;

// Units of UTF-16 that the character with this first byte takes: 0 for a byte that continues one.
int units_of(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if ((byte & 0xc0) == 0x80) return 0;
  return byte >= 0xf0 ? 2 : 1;
}

int severity_number(diag::Severity s) {
  constexpr int error = 1, warning = 2, information = 3;
  switch (s) {
    case diag::Severity::error: return error;
    case diag::Severity::portability: return warning;
    case diag::Severity::note:
    case diag::Severity::incomplete: return information;
  }
  return information;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(" \t\r\n") + 1 - first);
}

std::string title_of(const diag::Diagnostic& d) {
  std::string out;
  for (const diag::FixIt& f : d.fixits)
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", f.place.empty() ? "put in" : "write", trimmed(f.text));
  return out + fmt::format(" [{}]", d.slug);
}

std::string uri_of_path(const std::string& path) {
  return "file://" + diag::percent_encoded(std::filesystem::absolute(path).string(), "-._~/");
}

}  // namespace

std::string path_of_uri(const std::string& uri) {
  constexpr std::string_view scheme = "file://";
  if (!uri.starts_with(scheme)) return uri;
  std::string out;
  for (std::size_t i = scheme.size(); i < uri.size(); ++i) {
    const bool is_encoded = uri[i] == '%' && i + 2 < uri.size() &&
                            std::isxdigit(static_cast<unsigned char>(uri[i + 1])) &&
                            std::isxdigit(static_cast<unsigned char>(uri[i + 2]));
    out += is_encoded ? char(std::stoi(uri.substr(i + 1, 2), nullptr, 16)) : uri[i];
    if (is_encoded) i += 2;
  }
  return out;
}

LspDocument::LspDocument(std::string uri, std::string text, ColumnUnit unit) : uri_(std::move(uri)), unit_(unit) {
  source_ = std::make_shared<const diag::Source>(path_of_uri(uri_), std::move(text));
}

std::uint32_t LspDocument::offset(const Json& position) const {
  const int last = source_->line_count();
  const int number = std::min(position.at("line").get<int>() + 1, last);
  const std::string_view line = source_->line(std::max(number, 1));
  int left = position.at("character").get<int>();
  std::size_t byte = 0;
  for (; byte < line.size(); ++byte) {
    const int units = unit_ == ColumnUnit::utf8 ? 1 : units_of(line[byte]);
    if (units > 0 && left <= 0) break;
    left -= units;
  }
  return std::uint32_t(line.data() - source_->text().data() + byte);
}

Json LspDocument::position(std::uint32_t offset) const {
  const auto [number, column] = source_->position(offset);
  const std::string_view before = source_->line(number).substr(0, std::size_t(std::max(column - 1, 0)));
  int character = int(before.size());
  if (unit_ == ColumnUnit::utf16) {
    character = 0;
    for (const char c : before) character += units_of(c);
  }
  return {{"line", number - 1}, {"character", character}};
}

Json LspDocument::range(diag::Place p) const { return {{"start", position(p.begin)}, {"end", position(p.end)}}; }

Json LspDocument::location(const diag::Where& w) const {
  if (is_here(w)) return {{"uri", uri_}, {"range", range(w.place)}};
  if (w.source || w.file.empty() || w.line == 0) return nullptr;
  const Json start = {{"line", int(w.line) - 1}, {"character", 0}};
  return {{"uri", uri_of_path(w.file)}, {"range", {{"start", start}, {"end", start}}}};
}

Json LspDocument::related(const diag::Diagnostic& d) const {
  Json out = Json::array();
  const auto add = [&](const std::string& message, const diag::Where& w) {
    if (Json place = location(w); !place.is_null())
      out.push_back({{"message", message}, {"location", std::move(place)}});
  };
  if (d.where.line) add("the source line of this instruction", {nullptr, {}, d.where.file, d.where.line});
  for (const diag::Note& n : d.notes) add(n.message, n.where);
  return out;
}

Json LspDocument::diagnostic(const diag::Diagnostic& d) const {
  std::string message = d.message;
  for (const diag::Note& n : d.notes)
    if (location(n.where).is_null()) message += "\n" + n.message;
  Json out = {{"range", range(is_here(d.where) ? d.where.place : diag::Place{})},
              {"severity", severity_number(d.severity)},
              {"source", "kiln"},
              {"message", message}};
  if (!d.slug.empty()) out["code"] = d.slug;
  if (Json places = related(d); !places.empty()) out["relatedInformation"] = std::move(places);
  return out;
}

Json LspDocument::diagnostics() const {
  Json all = Json::array();
  for (const diag::Diagnostic& d : found_.all()) all.push_back(diagnostic(d));
  return {{"uri", uri_}, {"diagnostics", std::move(all)}};
}

Json LspDocument::code_actions(const Json& asked) const {
  const std::uint32_t begin = offset(asked.at("start")), end = offset(asked.at("end"));
  Json out = Json::array();
  for (const diag::Diagnostic& d : found_.all()) {
    if (d.fixits.empty() || !is_here(d.where) || d.where.place.begin > end || d.where.place.end < begin) continue;
    Json edits = Json::array();
    for (const diag::FixIt& f : d.fixits) edits.push_back({{"range", range(f.place)}, {"newText", f.text}});
    out.push_back({{"title", title_of(d)},
                   {"kind", "quickfix"},
                   {"diagnostics", Json::array({diagnostic(d)})},
                   {"edit", {{"changes", {{uri_, std::move(edits)}}}}}});
  }
  return out;
}

Json LspDocument::other_places(const Json& asked) const {
  const std::uint32_t at = offset(asked);
  Json out = Json::array();
  for (const diag::Diagnostic& d : found_.all()) {
    const auto holds = [&](const diag::Where& w) { return is_here(w) && w.place.begin <= at && at <= w.place.end; };
    std::vector<const diag::Where*> places{&d.where};
    for (const diag::Note& n : d.notes) places.push_back(&n.where);
    if (std::none_of(places.begin(), places.end(), [&](const diag::Where* w) { return holds(*w); })) continue;
    for (const diag::Where* w : places) {
      Json place = holds(*w) ? Json() : location(*w);
      if (!place.is_null() && std::find(out.begin(), out.end(), place) == out.end()) out.push_back(std::move(place));
    }
  }
  return out;
}

}  // namespace kiln::command

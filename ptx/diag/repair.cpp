#include "ptx/diag/repair.hpp"

#include <algorithm>
#include <utility>

namespace kiln::diag {
namespace {

constexpr std::string_view blanks = " \t";

bool is_blank(std::string_view text) { return text.find_first_not_of(blanks) == std::string_view::npos; }

// What ends the line that `offset` is on, as this file ends its lines.
std::string_view line_break(const Source& source, std::uint32_t offset) {
  const std::string_view text = source.text();
  const std::size_t end = text.find('\n', offset);
  const std::size_t last = end == std::string_view::npos ? text.rfind('\n') : end;
  return last != std::string_view::npos && last > 0 && text[last - 1] == '\r' ? "\r\n" : "\n";
}

std::string_view before_on_line(const Source& source, std::uint32_t offset) {
  const auto column = std::uint32_t(source.position(offset).column - 1);
  return source.text(Place{offset - column, offset});
}

bool is_same(const FixIt& a, const FixIt& b) {
  return a.place.begin == b.place.begin && a.place.end == b.place.end && a.text == b.text;
}

// Two insertions at one place are both made, in order; replaced text belongs to one edit alone.
bool overlap(const FixIt& a, const FixIt& b) {
  if (is_same(a, b)) return false;
  if (a.place.empty() && b.place.empty()) return false;
  return a.place.begin < b.place.end && b.place.begin < a.place.end;
}

}  // namespace

FixIt insert_before(const Source& source, Place statement, std::string_view text) {
  const std::string_view indent = before_on_line(source, statement.begin);
  const Place at{statement.begin, statement.begin};
  if (!is_blank(indent)) return {at, std::string(text) + " "};
  return {at, std::string(text) + std::string(line_break(source, statement.begin)) + std::string(indent)};
}

FixIt insert_behind(const Source& source, Place statement, std::string_view text) {
  const std::string_view line = source.line(source.position(statement.end).line);
  const std::string_view rest = line.substr(std::min(line.size(), before_on_line(source, statement.end).size()));
  const std::size_t first = rest.find_first_not_of(blanks);
  const bool ends_line = first == std::string_view::npos || rest.substr(first).starts_with("//");
  if (!ends_line) return {{statement.end, statement.end}, " " + std::string(text)};
  const std::string_view before = before_on_line(source, statement.begin);
  const std::string_view indent = before.substr(0, std::min(before.find_first_not_of(blanks), before.size()));
  const auto end = std::uint32_t(statement.end + rest.size());
  return {{end, end}, std::string(line_break(source, statement.end)) + std::string(indent) + std::string(text)};
}

Repaired repair(const Source& source, const Sink& sink) {
  Repaired out;
  std::vector<FixIt> edits;
  const auto fits = [&](const FixIt& f) {
    if (f.place.begin > f.place.end || f.place.end > source.text().size()) return false;
    return std::none_of(edits.begin(), edits.end(), [&](const FixIt& e) { return overlap(e, f); });
  };
  for (std::size_t i = 0; i < sink.all().size(); ++i) {
    const Diagnostic& d = sink.all()[i];
    if (d.fixits.empty() || d.where.source.get() != &source) continue;
    if (!std::all_of(d.fixits.begin(), d.fixits.end(), fits)) continue;
    out.findings.push_back(i);
    for (const FixIt& f : d.fixits)
      if (std::none_of(edits.begin(), edits.end(), [&](const FixIt& e) { return is_same(e, f); })) edits.push_back(f);
  }
  // Sorted by hand because insertions at one place must keep their order: no std::stable_sort, see Sink::sort.
  std::vector<std::size_t> order(edits.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(edits[a].place.begin, a) < std::pair(edits[b].place.begin, b);
  });
  std::uint32_t done = 0;
  for (std::size_t i : order) {
    out.text += source.text(Place{done, edits[i].place.begin});
    out.text += edits[i].text;
    done = edits[i].place.end;
  }
  out.text += source.text(Place{done, std::uint32_t(source.text().size())});
  return out;
}

}  // namespace kiln::diag

#include "ptx/diag/render.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace kiln::diag {
namespace {

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

bool is_in_text(const Where& w) { return w.source && !(w.place.empty() && w.place.begin == 0); }

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
  if (!is_in_text(w)) return {};
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

// The line that the user wrote, where the text was compiled from one.
std::string head_of_source(const Where& w) { return w.line ? fmt::format("{}:{}: ", w.file, w.line) : head(w); }

// Where the text is shown after the line that it was compiled from.
std::string head_of_text(const Where& w) {
  return w.line && is_in_text(w) ? head(w) + "note: in this instruction\n" : "";
}

std::string rendered(const Note& n, Colour colour) {
  std::string out = head_of_source(n.where) + paint("note: ", colour_of(Severity::note), colour) + n.message;
  if (n.where.line && is_in_text(n.where))
    out += fmt::format(", {} line {}", n.where.source->name(), n.where.source->position(n.where.place.begin).line);
  return out + '\n' + snippet(n.where, {}, colour);
}

// Findings that are alike: so many are shown each, and of more of them so many lines are named.
constexpr std::size_t most_alike = 3, lines_named = 8;

// All places but the first.
std::string other_places(const std::vector<const Diagnostic*>& alike, std::string_view shows_each, Colour colour) {
  const Diagnostic& first = *alike.front();
  const std::size_t more = alike.size() - 1;
  std::string lines;
  for (std::size_t i = 1; i <= std::min(more, lines_named); ++i)
    lines += fmt::format("{}{}", i > 1 ? ", " : "", first.where.source->position(alike[i]->where.place.begin).line);
  if (more > lines_named) lines += fmt::format(" and {} more", more - lines_named);
  return paint(head(Where::at(first.where.source, {})), bold, colour) +
         paint(fmt::format("{}: ", spelling(first.severity)), colour_of(first.severity), colour) +
         fmt::format("the same rule at {} more places: lines {}; {} shows each [{}]\n", more, lines, shows_each,
                     first.slug);
}

// " (tcgen05-fence x2, unfollowed x1)": the findings of one severity by their rules.
std::string rules_of(const Sink& sink, Severity severity) {
  std::vector<std::pair<std::string_view, std::size_t>> counts;
  for (const Diagnostic& d : sink.all()) {
    if (d.severity != severity || d.slug.empty()) continue;
    const auto known = std::find_if(counts.begin(), counts.end(), [&](const auto& c) { return c.first == d.slug; });
    known == counts.end() ? void(counts.emplace_back(d.slug, 1)) : void(++known->second);
  }
  std::string out;
  for (const auto& [slug, n] : counts) out += fmt::format("{}{} x{}", out.empty() ? " (" : ", ", slug, n);
  return out.empty() ? out : out + ")";
}

// How many findings there are of each severity, each with what `detail` says of it.
template <class Detail>
std::string summary_of(const Sink& sink, Detail detail) {
  std::string out;
  for (Severity s : {Severity::error, Severity::portability, Severity::note, Severity::incomplete}) {
    const std::size_t n = sink.count(s);
    if (n == 0) continue;
    const bool plural = n > 1 && (s == Severity::error || s == Severity::note);
    out += fmt::format("{}{} {}{}{}", out.empty() ? "" : ", ", n, spelling(s), plural ? "s" : "", detail(s));
  }
  return out.empty() ? "clean" : out;
}

}  // namespace

std::string render_text(const Diagnostic& d, Colour colour) {
  std::string out = paint(head_of_source(d.where), bold, colour);
  out += paint(fmt::format("{}: ", spelling(d.severity)), colour_of(d.severity), colour);
  out += paint(d.message, bold, colour);
  if (!d.slug.empty()) out += fmt::format(" [{}]", d.slug);
  out += '\n';
  out += head_of_text(d.where) + snippet(d.where, d.fixits, colour);
  for (const Note& n : d.notes) out += rendered(n, colour);
  return out + insertions(d, colour);
}

std::string render_text(const Sink& sink, Colour colour) {
  std::string out;
  for (const Diagnostic& d : sink.all()) out += render_text(d, colour);
  return out;
}

std::string render_grouped(const Sink& sink, std::string_view shows_each, Colour colour) {
  using Group = std::vector<const Diagnostic*>;
  std::map<std::tuple<Severity, std::string, const Source*>, Group> groups;
  const auto group = [&](const Diagnostic& d) -> Group& { return groups[{d.severity, d.slug, d.where.source.get()}]; };
  const auto may_share = [](const Diagnostic& d) {
    return (d.severity == Severity::portability || d.severity == Severity::note) && !d.slug.empty() && d.where.source;
  };
  for (const Diagnostic& d : sink.all())
    if (may_share(d)) group(d).push_back(&d);
  std::string out;
  for (const Diagnostic& d : sink.all()) {
    const Group* all = may_share(d) ? &group(d) : nullptr;
    const bool is_grouped = all && all->size() > most_alike, is_first = is_grouped && all->front() == &d;
    if (!is_grouped || is_first) out += render_text(d, colour);
    if (is_first) out += other_places(*all, shows_each, colour);
  }
  return out;
}

std::string summary(const Sink& sink) {
  return summary_of(sink, [](Severity) { return std::string(); });
}

std::string summary_by_rule(const Sink& sink) {
  return summary_of(sink, [&](Severity s) { return s == Severity::error ? std::string() : rules_of(sink, s); });
}

}  // namespace kiln::diag

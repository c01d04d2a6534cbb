#include "tests/differential/forms_exceptions.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <stdexcept>

namespace kiln::test {
namespace {

// Takes the text up to " | ", or all of it.
std::string take_field(std::string_view& row) {
  const std::size_t end = std::min(row.find(" | "), row.size());
  std::string field(row.substr(0, end));
  row.remove_prefix(std::min(end + 3, row.size()));
  field.erase(0, field.find_first_not_of(' '));
  field.erase(field.find_last_not_of(' ') + 1);
  return field;
}

// "..13.3", "13.1..", "13.1..13.3"; false when it is none of them.
bool read_range(std::string_view text, Exception& e) {
  const std::size_t dots = text.find("..");
  if (dots == text.npos) return false;
  const std::string_view first = text.substr(0, dots), last = text.substr(dots + 2);
  const auto from = isa::parse_ptxas_version(first), to = isa::parse_ptxas_version(last);
  if ((!first.empty() && !from) || (!last.empty() && !to)) return false;
  if (from) e.first = *from;
  if (to) e.last = *to;
  return true;
}

}  // namespace

Exceptions read_exceptions(const std::string& path, isa::PtxasVersion ptxas) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  Exceptions out;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::string_view rest = line;
    const std::string words = take_field(rest);
    const std::string who = words.substr(0, words.find(' '));
    Exception& e = out.emplace_back();
    const bool is_ranged = words.size() > who.size();
    if (is_ranged && !read_range(std::string_view(words).substr(who.size() + 1), e))
      throw std::runtime_error(path + ": " + line);
    e.kind = who == "accepts" ? Exception::Kind::accepts
             : who == "hangs" ? Exception::Kind::hangs
                              : Exception::Kind::refuses;
    e.setting = take_field(rest);
    e.instruction = take_field(rest);
    constexpr std::string_view arrow = " => ";
    if (const std::size_t at = e.instruction.find(arrow); at != std::string::npos) {
      e.said = e.instruction.substr(at + arrow.size());
      e.instruction.erase(at);
    }
    constexpr std::string_view but = "not ";
    if (const std::size_t end = e.instruction.find(": "); e.instruction.starts_with(but) && end != std::string::npos) {
      for (std::size_t at = but.size(); at < end;) {
        const std::size_t comma = std::min(e.instruction.find(',', at), end);
        e.left_out.push_back(e.instruction.substr(at, comma - at));
        at = comma + 1;
      }
      e.instruction.erase(0, end + 2);
    }
    e.reason = rest;
    e.row = line;
    if ((e.kind == Exception::Kind::refuses && who != "refuses") || e.reason.empty())
      throw std::runtime_error(path + ": " + line);
    if (ptxas < e.first || e.last < ptxas) out.pop_back();
  }
  return out;
}

bool is_about(const Exception& e, std::string_view setting, std::string_view instruction) {
  if (instruction.starts_with('@')) instruction.remove_prefix(instruction.find(' ') + 1);
  const auto begins = [&](const std::string& beginning) { return instruction.starts_with(beginning); };
  return std::none_of(e.left_out.begin(), e.left_out.end(), begins) && matches(e.setting, setting) &&
         matches(e.instruction, instruction);
}

std::string_view needed_word(const Exception& e) {
  constexpr std::string_view got = "got ", none = "got no";
  std::string_view word = e.said;
  if (!word.starts_with(got) || word.starts_with(none)) return {};
  word.remove_prefix(got.size());
  if (word.size() > 2 && word.front() == '\'' && word.back() == '\'') word = word.substr(1, word.size() - 2);
  return word;
}

bool says(std::string_view refusal, std::string_view text) {
  // A colon is a part of a word where two are one after the other.
  const auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == ':'; };
  const auto ends_word = [&](std::string_view before) {
    return !before.empty() && in_word(before.back()) && (before.back() != ':' || before.ends_with("::"));
  };
  const auto begins_word = [&](std::string_view after) {
    return !after.empty() && in_word(after.front()) && (after.front() != ':' || after.starts_with("::"));
  };
  const auto in_finding = [&](std::string_view finding) {
    for (std::size_t at = 0; (at = finding.find(text, at)) != finding.npos; ++at) {
      const bool begins = !ends_word(finding.substr(0, at)) || !in_word(text.front());
      if (begins && (!begins_word(finding.substr(at + text.size())) || !in_word(text.back()))) return true;
    }
    return false;
  };
  if (text.empty()) return true;
  constexpr std::string_view next = "]; ";
  for (;;) {
    const std::size_t end = refusal.find(next);
    if (!in_finding(refusal.substr(0, end))) return false;
    if (end == refusal.npos) return true;
    refusal.remove_prefix(end + next.size());
  }
}

Exception* find_exception(Exceptions& exceptions, Exception::Kind kind, std::string_view setting,
                          std::string_view instruction, std::string_view refusal) {
  for (Exception& e : exceptions) {
    if (e.kind != kind || !is_about(e, setting, instruction) || !says(refusal, e.said)) continue;
    ++e.matched;
    return &e;
  }
  return nullptr;
}

bool matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') {
    for (std::size_t n = 0; n <= text.size(); ++n)
      if (matches(pattern.substr(1), text.substr(n))) return true;
    return false;
  }
  if (pattern[0] == '~') {
    const std::size_t end = std::min(text.find_first_of("[]{}, "), text.size());
    for (std::size_t n = 1; n <= end; ++n)
      if (matches(pattern.substr(1), text.substr(n))) return true;
    return false;
  }
  return !text.empty() && pattern[0] == text[0] && matches(pattern.substr(1), text.substr(1));
}

}  // namespace kiln::test

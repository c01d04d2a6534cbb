#include "tests/differential/forms_exceptions.hpp"

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

}  // namespace

Exceptions read_exceptions(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw std::runtime_error("cannot read " + path);
  Exceptions out;
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::string_view rest = line;
    const std::string who = take_field(rest);
    Exception& e = out.emplace_back();
    e.kind = who == "accepts" ? Exception::Kind::accepts
             : who == "hangs" ? Exception::Kind::hangs
                              : Exception::Kind::refuses;
    e.setting = take_field(rest);
    e.instruction = take_field(rest);
    e.reason = rest;
    e.row = line;
    if ((e.kind == Exception::Kind::refuses && who != "refuses") || e.reason.empty())
      throw std::runtime_error(path + ": " + line);
  }
  return out;
}

Exception* find_exception(Exceptions& exceptions, Exception::Kind kind, std::string_view setting,
                          std::string_view instruction) {
  if (instruction.starts_with('@')) instruction.remove_prefix(instruction.find(' ') + 1);
  for (Exception& e : exceptions) {
    if (e.kind != kind || !matches(e.setting, setting) || !matches(e.instruction, instruction)) continue;
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

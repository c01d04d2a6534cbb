#include "tests/mutation/survivors.hpp"

#include <fmt/format.h>
#include <fnmatch.h>

#include <fstream>

#include "ptx/diag/error.hpp"

namespace kiln::mutation {
namespace {

std::string trimmed(std::string s) {
  const std::size_t first = s.find_first_not_of(' ');
  if (first == s.npos) return {};
  return s.substr(first, s.find_last_not_of(' ') - first + 1);
}

std::vector<std::string> fields(const std::string& line) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at <= line.size();) {
    // The instruction's text may hold a bar itself; bars between fields stand between spaces.
    const std::size_t bar = std::min(line.find(" | ", at), line.size());
    out.push_back(trimmed(line.substr(at, bar - at)));
    at = bar + 3;
  }
  return out;
}

bool matches(const std::string& glob, const std::string& text) { return ::fnmatch(glob.c_str(), text.c_str(), 0) == 0; }

}  // namespace

std::vector<SurvivorRow> read_survivors(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw diag::InputError(path + ": cannot be read");
  std::vector<SurvivorRow> out;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (trimmed(line).empty() || line[0] == '#') continue;
    const auto f = fields(line);
    const auto fail = [&](const char* what) { throw diag::InputError(fmt::format("{}:{}: {}", path, number, what)); };
    if (f.size() != 6 || f[5].empty()) fail("a row is: kernel | operator | text | reason | count | why");
    SurvivorRow r{f[0], f[1], f[2], Reason::gap, 0, f[5], number};
    if (f[3] == "equivalent")
      r.reason = Reason::equivalent;
    else if (f[3] == "advisory")
      r.reason = Reason::advisory;
    else if (f[3] != "gap")
      fail("the reason is equivalent, advisory or gap");
    r.count = std::atoi(f[4].c_str());
    if (r.count < 1) fail("the count is a positive number");
    out.push_back(std::move(r));
  }
  return out;
}

const SurvivorRow* find_row(const std::vector<SurvivorRow>& rows, const Mutant& m) {
  const std::string line = fmt::format("{}@{}", m.original, m.line);
  for (const SurvivorRow& r : rows)
    if (matches(r.kernel, m.kernel) && matches(r.rewrite, m.rewrite) && matches(r.text, line)) return &r;
  return nullptr;
}

}  // namespace kiln::mutation

#include "tests/mutation/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>

#include "ptx/diag/error.hpp"

namespace kiln::mutation {
namespace {

constexpr double goal = 0.95, class_goal = 0.90, one_schedule_goal = 0.90, together_goal = 0.98;

std::string percent(const Count& c, int n) { return fmt::format("{:.1f} %", 100 * c.share(n)); }

std::string cells(const Count& c) {
  return fmt::format("{} | {} | {} | {} | {} | {} | {} | {} |\n", c.mutants, c.equivalent, c.one, c.killed, c.values,
                     percent(c, c.killed), percent(c, c.unrun), percent(c, c.together));
}

constexpr std::string_view heads =
    "mutants | equivalent | one schedule | twenty | of these by values | simulator | static alone | together |\n";
constexpr std::string_view rule = "--:|--:|--:|--:|--:|--:|--:|--:|\n";

void add(Count& c, const Judged& j, bool equivalent) {
  ++c.mutants;
  c.equivalent += equivalent;
  if (equivalent) return;
  const bool is_killed = j.fate != Fate::survived;
  c.killed += is_killed;
  c.one += is_killed && j.schedule == 1;
  c.values += j.fate == Fate::by_values;
  c.unrun += !j.unrun.empty();
  c.checked += !j.unrun.empty() || (!j.is_followed && j.fate == Fate::killed && j.schedule <= 2);
  c.noticed += is_killed || j.has_wrong_values;
  c.together += is_killed || !j.unrun.empty();
}

std::string about(const Judged& j) {
  return fmt::format("{} | {} | {}@{} | class {}{}", j.mutant.kernel, j.mutant.rewrite, j.mutant.original,
                     j.mutant.line, j.mutant.bug_class, char(j.mutant.profile));
}

}  // namespace

Report::Report(const std::vector<SurvivorRow>& rows, const std::map<std::string, Whole>& whole)
    : rows_(rows), whole_(whole), used_(rows.size()) {}

void Report::take(const Judged& j) {
  if (j.fate == Fate::stillborn) {
    ++stillborn_;
    return;
  }
  const SurvivorRow* row = j.fate == Fate::survived ? find_row(rows_, j.mutant) : nullptr;
  if (row) ++used_[std::size_t(row - rows_.data())];
  if (j.fate == Fate::survived && !row) lives(j);
  const bool equivalent = row && row->reason == Reason::equivalent;
  if (equivalent && !j.unrun.empty()) warns_in_vain(j);
  for (Count* c : {&all_, &kernels_[j.mutant.kernel], &classes_[j.mutant.bug_class]}) add(*c, j, equivalent);
}

std::string Report::lead() const {
  const auto complete = std::count_if(whole_.begin(), whole_.end(),
                                      [](const auto& named) { return named.second.unrun.incomplete.empty(); });
  std::string out = fmt::format(
      "**{} of the {} mutants that are not equivalent are killed by the simulator ({}), {} of them in the first "
      "schedule; "
      "{} by the static layer alone ({}), {} with the two runs where it is incomplete ({}); {} by one of both ({}).** "
      "The static layer "
      "reports {} of the {} equivalent ones, and is complete for {} of the {} kernels",
      all_.killed, all_.counted(), percent(all_, all_.killed), all_.one, all_.unrun, percent(all_, all_.unrun),
      all_.checked, percent(all_, all_.checked), all_.together, percent(all_, all_.together), false_alarms_,
      all_.equivalent, complete, whole_.size());
  std::string separator = "; the others: ";
  for (const auto& [name, whole] : whole_)
    if (!whole.unrun.incomplete.empty()) {
      out += fmt::format("{}{} ({})", separator, name, whole.unrun.incomplete);
      separator = ", ";
    }
  if (all_.noticed != all_.killed)
    out += fmt::format(". With wrong results of all classes the simulator notices {} ({})", all_.noticed,
                       percent(all_, all_.noticed));
  if (stillborn_) out += fmt::format(". {} more do not parse or launch and are no mutants", stillborn_);
  return out + ".\n";
}

std::string Report::tables() const {
  std::string out = fmt::format("{}\n| kernel | {}|---|{}", lead(), heads, rule);
  for (const auto& [name, c] : kernels_) out += fmt::format("| {} | {}", name, cells(c));
  out += fmt::format("| **all** | {}\n| class | | {}|--:|---|{}", cells(all_), heads, rule);
  for (const auto& [number, c] : classes_)
    out += fmt::format("| {} | {} | {}", number, find_class(number)->about, cells(c));
  return out;
}

bool Report::check(bool complete) const {
  bool right = nameless_ == 0;
  const auto fail = [&](const std::string& what) { right = false, std::cout << "FAILED: " << what << '\n'; };
  if (nameless_) fail(fmt::format("{} survivors without a reason", nameless_));
  for (std::size_t k = 0; k < rows_.size(); ++k)
    if (complete ? used_[k] != rows_[k].count : used_[k] > rows_[k].count)
      fail(fmt::format("survivors.txt:{}: {} mutants live, not {}", rows_[k].line, used_[k], rows_[k].count));
  if (all_.share(all_.killed) < goal) fail("too few killed");
  if (all_.share(all_.one) < one_schedule_goal) fail("too few killed in one schedule");
  if (complete && all_.share(all_.together) < together_goal) fail("too few killed by one of both");
  for (const auto& [number, c] : classes_)
    if (complete && c.share(c.killed) < class_goal) fail(fmt::format("too few of class {} killed", number));
  return right;
}

void Report::lives(const Judged& j) {
  ++nameless_;
  std::cout << fmt::format("LIVES {} | {}\n", about(j), j.witness);
}

void Report::warns_in_vain(const Judged& j) {
  ++false_alarms_;
  std::cout << fmt::format("EQUIVALENT, but reported: {} | {}\n", about(j), j.unrun);
}

void write_between_marks(const std::string& path, const std::string& text) {
  constexpr std::string_view begin = "<!-- measured -->\n", end = "<!-- end -->\n";
  std::ifstream in(path);
  std::string whole{std::istreambuf_iterator<char>(in), {}};
  const std::size_t first = whole.find(begin), last = whole.find(end);
  if (first == whole.npos || last == whole.npos || last < first) throw diag::InputError(path + " has no marks");
  const std::size_t from = first + begin.size();
  whole.replace(from, last - from, text);
  std::ofstream(path) << whole;
}

}  // namespace kiln::mutation

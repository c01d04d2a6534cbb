#include "tests/mutation/report.hpp"

#include <fmt/format.h>

#include <iostream>
#include <map>

namespace kiln::mutation {
namespace {

constexpr double goal = 0.95, class_goal = 0.90, one_schedule_goal = 0.90;

struct Count {
  int mutants = 0, one = 0, killed = 0, values = 0, equivalent = 0;

  int counted() const { return mutants - equivalent; }
  double share(int n) const { return counted() ? double(n) / counted() : 1; }
  std::string text() const {
    return fmt::format("{:>7} {:>10} {:>6} {:>6} {:>10} {:>7.1f} %", mutants, one, killed, values, equivalent,
                       100 * share(killed));
  }
};

constexpr std::string_view heads = "mutants  1 schedule killed values equivalent     score";

void add(Count& c, const Judged& j, bool equivalent) {
  ++c.mutants;
  c.equivalent += equivalent;
  if (j.fate == Fate::survived) return;
  ++c.killed;
  c.one += j.schedule == 1;
  c.values += j.fate == Fate::by_values;
}

class Report {
 public:
  Report(const std::vector<SurvivorRow>& rows) : rows_(rows), used_(rows.size()) {}

  void take(const Judged& j) {
    if (j.fate == Fate::stillborn) {
      ++stillborn_;
      return;
    }
    const SurvivorRow* row = j.fate == Fate::survived ? find_row(rows_, j.mutant) : nullptr;
    if (row) ++used_[std::size_t(row - rows_.data())];
    if (j.fate == Fate::survived && !row) lives(j);
    const bool equivalent = row && row->reason == Reason::equivalent;
    for (Count* c : {&all_, &kernels_[j.mutant.kernel], &classes_[j.mutant.bug_class],
                     &cells_[{j.mutant.kernel, j.mutant.bug_class}]})
      add(*c, j, equivalent);
  }

  void print() const {
    std::cout << fmt::format("{:<18} {:<5} {}\n", "kernel", "class", heads);
    for (const auto& [key, c] : cells_) std::cout << fmt::format("{:<18} {:<5} {}\n", key.first, key.second, c.text());
    std::cout << fmt::format("\n{:<24} {}\n", "kernel", heads);
    for (const auto& [name, c] : kernels_) std::cout << fmt::format("{:<24} {}\n", name, c.text());
    std::cout << fmt::format("\n{:<58} {}\n", "class", heads);
    for (const auto& [number, c] : classes_)
      std::cout << fmt::format("{:>3} {:<54} {}\n", number, find_class(number)->about, c.text());
    std::cout << fmt::format("{:<58} {}\n", "all", all_.text());
    std::cout << fmt::format("{} of {} killed in one schedule: {:.1f} %; {} stillborn\n", all_.one, all_.counted(),
                             100 * all_.share(all_.one), stillborn_);
  }

  bool check(bool complete) const {
    bool right = nameless_ == 0;
    const auto fail = [&](const std::string& what) { right = false, std::cout << "FAILED: " << what << '\n'; };
    if (nameless_) fail(fmt::format("{} survivors without a reason", nameless_));
    for (std::size_t k = 0; k < rows_.size(); ++k)
      if (complete ? used_[k] != rows_[k].count : used_[k] > rows_[k].count)
        fail(fmt::format("survivors.txt:{}: {} mutants live, not {}", rows_[k].line, used_[k], rows_[k].count));
    if (all_.share(all_.killed) < goal) fail("too few killed");
    if (all_.share(all_.one) < one_schedule_goal) fail("too few killed in one schedule");
    for (const auto& [number, c] : classes_)
      if (complete && c.share(c.killed) < class_goal) fail(fmt::format("too few of class {} killed", number));
    return right;
  }

 private:
  void lives(const Judged& j) {
    ++nameless_;
    std::cout << fmt::format("LIVES {} | {} | {}@{} | class {}{} | {}\n", j.mutant.kernel, j.mutant.rewrite,
                             j.mutant.original, j.mutant.line, j.mutant.bug_class, char(j.mutant.profile), j.witness);
  }

  const std::vector<SurvivorRow>& rows_;
  std::vector<int> used_;
  Count all_{};
  std::map<std::string, Count> kernels_{};
  std::map<int, Count> classes_{};
  std::map<std::pair<std::string, int>, Count> cells_{};
  int stillborn_ = 0, nameless_ = 0;
};

}  // namespace

bool report(const std::vector<Judged>& judged, const std::vector<SurvivorRow>& rows, bool complete) {
  Report r(rows);
  for (const Judged& j : judged) r.take(j);
  r.print();
  return r.check(complete);
}

}  // namespace kiln::mutation

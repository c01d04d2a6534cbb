// Counts fates and prints them: by kernel and class, and whether the goals are met.
#pragma once

#include <map>
#include <vector>

#include "tests/mutation/survivors.hpp"

namespace kiln::mutation {

/// What became of some mutants. `one`: killed in the first schedule; `killed`: in some schedule; `unrun`: by the static
/// layer; `checked`: by that or, where it is incomplete, in the two runs of `kiln check --launch`; `together`: by one
/// of both.
struct Count {
  int noticed = 0;  // by the simulator, or wrong results in a class where these do not kill
  int mutants = 0, one = 0, killed = 0, values = 0, unrun = 0, checked = 0, together = 0, equivalent = 0;

  int counted() const { return mutants - equivalent; }
  double share(int n) const { return counted() ? double(n) / counted() : 1; }
};

class Report {
 public:
  /// Both are kept by reference.
  Report(const std::vector<SurvivorRow>&, const std::map<std::string, Whole>&);

  void take(const Judged&);
  /// The tables, as Markdown.
  std::string tables() const;
  /// Prints what is not as it should be: a survivor without a reason, a row of the survivors' file that is out of date
  /// (only when `complete`), too few kills. Returns whether all is well.
  bool check(bool complete) const;

 private:
  std::string lead() const;
  void lives(const Judged&);
  void warns_in_vain(const Judged&);

  const std::vector<SurvivorRow>& rows_;
  const std::map<std::string, Whole>& whole_;
  std::vector<int> used_;
  Count all_{};
  std::map<std::string, Count> kernels_{};
  std::map<int, Count> classes_{};
  int stillborn_ = 0, nameless_ = 0, false_alarms_ = 0;
};

/// Puts text between the two marks of a document (`<!-- measured -->`, `<!-- end -->`); throws InputError where they
/// are not.
void write_between_marks(const std::string& path, const std::string& text);

}  // namespace kiln::mutation

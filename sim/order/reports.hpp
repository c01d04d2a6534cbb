// The findings of the detector: both accesses, their threads, what is missing between them, and the cheapest repair.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "ptx/diag/diagnostic.hpp"
#include "sim/core/machine.hpp"
#include "sim/core/racing_reads.hpp"
#include "sim/order/judge.hpp"

namespace kiln::sim {

/// Weak loads that race with writes, and the findings that take the place of the sink's, by their numbers there, if
/// what was loaded reaches nothing.
struct ReadRaces {
  RacingReads reads{};
  std::map<std::size_t, diag::Diagnostic> unused{};
};

/// What a finding says beyond its rule.
struct Found {
  std::string got{};
  std::vector<diag::Note> notes{};
};

class Reports {
 public:
  void start(const Cluster& cluster) { grid_ = &cluster.grid, cluster_ = &cluster, beside_ = cluster.beside; }
  /// The next accesses are those of another cluster of the grid.
  void enter(const Cluster& cluster) { cluster_ = &cluster; }
  /// Two accesses that are not in order; once for each rule and pair of instructions.
  void report(rules::Rule, const Earlier&, const Later&, const Range&);
  /// An operation that breaks a rule; once for each rule and `cause`, the operation unless given. `describe` makes the
  /// Found, and is called only then.
  template <class Describe>
  void report(const rules::Verdict& v, const Agent& a, const ir::Operation& op, Describe describe,
              const ir::Operation* cause = nullptr) {
    if (v.broken() && reported_.insert({v.rule, cause ? cause : &op, nullptr}).second)
      publish(v.rule, a, op, describe());
  }

  ReadRaces& read_races() { return read_races_; }
  /// A place in memory, in words.
  std::string where(const Range&) const;
  /// A note that `words` and the name of the threads make, at their operation.
  diag::Note note(const std::string& words, const Agent&, const ir::Operation&) const;

 private:
  bool note_racing_read(rules::Rule, const Earlier&, const Later&);
  bool is_read_too_early(rules::Rule, const Earlier&, const Later&, const Range&) const;
  void publish(rules::Rule, const Agent&, const ir::Operation&, Found);

  const Grid* grid_ = nullptr;
  const Cluster* cluster_ = nullptr;
  bool beside_ = false;  // clusters run side by side
  std::set<std::tuple<rules::Rule, const ir::Operation*, const ir::Operation*>> reported_;
  ReadRaces read_races_{};
};

}  // namespace kiln::sim

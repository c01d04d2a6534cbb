// The findings of the detector: both accesses, their threads, what is missing between them, and the cheapest repair.
#pragma once

#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "ptx/diag/diagnostic.hpp"
#include "sim/core/machine.hpp"
#include "sim/order/judge.hpp"

namespace kiln::sim {

/// What a finding says beyond its rule.
struct Found {
  std::string got{};
  std::vector<diag::Note> notes{};
};

class Reports {
 public:
  void start(const Cluster& cluster) { grid_ = &cluster.grid, beside_ = cluster.beside; }
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

  /// A place in memory, in words.
  std::string where(const Range&) const;
  /// A note that `words` and the name of the threads make, at their operation.
  diag::Note note(const std::string& words, const Agent&, const ir::Operation&) const;

 private:
  void publish(rules::Rule, const Agent&, const ir::Operation&, Found);

  const Grid* grid_ = nullptr;
  bool beside_ = false;  // clusters run side by side
  std::set<std::tuple<rules::Rule, const ir::Operation*, const ir::Operation*>> reported_;
};

}  // namespace kiln::sim

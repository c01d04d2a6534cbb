#include "sim/core/fault.hpp"

#include "ptx/rules/finding.hpp"

namespace kiln::sim {

void fault(rules::Rule rule, const std::string& got) { throw Fault{Outcome::fault, rules::finding(rule, got)}; }

void fault(const rules::Verdict& broken) { throw Fault{Outcome::fault, rules::finding(broken)}; }

void unmodelled(const std::string& what) {
  throw Fault{Outcome::incomplete, rules::finding(rules::Limit::unmodelled, what)};
}

}  // namespace kiln::sim

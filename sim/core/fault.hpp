// What stops a simulated thread: a mistake of the program, or something that the simulator does not model. The code
// that executes an instruction throws it; the scheduler adds the place and ends the run.
#pragma once

#include <fmt/format.h>

#include <string>

#include "ptx/diag/diagnostic.hpp"
#include "ptx/rules/catalogue.hpp"
#include "sim/core/run.hpp"

namespace kiln::sim {

/// Why execution cannot go on. `outcome` is fault, step_limit or incomplete; the finding has no place yet.
struct Fault {
  Outcome outcome = Outcome::fault;
  diag::Diagnostic finding{};
};

/// The program breaks a rule: "<what must hold>; got <got>".
[[noreturn]] void fault(rules::Rule rule, const std::string& got);
[[noreturn]] void fault(const rules::Verdict& broken);

/// The simulator has no model of `what`; the run ends as incomplete.
[[noreturn]] void unmodelled(const std::string& what);

/// Faults when the verdict is broken, with the rule's own words for the value that it carries.
inline void require(const rules::Verdict& verdict) {
  if (verdict.broken()) fault(verdict);
}

/// The same with other words for what was found, formatted only when the verdict is broken.
template <class... Args>
void require(const rules::Verdict& verdict, fmt::format_string<Args...> got, Args&&... args) {
  if (verdict.broken()) fault(verdict.rule, fmt::format(got, std::forward<Args>(args)...));
}

}  // namespace kiln::sim

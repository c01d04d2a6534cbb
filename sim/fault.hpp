// What stops a simulated thread: a mistake of the program, or something that the simulator does not model. Thrown by
// whatever executes an instruction; the scheduler adds the place and ends the run.
#pragma once

#include <string>

#include "ptx/rules/verdict.hpp"
#include "sim/simulate.hpp"

namespace kiln::sim {

/// Why execution cannot go on. `outcome` is fault or incomplete.
struct Fault {
  Outcome outcome = Outcome::fault;
  std::string slug{};
  std::string message{};
};

/// The program did something wrong: `message` is one sentence with the offending value.
[[noreturn]] void fault(std::string slug, std::string message);

/// The simulator has no model of `what`; the run ends as incomplete.
[[noreturn]] void unmodelled(std::string what);

/// The catalogue's sentence for a broken rule, with the value given: "...; got 48".
std::string rule_text(const rules::Verdict& verdict);

/// Faults with the rule's slug and text when the verdict is broken.
void require(const rules::Verdict& verdict);

}  // namespace kiln::sim

// From verdicts to findings: the only place where a broken rule becomes text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ptx/diag/diagnostic.hpp"
#include "ptx/ir/code.hpp"
#include "ptx/rules/catalogue.hpp"
#include "ptx/rules/verdict.hpp"

namespace kiln::verifier {

/// What a finding is about: an operation, an operand of it, or a place in the module.
struct Subject {
  const ir::Code& code;
  const ir::Operation& operation;
  const ir::Operand* operand = nullptr;
  /// The operand's literal is the value that the rule judges, so that the nearest legal value can replace it.
  bool literal_is_value = true;
};

/// Makes the finding of a broken rule: the catalogue's sentence, the value found, the nearest legal literal as a
/// fix-it, and where the rule comes from. `got` overrides how the value is printed. The verdict must be broken.
diag::Diagnostic& broken(diag::Sink&, const rules::Verdict&, diag::Where, std::string got = {});
diag::Diagnostic& broken(diag::Sink&, const rules::Verdict&, const Subject&, std::string got = {});

/// Reports the verdict if it is broken, and says whether it did.
bool judge(diag::Sink&, const rules::Verdict&, const Subject&, std::string got = {});

/// A statement to insert before or after an operation, as a repair; nothing when the module has no text to repair
/// because it was built.
std::optional<diag::FixIt> insertion_before(const ir::Code&, const ir::Operation&, std::string_view statement);
std::optional<diag::FixIt> insertion_behind(const ir::Code&, const ir::Operation&, std::string_view statement);

/// Where something stands, in a sentence: "kernel.cpp:12", as the user wrote it, where the PTX says so; else "line 80".
std::string line_of(const diag::Where&);

/// Says that something is not modelled, so that its absence from the findings means nothing.
diag::Diagnostic& incomplete(diag::Sink&, diag::Where, const std::string& what,
                             rules::Limit = rules::Limit::unmodelled);

}  // namespace kiln::verifier

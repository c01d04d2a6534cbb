// What `kiln run` and `kiln sim` say at the end, for a person.
#pragma once

#include <string>

#include "dsl/size.hpp"
#include "harness/pipeline/options.hpp"
#include "harness/pipeline/report.hpp"
#include "ptx/diag/render.hpp"

namespace kiln::command {

/// What was asked for, next to what came of it.
struct RunFacts {
  std::string name{};  // kernel or file
  std::string target{};
  std::string sizes{};   // "m=512 n=512 k=512"
  dsl::Sizes numbers{};  // the same for JSON
  std::string proof = "kiln check";  // what follows every order of the threads
  harness::RunOptions options{};
};

/// A paragraph with one line per stage; the last line says what the result is worth.
std::string summary_text(const RunFacts&, const harness::RunReport&, diag::Colour);

/// "pass", "fail", "incomplete" or, when nothing was expected of the result, "finished".
std::string verdict(const harness::RunReport&);

}  // namespace kiln::command

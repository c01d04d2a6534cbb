// What `kiln check` found as JUnit's XML, which continuous integration shows as tests: one for each file.
#pragma once

#include <string>
#include <vector>

#include "tools/command/judge_inputs.hpp"

namespace kiln::command {

/// A test fails where its file has errors (of portability too if `strict`), is skipped where something is incomplete,
/// and is an error where the file cannot be used or Kiln fails. Everything else that was found is its output.
std::string junit(const std::vector<InputResult>&, bool strict);

}  // namespace kiln::command

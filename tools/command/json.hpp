// What the command prints as JSON in more than one place.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "dsl/size.hpp"
#include "tools/command/report/summary.hpp"

namespace kiln::command {

/// An object as a command prints it: its first member is "version", that of this Kiln. docs/stability.md says what it
/// promises.
std::string versioned(std::string object);
std::string versioned(const nlohmann::ordered_json& object);

/// What `kiln run` and `kiln sim` say at the end: everything of the text and every figure in it, the findings included.
std::string summary_json(const RunFacts&, const harness::RunReport&);

/// Every figure of a timed run, null unless the run was timed.
nlohmann::ordered_json timing_json(const harness::RunReport&);

/// A number, "128x256x64", "96,0,128", or null where nothing is given.
inline nlohmann::ordered_json size_json(const dsl::Size& size) {
  if (!size.is_given()) return nullptr;
  if (size.extents().size() == 1) return size.extents()[0];
  return text(size);
}

}  // namespace kiln::command

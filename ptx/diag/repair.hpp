// Repairs: from findings to the text that their fix-its ask for.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/diag/diagnostic.hpp"

namespace kiln::diag {

/// Puts `text` before a statement: on a line of its own, indented as the statement is, if the statement begins its
/// line; else on the same line.
FixIt insert_before(const Source&, Place statement, std::string_view text);

/// Puts `text` after a statement: on a line of its own if only a comment follows the statement on its line.
FixIt insert_behind(const Source&, Place statement, std::string_view text);

/// A text with the fix-its of findings applied.
struct Repaired {
  std::string text{};
  std::vector<std::size_t> findings{};  // those whose fix-its were applied, as indices into Sink::all()
};

/// Applies the fix-its of every finding about `source`. The fix-its of one finding are applied together or not at all.
/// A finding whose edits overlap those of an earlier finding is left for the next pass. An edit that several findings
/// ask for is made once. No byte outside the edits changes.
Repaired repair(const Source& source, const Sink&);

}  // namespace kiln::diag

// Repairs: from findings to the text that their fix-its ask for.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/diag/diagnostic.hpp"

namespace kiln::diag {

/// Puts `text` in front of a statement: on a line of its own, indented as the statement is, where the statement begins
/// its line; in front of it on the same line where it does not.
FixIt insert_before(const Source&, Place statement, std::string_view text);

/// Puts `text` behind a statement: on a line of its own where the statement ends its line, but for a comment.
FixIt insert_behind(const Source&, Place statement, std::string_view text);

/// A text with the fix-its of findings applied.
struct Repaired {
  std::string text{};
  std::vector<std::size_t> findings{};  // those whose fix-its were applied, as indices into Sink::all()
};

/// Applies the fix-its of every finding about `source`. Those of one finding are applied together or not at all; a
/// finding whose edits overlap others that were taken before it keeps its place for the next time. An edit that several
/// findings ask for is made once. No byte outside the edits changes.
Repaired repair(const Source& source, const Sink&);

}  // namespace kiln::diag

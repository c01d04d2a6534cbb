// From findings to mistakes: one missing wait or barrier leaves many pairs of accesses unordered, and is one report.
#pragma once

#include <string_view>

#include "ptx/diag/diagnostic.hpp"
#include "ptx/ir/module.hpp"

namespace kiln::verifier {

/// Words of a finding that an arrival, or bytes, may count for the wrong phase: nothing has waited for the end of one.
inline constexpr std::string_view too_early = "may come before the phase before is over, and count for that";

/// A note of a finding about two accesses, at the other one.
inline constexpr std::string_view other_access = "the other one is here";

/// Leaves one finding of all that one missing edge explains: an edge from one stretch of code to an operation and to
/// what the same warps execute after it. Notes count and name the other places, and what else follows from it. The
/// edges are chosen greedily, the one that explains most first, so two findings that no edge explains both stay two.
/// Two accesses are reported at the one that should have waited, if one of the findings is. Findings with fix-its, and
/// rules that are not about order, stay as they are; but what depends on memory that was read unwritten follows from the
/// race of this read. An error takes along what is less severe, never the other way round. Errors come first
/// afterwards, each severity in the order of the text.
void gather_mistakes(const ir::Module&, diag::Sink&);

}  // namespace kiln::verifier

// Versions of ptxas: what each of them takes, of what PTX has.
#pragma once

#include "ptx/isa/ptxas_version.hpp"
#include "ptx/rules/verdict.hpp"

namespace kiln::rules {

/// Some versions refuse an instruction, or do not survive it; `asked` is the one that is to assemble it.
constexpr Verdict ptxas_takes(isa::PtxasRange refusing, isa::PtxasVersion asked) {
  return refusing.has(asked) ? breaks(Rule::ptxas_version) : legal;
}

/// The version that is to assemble a text must know the `.version` that the text, or a part of it, needs.
constexpr Verdict ptxas_knows(isa::PtxVersion needed, isa::PtxasVersion asked) {
  return needed <= isa::newest_version_of(asked) ? legal : breaks(Rule::ptxas_version);
}

/// No version is asked about, and some refuse the instruction: one that the newest still takes is here to stay.
constexpr Verdict ptxas_withdrawn(isa::PtxasRange refusing) {
  return refusing.last < isa::newest_ptxas ? legal : breaks(Rule::ptxas_withdrawn);
}

/// The same of versions that end with an internal error.
constexpr Verdict ptxas_crash(isa::PtxasRange crashing) {
  return crashing.last < isa::newest_ptxas ? legal : breaks(Rule::ptxas_crash);
}

}  // namespace kiln::rules

// A chip and the architecture that a kernel is built for: each follows from the other.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <string>

#include "harness/chip/chip_json.hpp"
#include "ptx/diag/refuse.hpp"
#include "ptx/isa/features.hpp"

namespace kiln::command {

/// The bundled chip of a target where none is named.
inline std::string usual_chip(std::optional<isa::Target> target) {
  return target && target->sm >= 90 && target->sm < 100 ? "h100" : "b200";
}

/// How many multiprocessors a chip has, of those that Kiln brings along or a file.
inline std::uint64_t multiprocessors_of(const std::string& chip) {
  return std::uint64_t(harness::chip_of(chip)[timing::FactId::sms]);
}

/// Whether PTX of a target runs on the chip: one with wgmma takes none of a later architecture, and PTX that has wgmma
/// runs nowhere else.
inline bool runs(const timing::Chip& chip, isa::Target target) {
  return chip.core == timing::TensorCore::wgmma ? target.sm < 100 : !isa::has(isa::Feature::wgmma, target);
}

/// Refuses a target that the chip does not run.
inline void require_runs(const timing::Chip& chip, isa::Target target) {
  if (!runs(chip, target)) diag::refuse("--chip: {} does not run {}", chip.title, isa::spelling(target));
}

/// The first of these targets that the chip runs. `what` is written for them.
inline isa::Target first_that_runs(const timing::Chip& chip, std::span<const isa::Target> targets,
                                   std::string_view what) {
  const auto found = std::find_if(targets.begin(), targets.end(), [&](isa::Target t) { return runs(chip, t); });
  if (found == targets.end()) diag::refuse("--chip: {} is not written for {}", what, chip.title);
  return *found;
}

}  // namespace kiln::command

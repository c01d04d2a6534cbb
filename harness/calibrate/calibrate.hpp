// What microbenchmarks tell of a machine, as a chip.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/calibrate/machine.hpp"
#include "timing/chip.hpp"

namespace kiln::harness {

struct Calibration {
  timing::Chip chip{};
  std::vector<std::string> failures{};  // "clusters at once: why"; their facts are those of the chip it began with
};

/// Measures on the machine. `base`: a chip of the same architecture, whose numbers stay where nothing is measured.
/// `date`: "2026-11-23". `on_probe` is told what is measured next, and says whether there is time for it: a probe that
/// it refuses is a failure, and its facts stay those of the base.
Calibration calibrate(Machine&, timing::Chip base, const std::string& date,
                      const std::function<bool(std::string_view probe)>& on_probe);

}  // namespace kiln::harness

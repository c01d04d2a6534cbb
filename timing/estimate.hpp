// What a GEMM takes on a chip, in closed form: from its tiling and the chip's facts, without a kernel. It is for
// ranking strategies, thousands in a few milliseconds; timing/predict runs the kernel and says how sure it is.
#pragma once

#include <string_view>

#include "launch/tiling.hpp"
#include "timing/chip.hpp"
#include "timing/correction.hpp"

namespace kiln::timing {

struct Estimate {
  double cycles = 0;     // of the launch, its cold start included, in closed form
  double seconds = 0;    // corrected by measured GEMMs, where the chip has them
  double clock = 0;      // GHz, by the chip's law
  double hbm_bytes = 0;  // that HBM gives, some of them more than once
  double l2_bytes = 0;   // that L2 gives all SMs
  /// Seconds, if HBM gave at once what it is asked for, and L2 no more than it does of what one SM alone reads.
  double besides_hbm = 0;
  Traits traits{};           // that a correction asks for
  std::string_view binds{};  // what decides while the slots of a tile go by, or "HBM", "the epilogue"

  /// Before it is corrected.
  double form_seconds() const { return cycles / (clock * hertz_of_ghz); }
  static constexpr double hertz_of_ghz = 1e9;
};

/// The estimate, with L2 cold.
Estimate estimate(const launch::Tiling&, const Chip&);

/// CTAs that a persistent kernel of such groups should have on the chip: one to an SM that gets one.
std::uint64_t resident_ctas(const Chip&, int ctas_of_a_group);

}  // namespace kiln::timing

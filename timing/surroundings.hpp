// What the run of one cluster assumes of the rest of the chip.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "timing/survey.hpp"

namespace kiln::timing {

/// What the run assumes of the rest of the chip.
struct Surroundings {
  bool hits_l2 = true;           // loads find their bytes there
  std::set<std::string> held{};  // but for these buffers, if the others are not there
  bool values = true;            // MMAs compute; else their results are left out
  double from_hbm = 0;           // of the bytes that loads ask for, the part that HBM must give
  // Of a buffer that the launch writes and that L2 cannot hold: the part of what is loaded that HBM gives, if this
  // cluster has not just written it.
  std::map<std::string, double> spilled{};
  GivenByL2 given{};               // of what bulk copies load, where it is known
  PartsOutside outside{};          // of bulk copies, where it is known
  std::set<std::string> handed{};  // buffers that clusters of the launch write for others to read
  double dirty = 0;                // what comes into L2 drives out as much, of which HBM must take this part
  // By warp: how often it counts, on counters that wrap, before the others have; from then on it comes last.
  std::vector<std::uint32_t> counts_before_last{};
  std::uint64_t busy_clusters = 0;  // that run at the same time; 0: as many as there are and fit
  bool timeline = false;            // the run's spans are kept
};

}  // namespace kiln::timing

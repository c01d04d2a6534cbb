// What a run has judged, and what it has not: a run that finds nothing says how far that goes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/pipeline/report.hpp"
#include "tools/command/report/summary.hpp"

namespace kiln::command {

/// One question about a kernel.
struct Judged {
  std::string_view key{};  // for JSON: "one_order"
  std::string what{};      // "races and deadlocks in one order of events (random, seed 1)"
  bool done = false;
  std::string instead{};  // what judges it where this run has not: "--prove"
};

/// The questions that a run of these facts could answer, in the order in which they are asked.
std::vector<Judged> judged(const RunFacts&, const harness::RunReport&);

}  // namespace kiln::command

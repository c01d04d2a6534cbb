// Many schedules of one problem: seeds, or an exploration of all; each finding once.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/pipeline/options.hpp"
#include "harness/pipeline/report.hpp"
#include "sim/schedule/explore.hpp"
#include "sim/schedule/recording.hpp"

namespace kiln::harness {

/// A finding, as the first schedule that showed it has it.
struct FoundIn {
  diag::Diagnostic finding{};
  std::uint64_t first = 0;  // seed; of an exploration: number of the trace, from 1
  std::uint64_t count = 0;  // schedules that showed it
};

/// What many schedules came to. Reports of parts can be put together in any order.
struct SchedulesReport {
  std::string name{};               // kernel or file
  std::string strategy{};           // as sim::spelling has it
  std::set<std::uint64_t> seeds{};  // that have run; empty for an exploration
  std::uint64_t runs = 0;
  std::map<std::string, std::uint64_t> outcomes{};  // spelling to runs
  std::map<std::uint64_t, std::string> wrong{};     // seed to what the comparison says
  std::set<std::uint64_t> traces{};                 // distinct orders of synchronisation operations
  std::vector<FoundIn> findings{};                  // by seed, then as reported
  std::optional<sim::schedule::Exploration> exploration{};
  bool incomplete = false;  // something is not modelled, or an exploration was cut

  /// As RunReport has it.
  int exit_code() const;
  /// The first seed or trace with an error, a wrong result or no end; 0: none.
  std::uint64_t first_bad = 0;
  void merge_finding(FoundIn);
  /// Adds another part. Throws InputError when it is of another problem or strategy, or has seeds that are in already.
  void merge(SchedulesReport other);
};

struct SchedulesPlan {
  std::string name{};
  RunOptions options{};  // the strategy and what else the simulator is asked for
  std::uint64_t first_seed = 1;
  std::uint64_t count = 1;   // of an exploration: at most so many traces
  unsigned jobs = 1;         // processes
  bool seed_inputs = false;  // generated inputs follow the seed, as in `kiln run`
  std::function<void(std::uint64_t done)> on_progress = [](std::uint64_t) {};
};

/// Runs the plan on a problem: the contract as for the first seed. The result does not depend on `jobs`.
SchedulesReport run_schedules(const ir::Module&, const diag::SourcePtr&, const launch::Contract&, const SchedulesPlan&);

/// One schedule of a problem: its report, and its decisions if `recording` is given.
RunReport run_schedule(const ir::Module&, const launch::Contract&, const SchedulesPlan&, std::uint64_t seed,
                       sim::schedule::Recording* recording, sim::Observer* observer = nullptr,
                       sim::schedule::Schedule* schedule = nullptr);

/// A report as JSON, and back; `source` is the PTX text that findings point into, null when there is none at hand.
std::string schedules_json(const SchedulesReport&);
SchedulesReport parse_schedules(std::string_view json, const std::string& name, const diag::SourcePtr& source);

/// Makes a schedule with an error shorter: returns the fewest decisions found after which, with no further
/// interruption, the same finding (rule and line) still comes. At most `attempts` runs.
sim::schedule::Recording shrink(const ir::Module&, const launch::Contract&, const SchedulesPlan&, std::uint64_t seed,
                                const sim::schedule::Recording&, unsigned attempts = 2000);

}  // namespace kiln::harness

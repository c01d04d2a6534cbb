// The options of `kiln run` and `kiln sim` that choose schedules, and what many of them come to. docs/schedules.md.
#pragma once

#include <optional>
#include <string>

#include "harness/schedules/schedule_file.hpp"
#include "harness/schedules/schedules.hpp"
#include "tools/command/report/console.hpp"
#include "tools/command/report/summary.hpp"
#include "tools/command/subcommands.hpp"

namespace kiln::command {

struct ScheduleArguments {
  std::string schedule = "random";
  std::string schedules{}, jobs{}, first_seed{};  // empty: not said
  std::string save{}, replay{};                   // files
  bool shrink = false;
};

/// --schedule, --schedules, --jobs, --first-seed, --save-schedule, --replay and --shrink.
void add_schedule_options(CLI::App&, ScheduleArguments&);

/// The seed to begin with: that of --first-seed or of the file of --replay, else `seed`. Throws InputError for options
/// that do not go together and files that cannot be read.
std::string first_seed(const ScheduleArguments&, const std::string& seed);

/// What the options ask for, hooked into a run. The facts and the progress must outlive the run.
class Schedules {
 public:
  /// `seed_inputs`: generated inputs follow the seed.
  Schedules(const ScheduleArguments&, RunFacts&, Progress&, bool seed_inputs);
  Schedules(const Schedules&) = delete;
  Schedules& operator=(const Schedules&) = delete;

  /// There is more than one run: finish() prints the result instead of the summary.
  bool many() const { return many_; }
  /// Prints, and returns the exit code.
  int finish(const RunFacts&, const harness::RunReport&, bool json);
  /// Writes the file of --save-schedule after a single run.
  void save();

 private:
  bool ready(const ir::Module&, const diag::SourcePtr&, const launch::Contract&);
  void run_many(const ir::Module&, const launch::Contract&);
  void save_first_bad(const ir::Module&, const launch::Contract&);
  sim::schedule::Recording record(const ir::Module&, const launch::Contract&, std::uint64_t seed) const;

  ScheduleArguments arguments_;
  harness::SchedulesPlan plan_{};
  Progress& progress_;
  bool many_ = false;
  harness::ScheduleFile replayed_{};
  sim::schedule::Recording recording_{};
  diag::SourcePtr ptx_{};
  launch::Contract contract_{};  // without content: what a schedule file names
  std::optional<harness::SchedulesReport> report_{};
  std::string saved_{};  // what finish() says about the file
};

/// A result of many schedules as text; its findings go to `findings`.
std::string schedules_text(const harness::SchedulesReport&, diag::Sink& findings);

}  // namespace kiln::command

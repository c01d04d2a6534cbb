// Schedules in files: the decisions of a run as JSON, with what they were made for (docs/schedules.md).
#pragma once

#include <string>

#include "launch/contract.hpp"
#include "ptx/diag/source.hpp"
#include "sim/schedule/recording.hpp"

namespace kiln::harness {

struct ScheduleFile {
  std::uint64_t seed = 1;  // of the inputs of `kiln run`
  sim::schedule::Recording recording{};
};

/// Writes a schedule of this PTX text and these launches.
void write_schedule(const std::string& path, const ScheduleFile&, const diag::Source& ptx, const launch::Contract&);

/// Reads one. Throws InputError for what is no such file; whether it fits is for check_schedule to say.
ScheduleFile read_schedule(const std::string& path);

/// Throws InputError when the file was written for another PTX text or other launches.
void check_schedule(const std::string& path, const diag::Source& ptx, const launch::Contract&);

/// The schedule as text, and back. `name` is for messages.
std::string schedule_text(const ScheduleFile&, const diag::Source& ptx, const launch::Contract&);
ScheduleFile parse_schedule(std::string_view text, const std::string& name);

}  // namespace kiln::harness

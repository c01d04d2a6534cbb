// A profiler inside the kernel: instrumented PTX records, for each warp, when each phase begins. One lane of the warp
// writes, to a buffer that becomes one more parameter. The profiler rewrites modules, so it works on kernels of the
// DSL, on lowered kernels and on foreign PTX. Without it the text does not change.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "launch/contract.hpp"
#include "ptx/ir/module.hpp"

namespace kiln::harness {

/// What a warp does. Waits differ by what they wait for: WaitTMA, for bytes to arrive; WaitMMA, for the tensor
/// core to have read a slot; WaitMainloop, for a finished accumulator; WaitEpilogue, for an accumulator to be read.
enum class Phase : std::uint8_t {
  setup,
  wait_tma,
  issue_tma,
  wait_mma,
  issue_mma,
  wait_mainloop,
  epilogue,
  wait_epilogue,
  run,
  cleanup
};
/// "WaitTMA".
std::string_view spelling(Phase);

/// A place in the code from which on a warp is in a phase.
struct ProfileSite {
  Phase phase = Phase::setup;
  std::string role{};     // of the label `role_NAME` before it; empty: none
  std::string barrier{};  // of a wait: the variable's name, where it is known
  bool operator==(const ProfileSite&) const = default;
};

/// What an instrumented module writes.
struct ProfilePlan {
  std::vector<ProfileSite> sites{};
  std::uint32_t records = 0;                 // room for each warp
  std::vector<std::uint64_t> first_warps{};  // of each launch, in the buffer
  static constexpr const char* buffer = "kiln_profile";
  static constexpr std::uint64_t header_bytes = 64, record_bytes = 16;
  std::uint64_t warp_bytes() const { return header_bytes + records * record_bytes; }
};

/// Puts the profiler into every entry that the contract launches, and the buffer into the contract: at most `records`
/// phases of each warp, fewer where that would be more than 256 MiB. Throws InputError for contracts that have such a
/// buffer already, and for launches of so many warps that 32 records each are too much.
ProfilePlan instrument(ir::Module&, launch::Contract&, std::uint32_t records = 1024);

/// The same without phases: each warp notes the clock of its SM and the global timer when it begins and when it ends.
ProfilePlan instrument_ends(ir::Module&, launch::Contract&);

/// What one warp of such a module noted. Nanoseconds are those of the global timer.
struct WarpEnds {
  std::size_t launch = 0;
  std::uint64_t cta = 0;  // linear
  std::uint32_t sm = 0;
  std::uint64_t begin_ns = 0, end_ns = 0, cycles = 0;
};

/// Reads the plan's buffer, as bytes. Warps that did not come to their end are left out.
std::vector<WarpEnds> read_ends(const ProfilePlan&, const launch::Contract&, const std::vector<std::uint8_t>&);

/// One phase of a warp, in nanoseconds (simulated: ticks) since the first record of the launch.
struct ProfilePhase {
  std::uint32_t site = 0;
  std::uint32_t index = 0;  // of the barrier in its variable
  std::uint64_t begin = 0, end = 0;
};

/// What one warp wrote.
struct WarpProfile {
  std::size_t launch = 0;
  std::uint64_t cta = 0;  // linear
  std::uint32_t warp = 0, sm = 0;
  std::uint64_t dropped = 0;  // records there was no room for
  bool finished = false;      // it came to its end
  std::vector<ProfilePhase> phases{};
};

/// Reads the buffer back. Warps that wrote nothing are left out. Clocks of SMs are put side by side by the global
/// timer.
std::vector<WarpProfile> read_profile(const ProfilePlan&, const launch::Contract&);

/// The role that a warp spent most of its phases in; empty: none.
std::string role_of(const ProfilePlan&, const WarpProfile&);

/// Where unfinished warps are, the most frequent first: "load: WaitMMA in_empty[2] (132 warps)".
std::vector<std::string> last_phases(const ProfilePlan&, const std::vector<WarpProfile>&);

/// What the records' clocks count: ticks of a simulated cluster, cycles that a chip's clock predicts, or nanoseconds.
enum class ProfileClock : std::uint8_t { simulated, predicted, gpu };

/// The same as a timeline, in the trace-event format of `--trace`.
std::string profile_json(const ProfilePlan&, const launch::Contract&, const std::vector<WarpProfile>&,
                         const std::string& kernel, ProfileClock);

}  // namespace kiln::harness

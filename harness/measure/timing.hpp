// What a timed run measures and what that is worth: statistics, how much work there was, and how buffers take turns so
// that no repetition finds in the L2 what the one before left there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launch/contract.hpp"

namespace kiln::harness {

/// What is measured in the same minutes.
enum class Beside : std::uint8_t { cublas, nothing };

/// What L2 holds when a repetition begins: something else, or what the repetition before it left.
enum class L2State : std::uint8_t { cold, warm };

/// How a contract is timed.
struct TimingOptions {
  unsigned repetitions = 20, warm_up = 5;
  Beside beside = Beside::cublas;
  L2State l2 = L2State::cold;
  bool clocks = false;  // the launches note their clocks, which puts instructions into them
};

/// How fast the SMs were while a launch ran, by clocks read inside of it.
struct LaunchClock {
  std::size_t launch = 0;
  double ghz = 0, nanoseconds = 0;  // from the start of its first warp to the end of its last one
  std::uint64_t ctas = 0, sms = 0;  // SMs that ran a CTA

  double cycles() const { return ghz * nanoseconds; }
};

/// How long the same work took, each time it was done.
struct Times {
  std::vector<double> milliseconds{};

  /// The middle one, or the mean of the two in the middle; 0 where nothing was measured, as the two below.
  double median() const;
  double least() const;
  double most() const;
};

/// How many copies of the buffers take turns, and how many bytes of something else are written before each repetition
/// where so many copies would be too many.
struct Rotation {
  std::uint64_t copies = 1, filler_bytes = 0;
};

/// Enough copies of `footprint` bytes that between two uses of the same one more than twice the L2's `l2_bytes` are
/// touched, within `memory_bytes` and within 16.
Rotation plan_rotation(std::uint64_t footprint, std::uint64_t l2_bytes, std::uint64_t memory_bytes);

/// What the launches of a contract do, as far as its expectations say.
struct Work {
  double operations = 0;   // useful ones of the dense products, a multiply-add counting two; 0: none, it copies
  double bytes_moved = 0;  // of a contract that copies: read and written
  std::string counted{};   // what was counted, in one line
  std::string sizes{};     // "M=512 N=512 K=512" of a gemm

  /// In 10^12 operations a second, or 10^9 bytes.
  double tera_operations(double milliseconds) const { return operations / milliseconds * 1e-9; }
  double giga_bytes(double milliseconds) const { return bytes_moved / milliseconds * 1e-6; }
};

/// Counts the operations of products, M * N * K each and twice: K before a sparse A is compressed, only the rows that
/// belong to a group, no scales, no epilogue. Nothing where nothing is expected. Throws InputError for expectations
/// that do not fit their buffers.
std::optional<Work> work_of(const launch::Contract&);

}  // namespace kiln::harness

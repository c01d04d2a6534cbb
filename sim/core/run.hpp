// The options of a run and its statistics.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace kiln::sim {

namespace schedule {
struct Recording;  // sim/schedule/recording.hpp
class Schedule;    // sim/schedule/schedule.hpp
}  // namespace schedule

/// How the order of events is chosen; see README.md of sim/schedule. `exhaustive` is not for a single run: see
/// schedule::explore.
enum class Strategy : std::uint8_t { random, adversarial, pct, exhaustive };
std::string_view spelling(Strategy);

/// `exact` computes each MMA bit for bit as measured; `fast` uses plain f32 arithmetic, and marks the result.
enum class Arithmetic : std::uint8_t { exact, fast };

struct Options {
  std::uint64_t seed = 1;  // schedule: which warp next, when an asynchronous operation completes
  Arithmetic arithmetic = Arithmetic::exact;
  bool detect_races = true;     // judge every access by happens-before; see sim/order
  bool weigh_reads = false;     // of loads that race, tell those apart whose words reach nothing; may need a second run
  std::uint64_t max_steps = 0;  // warp instructions of one CTA before giving up; 0: a generous default
  std::function<void(std::string_view)> print{};  // receives what device code prints; without it that is dropped
  Strategy strategy = Strategy::random;
  const schedule::Recording* replay = nullptr;  // decisions to follow instead of the strategy
  schedule::Recording* record = nullptr;        // decisions are written here
  schedule::Schedule* schedule = nullptr;       // decides instead of all that
};

/// What a run did.
struct Statistics {
  std::uint64_t ctas = 0;
  std::uint64_t warp_instructions = 0;
  std::uint64_t thread_instructions = 0;
  std::uint64_t mma_instructions = 0;
  std::uint64_t mma_flops = 0;
  std::uint64_t tma_bytes = 0;
};

enum class Outcome : std::uint8_t { finished, fault, deadlock, livelock, step_limit, incomplete };
std::string_view spelling(Outcome);

struct Result {
  Outcome outcome = Outcome::finished;
  Statistics statistics{};
};

}  // namespace kiln::sim

// The time that a thread has worked: what else the machine does is no part of it.
#pragma once

#include <chrono>
#include <ctime>

namespace kiln::verifier {

/// Counts the processor's time of the thread that asks. A budget of it buys the same on a machine that is busy.
struct WorkClock {
  using duration = std::chrono::nanoseconds;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<WorkClock>;
  static constexpr bool is_steady = true;

  static time_point now() {
    std::timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return time_point(std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec));
  }
};

}  // namespace kiln::verifier

// Runs one text in the simulator and says what was reported.
#pragma once

#include <chrono>
#include <map>
#include <string>

#include "sim/simulate.hpp"
#include "tests/mutation/kernel.hpp"
#include "tests/mutation/mutant.hpp"
#include "tests/mutation/static_layer.hpp"

namespace kiln::mutation {

/// What one run came to. `stillborn`: the text does not parse, or its launch is refused; no mutant at all.
struct Observed {
  bool stillborn = false, error = false, incomplete = false, wrong_values = false;
  std::map<std::string, int> portability{};  // findings by slug
  std::string first{};                       // the first error, or what kept the run from its end
};

/// Schedule 1 and every third are random, the others adversarial and pct in turn.
Observed run_once(const Kernel&, const std::string& text, std::uint64_t schedule);

/// For a kernel whose contract expects nothing: what it leaves in three schedules alike is right, and ten times as many
/// steps as it took are too many.
void learn(Kernel&);

/// How a mutant ended.
enum class Fate { stillborn, killed, by_values, survived };

struct Judged {
  Mutant mutant{};
  Fate fate = Fate::survived;
  int schedule = 0;               // the first one that killed it
  std::string witness{};          // what was reported
  std::string unrun{};            // what the static layer reports; empty: nothing
  bool has_wrong_values = false;  // in some schedule
  bool is_followed = true;        // by the static layer, to its end
};

/// What the kernel itself gives.
struct Whole {
  Observed run{};
  StaticLayer unrun{};
};

/// Asks the static layer, and runs a mutant in schedule 1, and in those up to `schedules` until one kills it.
Judged judge(const Kernel&, const Mutant&, const Whole&, int schedules, std::chrono::milliseconds exploring);

}  // namespace kiln::mutation

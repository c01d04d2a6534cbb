// Schedules made shorter by delta debugging. Zeller, Hildebrandt, "Simplifying and Isolating Failure-Inducing Input",
// 2002.
#include <algorithm>

#include "harness/schedules/schedules.hpp"
#include "ptx/diag/error.hpp"
#include "sim/schedule/replay.hpp"

namespace kiln::harness {
namespace {

using sim::schedule::Decision;
using sim::schedule::Recording;
using sim::schedule::Replay;

struct Step {
  std::uint32_t launch = 0, cluster = 0;
  Decision decision{};
};
using Steps = std::vector<Step>;

Steps flatten(const Recording& r) {
  Steps out;
  for (const auto& c : r.clusters)
    for (const Decision& d : c.decisions) out.push_back({c.launch, c.cluster, d});
  return out;
}

Recording gather(const Steps& steps) {
  Recording r;
  for (const Step& s : steps) {
    if (r.clusters.empty() || r.clusters.back().launch != s.launch || r.clusters.back().cluster != s.cluster)
      r.clusters.push_back({s.launch, s.cluster, {}});
    r.clusters.back().decisions.push_back(s.decision);
  }
  return r;
}

/// What must go on showing: the first error, or, when there is none, that the result is wrong.
struct Symptom {
  bool wrong = false;
  std::string slug{};
  std::uint32_t begin = 0;

  explicit Symptom(const RunReport& report) {
    for (const diag::Diagnostic& d : report.findings.all())
      if (d.severity == diag::Severity::error) {
        slug = d.slug;
        begin = d.where.place.begin;
        return;
      }
    wrong = true;
  }
  bool shows_in(const RunReport& report) const {
    if (wrong)
      return std::any_of(report.comparisons.begin(), report.comparisons.end(), [](auto& c) { return !c.pass; });
    const auto& all = report.findings.all();
    return std::any_of(all.begin(), all.end(), [&](const diag::Diagnostic& d) {
      return d.severity == diag::Severity::error && d.slug == slug && d.where.place.begin == begin;
    });
  }
};

class Shrinker {
 public:
  Shrinker(const ir::Module& module, const launch::Contract& contract, const SchedulesPlan& plan, std::uint64_t seed,
           unsigned attempts)
      : module_(module), contract_(contract), plan_(plan), seed_(seed), left_(attempts) {}

  RunReport run(const Recording& r, Recording* followed) {
    Replay replay(r, Replay::How::loosely);
    RunReport report = run_schedule(module_, contract_, plan_, seed_, nullptr, nullptr, &replay);
    if (followed) *followed = replay.followed();
    return report;
  }

  // True when the steps still show it; then they become what they came to.
  bool holds(Steps& steps, const Symptom& symptom) {
    if (left_ == 0) return false;
    --left_;
    Recording followed;
    if (!symptom.shows_in(run(gather(steps), &followed))) return false;
    steps = flatten(followed);
    return true;
  }

  // Leaves out pieces, large ones first, while the symptom stays.
  Steps shorten(Steps steps, const Symptom& symptom) {
    for (std::size_t piece = steps.size(); piece != 0 && left_ != 0;) {
      bool shorter = false;
      for (std::size_t at = 0; at < steps.size() && left_ != 0;) {
        Steps less = steps;
        less.erase(less.begin() + std::ptrdiff_t(at), less.begin() + std::ptrdiff_t(std::min(at + piece, less.size())));
        if (less.size() < steps.size() && holds(less, symptom) && less.size() < steps.size())
          steps = std::move(less), shorter = true;
        else
          at += piece;
      }
      if (!shorter) piece /= 2;
      piece = std::min(piece, steps.size());
    }
    return steps;
  }

 private:
  const ir::Module& module_;
  const launch::Contract& contract_;
  const SchedulesPlan& plan_;
  std::uint64_t seed_;
  unsigned left_;
};

}  // namespace

Recording shrink(const ir::Module& module, const launch::Contract& contract, const SchedulesPlan& plan,
                 std::uint64_t seed, const Recording& recording, unsigned attempts) {
  Shrinker shrinker(module, contract, plan, seed, attempts);
  Recording followed;
  const RunReport whole = shrinker.run(recording, &followed);
  if (whole.exit_code() != 1) throw diag::InputError("--shrink: the schedule shows no error");
  return gather(shrinker.shorten(flatten(followed), Symptom(whole)));
}

}  // namespace kiln::harness

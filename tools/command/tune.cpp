// kiln tune: the strategies of `gemm` for shapes, ranked, predicted, tried and, with a GPU, measured; what is found
// goes to the cache that `gemm` reads.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>

#include "harness/chip/chip_json.hpp"
#include "harness/host/files.hpp"
#include "harness/run/run.hpp"
#include "ptx/diag/refuse.hpp"
#include "tools/command/gemm_choice.hpp"
#include "tools/command/json.hpp"
#include "tools/command/kernel_arguments.hpp"
#include "tools/command/prediction.hpp"
#include "tools/command/report/console.hpp"
#include "tools/command/report/numbers.hpp"
#include "tools/command/report/version.hpp"
#include "tools/command/shapes.hpp"
#include "tools/command/subcommands.hpp"

namespace kiln::command {
namespace {

using Clock = std::chrono::steady_clock;
using harness::TunedStrategy;
using harness::TuneKey;

constexpr const char* tune_examples =
    "  kiln tune gemm --type bf16 --m 128 --n 4096 --k 4096\n"
    "  kiln tune gemm --shapes bench/shapes.csv --chip h200 --budget 600\n"
    "  kiln tune gemm --type e4m3 --m 4096 --n 4096 --k 4096 --chip h200 --measure --top 5\n"
    "  kiln tune gemm --shapes shapes.csv --share 3/16 --cache part-3.json     the third of 16 machines\n"
    "  kiln merge part-*.json > tune.json                                      what all of them found\n\n"
    "Exit codes: 0 every shape has its strategy, 1 a strategy computed something wrong or broke a rule, 3 the budget "
    "was\n"
    "spent before all shapes were done; the same command goes on.";

struct TuneArguments {
  KernelChoice asked{};
  std::string shapes{}, share{}, budget{}, top = "12", predictions = "12", repetitions = "60";
  bool measure = false, again = false, json = false, list = false, traits = false, any_type = true;
};

constexpr std::uint64_t sampled_elements = 1024;

// Options of the kernel that the cache keeps: all but the extents.
std::vector<std::pair<std::string, std::string>> kept_options(const KernelChoice& c) {
  std::vector<std::pair<std::string, std::string>> options;
  for (const dsl::SizeOption& s : c.entry().sizes)
    if (const auto given = c.sizes.find(std::string(s.name)); given != c.sizes.end() && !is_extent(s.name))
      options.emplace_back(*given);
  return options;
}

double rounded(double x) { return std::round(x * 1e4) / 1e4; }

// One candidate that was looked at.
struct Tried {
  GemmChoice choice{};
  KernelChoice kernel{};
  timing::Prediction prediction{};
  std::optional<harness::TuneMeasurement> measured{};

  /// Prediction and estimate each know what the other does not: such as the order of events, or how HBM answers.
  double us() const { return std::max(prediction.seconds.value, choice.estimate.seconds) * 1e6; }
};

// Differences that neither the estimate nor a prediction sees.
launch::Tiling seen_of(launch::Tiling t) {
  t.rows_together = 0;
  return t;
}

bool is_seen_as(const GemmChoice& x, const GemmChoice& y) {
  return x.row == y.row && seen_of(x.tiling) == seen_of(y.tiling);
}

// What most of the time depends on. Where one kind is slow for a reason that no estimate sees, another one may not be.
bool is_same_kind(const GemmChoice& x, const GemmChoice& y) {
  const launch::Tiling &a = x.tiling, &b = y.tiling;
  return x.row == y.row && a.m == b.m && a.rows == b.rows && a.columns == b.columns && a.ctas == b.ctas &&
         a.pairs == b.pairs && a.splits == b.splits && a.stream_k == b.stream_k;
}

// The first of each kind in front of the second of each, and so on; otherwise their order stays.
std::vector<Tried> kinds_in_turn(std::vector<Tried> all) {
  std::vector<Tried> out;
  for (std::size_t taken = 1; !all.empty(); ++taken) {
    std::vector<Tried> rest;
    for (Tried& t : all) {
      const auto there =
          std::count_if(out.begin(), out.end(), [&](const Tried& o) { return is_same_kind(o.choice, t.choice); });
      (std::size_t(there) < taken ? out : rest).push_back(std::move(t));
    }
    all = std::move(rest);
  }
  return out;
}

class Tuning {
 public:
  Tuning(const TuneArguments& a, Progress& progress)
      : a_(a),
        progress_(progress),
        top_(std::size_t(number(a.top, "--top"))),
        predictions_(std::size_t(number(a.predictions, "--predictions"))),
        repetitions_(unsigned(number(a.repetitions, "--repetitions"))) {
    if (!a.budget.empty()) budget_ = positive_number(a.budget, "--budget");
  }

  // The best of them first; empty where none is right, which failures() says. Throws diag::Rejected where a strategy
  // breaks a rule that its plan does not see.
  std::vector<Tried> tune(const GemmQuestion&, const std::vector<GemmChoice>& all, double share_of_budget,
                          const std::string& place);
  // Of the last shape.
  std::size_t predictions() const { return predicted_; }
  const std::vector<Tried>& in_order() const { return in_order_; }
  double left() const { return budget_ - std::chrono::duration<double>(Clock::now() - begun_).count(); }
  bool has_budget() const { return left() > 0; }
  const std::vector<std::string>& failures() const { return failures_; }

 private:
  static std::uint64_t number(const std::string& text, const char* option) {
    const std::uint64_t n = whole_number(text, option);
    if (n < 1 || n > 100'000) diag::refuse("{}: must be in [1, 100000]; got {}", option, n);
    return n;
  }
  std::vector<Tried> predicted(const GemmQuestion&, const std::vector<GemmChoice>&, double seconds,
                               const std::string& place);
  timing::Prediction prediction(const GemmQuestion&, const std::vector<GemmChoice>&, const Tried&);
  bool computes_right(const GemmQuestion&, const Tried&);
  bool measure(Tried&, bool beside_cublas);
  bool measure_right(const GemmQuestion&, Tried&);
  std::vector<Tried> measured_beside(const GemmQuestion&, const std::vector<GemmChoice>& all, const Tried& fastest,
                                     const std::string& place);

  const TuneArguments& a_;
  Progress& progress_;
  std::size_t top_, predictions_;
  unsigned repetitions_;
  double budget_ = 1e9;
  Clock::time_point begun_ = Clock::now();
  bool has_gpu_ = true;
  std::size_t predicted_ = 0;
  std::vector<Tried> in_order_{};  // what was predicted, as it is measured
  std::vector<std::string> failures_{};
  double cublas_us_ = 0;  // of the shape, once it was measured
};

// What kiln time says. It runs one group of CTAs, so where CTAs wait for one another it is asked about the strategy in
// which they do not, and the estimates say what that changes.
timing::Prediction Tuning::prediction(const GemmQuestion& q, const std::vector<GemmChoice>& all, const Tried& t) {
  diag::Sink sink;
  launch::Tiling apart = t.choice.tiling;
  apart.all_add = false;
  const auto same = [&](const GemmChoice& c) { return c.row == t.choice.row && c.tiling == apart; };
  const auto other = std::find_if(all.begin(), all.end(), same);
  if (!t.choice.tiling.all_add || other == all.end()) return predict_kernel(t.kernel, q.chip, {}, sink);
  timing::Prediction p = predict_kernel(chosen(q, *other), q.chip, {}, sink);
  const double more = t.choice.estimate.seconds - other->estimate.seconds;
  for (double* seconds : {&p.seconds.value, &p.seconds.least, &p.seconds.most}) *seconds += more;
  return p;
}

// The best by the estimate, a few of each kind, as many as there is time for; one at least. With wgmma they stay in the
// estimate's order, which chose better than a prediction on an H200 (docs/tune.md). Else the fastest by both are first.
std::vector<Tried> Tuning::predicted(const GemmQuestion& q, const std::vector<GemmChoice>& all, double seconds,
                                     const std::string& place) {
  const Clock::time_point begun = Clock::now();
  constexpr std::ptrdiff_t most_of_a_kind = 3;
  std::vector<Tried> out;
  for (const GemmChoice& c : all) {
    if (out.size() == predictions_) break;
    if (!out.empty() && std::chrono::duration<double>(Clock::now() - begun).count() > seconds) break;
    const auto same = std::count_if(out.begin(), out.end(), [&](const Tried& t) { return is_same_kind(t.choice, c); });
    const bool is_seen = std::any_of(out.begin(), out.end(), [&](const Tried& t) { return is_seen_as(t.choice, c); });
    if (is_seen || same == most_of_a_kind) continue;
    progress_.stage(fmt::format("{}: predicting {} of {}", place, out.size() + 1, predictions_));
    Tried t{c, chosen(q, c), {}, {}};
    t.prediction = prediction(q, all, t);
    if (t.prediction.outcome == sim::Outcome::finished)
      out.push_back(std::move(t));
    else
      failures_.push_back(
          fmt::format("{}: no prediction: the run ended with {}", words(c), spelling(t.prediction.outcome)));
  }
  predicted_ = out.size();
  if (q.chip.core != timing::TensorCore::wgmma)
    std::stable_sort(out.begin(), out.end(), [](const Tried& x, const Tried& y) { return x.us() < y.us(); });
  return out;
}

// A problem that is small, and ragged along every extent: a few tiles, which one group of CTAs does where it is
// persistent. `rest`: of the last slot's K.
KernelChoice small_problem(const Tried& t, int rest) {
  const launch::Tiling& tiling = t.choice.tiling;
  KernelChoice c = t.kernel;
  const auto set = [&](const char* option, std::uint64_t value) { c.sizes[option] = std::to_string(value); };
  set("m", std::uint64_t(tiling.rows) + 40);
  set("n", std::uint64_t(tiling.columns) * std::uint64_t(tiling.pairs) + 24);
  set("k", std::uint64_t(tiling.slot_k) * std::max<std::uint64_t>(2, tiling.splits) + std::uint64_t(rest));
  // Those that wait for one another are all there, and of four tiles three share the K.
  const std::uint64_t groups = tiling.all_add ? tiling.splits : tiling.stream_k ? 3 : 1;
  if (c.sizes.contains("ctas")) set("ctas", std::uint64_t(tiling.cluster()) * groups);
  return c;
}

// A kernel with its launch.
class Runnable {
 public:
  explicit Runnable(const KernelChoice& c) : name_(c.name) {
    const dsl::Sizes sizes = c.chosen_sizes();
    dsl::Kernel kernel = c.entry().build(c.chosen_target(), sizes);
    contract_ = c.entry().problem(kernel, sizes);
    module_ = std::move(kernel.module);
  }
  harness::RunReport run(const harness::RunOptions& options) && {
    return harness::run_module(std::move(module_), name_, contract_, options);
  }

 private:
  std::string name_;
  ir::Module module_{};
  launch::Contract contract_{};
};

// Verified, and simulated with every access judged.
bool Tuning::computes_right(const GemmQuestion& q, const Tried& t) {
  harness::RunReport report;
  try {
    report = Runnable(small_problem(t, t.choice.tiling.slot_k / 2)).run({});
  } catch (const diag::InputError&) {  // rows of whole slots, where half of one is no whole row for TMA
    report = Runnable(small_problem(t, 0)).run({});
  }
  if (report.exit_code() != Exit::errors) return true;
  print_findings(report.findings);
  failures_.push_back(
      fmt::format("{}: {}: not right at a small size; `kiln run` shows it", text(tune_key(q)), words(t.choice)));
  return false;
}

// False where the GPU computes something else. Without a GPU nothing is measured.
bool Tuning::measure(Tried& t, bool beside_cublas) {
  harness::RunOptions options;
  options.backend = harness::Backend::cuda;
  options.timing.emplace();
  options.timing->repetitions = repetitions_;
  options.sample = sampled_elements;  // all are compared at the small size
  options.timing->beside = beside_cublas ? harness::Beside::cublas : harness::Beside::nothing;
  Runnable kernel(t.kernel);
  harness::RunReport report;
  try {
    report = std::move(kernel).run(options);
  } catch (const diag::InputError& error) {
    has_gpu_ = false;
    complain(fmt::format("not measured: {}\n", error.what()));
    return true;
  }
  print_findings(report.findings);
  if (!report.cuda || !report.cuda->timing || report.exit_code() == Exit::errors) {
    failures_.push_back(fmt::format("{}: not right on the GPU", words(t.choice)));
    return false;
  }
  const harness::Timing& timing = *report.cuda->timing;
  const auto chip = harness::chip_of_device(report.cuda->device);
  if (chip && !t.kernel.chip.ends_with(".json") && *chip != t.kernel.chip)
    diag::refuse("--measure: the GPU is a {}, whose chip is {}; got --chip {}", report.cuda->device, *chip,
                 t.kernel.chip);
  t.measured = harness::TuneMeasurement{report.cuda->device, rounded(timing.times.median() * 1e3),
                                        timing.cublas ? rounded(timing.cublas->times.median() * 1e3) : 0, repetitions_};
  return true;
}

// Right at a small size and on the GPU, beside cuBLAS where the shape has not been.
bool Tuning::measure_right(const GemmQuestion& q, Tried& t) {
  if (!computes_right(q, t) || !measure(t, cublas_us_ == 0)) return false;
  if (t.measured && t.measured->cublas_us > 0) cublas_us_ = t.measured->cublas_us;
  if (t.measured) t.measured->cublas_us = cublas_us_;
  return true;
}

// Those that differ from the fastest in what no prediction sees.
std::vector<Tried> Tuning::measured_beside(const GemmQuestion& q, const std::vector<GemmChoice>& all,
                                           const Tried& fastest, const std::string& place) {
  std::vector<Tried> out;
  for (const GemmChoice& c : all) {
    if (!is_seen_as(c, fastest.choice) || c.strategy == fastest.choice.strategy) continue;
    progress_.stage(fmt::format("{}: measuring {} beside the fastest", place, out.size() + 1));
    Tried t{c, chosen(q, c), fastest.prediction, {}};
    if (measure_right(q, t)) out.push_back(std::move(t));
  }
  return out;
}

std::vector<Tried> Tuning::tune(const GemmQuestion& q, const std::vector<GemmChoice>& all, double share_of_budget,
                                const std::string& place) {
  std::vector<Tried> right;
  cublas_us_ = 0;
  std::vector<Tried> candidates = predicted(q, all, share_of_budget, place);
  in_order_ = kinds_in_turn(candidates);
  if (a_.measure && has_gpu_) candidates = in_order_;
  for (Tried& t : candidates) {
    // Those that are measured, or the one that is taken, must be right.
    if (right.size() == (a_.measure && has_gpu_ ? top_ : 1)) break;
    const bool measured = a_.measure && has_gpu_;
    progress_.stage(measured ? fmt::format("{}: measuring {} of {}", place, right.size() + 1, top_)
                             : place + ": simulating");
    if (measured ? measure_right(q, t) : computes_right(q, t)) right.push_back(std::move(t));
  }
  const auto sort = [&] {
    std::stable_sort(right.begin(), right.end(), [](const Tried& x, const Tried& y) {
      if (x.measured.has_value() != y.measured.has_value()) return x.measured.has_value();
      return x.measured && x.measured->us < y.measured->us;
    });
  };
  sort();
  if (right.empty() || !right.front().measured) return right;
  for (Tried& t : measured_beside(q, all, right.front(), place)) right.push_back(std::move(t));
  sort();
  return right;
}

TunedStrategy found_of(const Tried& best, std::size_t legal, std::size_t predicted) {
  TunedStrategy s;
  s.kernel = best.kernel.name;
  s.options = kept_options(best.kernel);
  s.kiln = version(), s.date = today();
  const timing::Prediction& p = best.prediction;
  s.clock_ghz = rounded(p.clock);
  s.estimated_us = rounded(best.choice.estimate.seconds * 1e6);
  s.predicted_us = rounded(p.seconds.value * 1e6);
  s.least_us = rounded(p.seconds.least * 1e6), s.most_us = rounded(p.seconds.most * 1e6);
  const auto longest = std::max_element(p.launches.begin(), p.launches.end(),
                                        [](const auto& x, const auto& y) { return x.seconds.value < y.seconds.value; });
  s.binds = longest->binds.empty() ? "latency" : longest->binds;
  s.legal = legal, s.predicted = predicted;
  s.measured = best.measured;
  return s;
}

// A row of the report: what was found for a shape, now or before.
struct Row {
  TuneKey key{};
  TunedStrategy found{};
  bool kept = false;
  std::vector<TunedStrategy> tried{};   // that were right, the best first
  std::vector<TunedStrategy> ranked{};  // all that were predicted, as they would be measured
};

std::string row_text(const Row& r) {
  const TunedStrategy& t = r.found;
  std::string out = fmt::format("{} {}x{}x{}: {:.4g} us ({:.4g} to {:.4g}), {}", r.key.type, r.key.m, r.key.n, r.key.k,
                                t.predicted_us, t.least_us, t.most_us, t.binds);
  if (t.measured) {
    out += fmt::format("; {:.4g} us measured", t.measured->us);
    if (t.measured->cublas_us > 0) out += fmt::format(", {:.2f} of cuBLAS", t.measured->cublas_us / t.measured->us);
  }
  out += r.kept ? "; was there\n    " : fmt::format("; {} legal, {} predicted\n    ", grouped(t.legal), t.predicted);
  return out + words(t) + "\n";
}

std::vector<GemmShape> shapes_of(const TuneArguments& a) {
  std::vector<GemmShape> all;
  if (a.shapes.empty()) {
    all.push_back({a.asked.type, {}, {}, {}});
  } else {
    for (const char* extent : {"m", "n", "k"})
      if (a.asked.sizes.contains(extent))
        diag::refuse("--{} is one shape's, and --shapes has a file of them: leave one out", extent);
    all = read_shapes(a.shapes, a.asked.type);
    if (!a.any_type) std::erase_if(all, [&](const GemmShape& s) { return s.type != a.asked.type; });
    if (all.empty()) diag::refuse("{}: no shape of type {}", a.shapes, a.asked.type);
  }
  if (a.share.empty()) return all;
  const std::size_t slash = a.share.find('/');
  if (slash == std::string::npos) diag::refuse("--share: must be I/N, as in 3/16; got '{}'", a.share);
  const std::uint64_t i = whole_number(a.share.substr(0, slash), "--share"),
                      n = whole_number(a.share.substr(slash + 1), "--share");
  if (i < 1 || i > n) diag::refuse("--share: must be I/N with I in [1, N]; got '{}'", a.share);
  std::vector<GemmShape> mine;
  for (std::size_t s = std::size_t(i) - 1; s < all.size(); s += std::size_t(n)) mine.push_back(all[s]);
  return mine;
}

KernelChoice asked_for(const TuneArguments& a, const GemmShape& shape) {
  KernelChoice c = a.asked;
  c.type = shape.type;
  for (const auto& [option, value] : {std::pair("m", shape.m), std::pair("n", shape.n), std::pair("k", shape.k)})
    if (value) c.sizes[option] = std::to_string(*value);
  return c;
}

std::string rows_json(const std::vector<Row>& rows, const std::vector<std::string>& failures, std::size_t left) {
  nlohmann::ordered_json entries = nlohmann::ordered_json::array();
  for (const Row& r : rows) {
    nlohmann::ordered_json& j = entries.emplace_back(harness::entry_json(r.key, r.found));
    j["kept"] = r.kept;
    const auto add = [&](const char* list, const std::vector<TunedStrategy>& strategies) {
      j[list] = nlohmann::ordered_json::array();
      for (const TunedStrategy& t : strategies) {
        const auto all = harness::entry_json(r.key, t);
        nlohmann::ordered_json& one = j[list].emplace_back(nlohmann::ordered_json::object());
        for (const char* name : {"kernel", "options", "estimated_us", "predicted_us", "measured"})
          if (all.contains(name)) one[name] = all[name];
      }
    };
    add("tried", r.tried);
    add("ranked", r.ranked);
  }
  return versioned(nlohmann::ordered_json{{"entries", entries}, {"failures", failures}, {"left", left}});
}

// All strategies of a shape, the best by the estimate first; with traits, also what a correction is fitted to.
std::string list_json(const GemmQuestion& q, bool traits) {
  const TuneKey key = tune_key(q);
  nlohmann::ordered_json strategies = nlohmann::ordered_json::array();
  for (const GemmChoice& c : ranked(q)) {
    const KernelChoice kernel = chosen(q, c);
    nlohmann::ordered_json options;
    for (const auto& [option, value] : kept_options(kernel)) options[option] = value;
    nlohmann::ordered_json& strategy = strategies.emplace_back(nlohmann::ordered_json{
        {"kernel", kernel.name}, {"options", options}, {"estimated_us", rounded(c.estimate.seconds * 1e6)}});
    if (!traits) continue;
    strategy["form_us"] = c.estimate.form_seconds() * 1e6;
    for (std::size_t i = 0; i < timing::trait_count; ++i)
      strategy["traits"][std::string(timing::trait_names[i])] = c.estimate.traits.values[i];
  }
  return nlohmann::ordered_json{
      {"type", key.type},        {"m", key.m}, {"n", key.n}, {"k", key.k}, {"target", key.target}, {"chip", key.chip},
      {"strategies", strategies}}
      .dump();
}

// A shape, from all strategies to what was found; nothing where none is right.
std::optional<Row> tuned(Tuning& tuning, const GemmQuestion& q, double share_of_budget, const std::string& place) {
  const std::vector<GemmChoice> all = ranked(q);
  const std::vector<Tried> right = tuning.tune(q, all, share_of_budget, place);
  if (right.empty()) return std::nullopt;
  Row row{tune_key(q), {}, false, {}, {}};
  for (const Tried& t : right) row.tried.push_back(found_of(t, all.size(), tuning.predictions()));
  for (const Tried& t : tuning.in_order()) row.ranked.push_back(found_of(t, all.size(), tuning.predictions()));
  row.found = row.tried.front();
  return row;
}

int tune(const TuneArguments& a) {
  if (!is_gemm(a.asked.name)) diag::refuse("kiln tune: `gemm` is what can be tuned; got '{}'", a.asked.name);
  if (a.traits && !a.list) diag::refuse("--traits belongs to --list");
  if (a.list) {
    for (const GemmShape& s : shapes_of(a)) print(list_json(gemm_question(asked_for(a, s)), a.traits) + "\n");
    return Exit::clean;
  }
  const std::string path = tune_cache_path(a.asked.cache);
  if (path.empty()) diag::refuse("--cache: name a file: neither $KILN_CACHE nor $XDG_CACHE_HOME nor $HOME is set");
  const std::vector<GemmShape> shapes = shapes_of(a);
  std::vector<GemmQuestion> questions;  // what cannot be tuned is said before anything is
  for (const GemmShape& s : shapes) questions.push_back(gemm_question(asked_for(a, s)));
  const harness::TuneCache known =
      std::filesystem::exists(path) ? harness::TuneCache::load(path) : harness::TuneCache();
  std::vector<Row> rows;
  std::size_t left = 0;
  std::vector<std::string> failures;
  {
    Progress progress;
    Tuning tuning(a, progress);
    for (std::size_t i = 0; i < questions.size(); ++i) {
      const TuneKey key = tune_key(questions[i]);
      const std::string place = fmt::format("{} {}/{} {}x{}x{}", progress_bar(i, questions.size()), i + 1,
                                            questions.size(), key.m, key.n, key.k);
      if (const TunedStrategy* found = known.find(key); found && !a.again) {
        rows.push_back({key, *found, true, {}, {}});
        continue;
      }
      if (i > 0 && !tuning.has_budget()) {
        ++left;
        continue;
      }
      try {
        const double share = tuning.left() / double(questions.size() - i);
        if (auto row = tuned(tuning, questions[i], share, place)) {
          harness::add_to_cache(path, {{key, row->found}});
          rows.push_back(std::move(*row));
        }
      } catch (const diag::Rejected& rejected) {
        print_findings(rejected.findings());
        failures.push_back(text(key) + ": a strategy breaks a rule that its plan does not see");
      }
    }
    failures.insert(failures.end(), tuning.failures().begin(), tuning.failures().end());
  }
  if (a.json) {
    print(rows_json(rows, failures, left));
  } else {
    std::string out;
    for (const Row& r : rows) out += row_text(r);
    print(out + fmt::format("{}: {} of {} shape{}\n", path, rows.size(), shapes.size(), shapes.size() == 1 ? "" : "s"));
  }
  for (const std::string& f : failures) complain(fmt::format("error: {}\n", f));
  if (left > 0)
    complain(fmt::format("the budget is spent: {} shape{} left; the same command goes on\n", left,
                         left == 1 ? " is" : "s are"));
  return !failures.empty() ? Exit::errors : left > 0 ? Exit::incomplete : Exit::clean;
}

}  // namespace

void add_tune(const Builder& builder) {
  CLI::App* sub =
      builder.add("tune", "Find fast kernels and strategies of `gemm` for shapes, and keep them for it", tune_examples);
  auto a = std::make_shared<TuneArguments>();
  sub->add_option("KERNEL", a->asked.name, "gemm")->required();
  sub->add_option("--target", a->asked.target, "architecture to build for [the type's first, or by --chip]")
      ->type_name("sm_NNN");
  sub->add_option("--shapes", a->shapes, "many shapes: columns m, n, k and, where they differ, type")
      ->type_name("FILE.csv");
  sub->add_option("--share", a->share, "the I-th of N parts of the shapes")->type_name("I/N");
  sub->add_option("--budget", a->budget, "time for all shapes; each has its part of what is left [no limit]")
      ->type_name("SECONDS");
  sub->add_option("--predictions", a->predictions, "strategies that are predicted, the best by the estimate [12]")
      ->type_name("N");
  sub->add_flag("--measure", a->measure, "measure the best by prediction on the GPU at hand, beside cuBLAS");
  sub->add_option("--top", a->top, "how many of them are measured [12]")->type_name("N");
  sub->add_option("--repetitions", a->repetitions, "of each measurement [60]")->type_name("N");
  sub->add_flag("--again", a->again, "also shapes that the cache has");
  sub->add_flag("--json", a->json, "print what was found as JSON");
  sub->add_flag("--list", a->list, "print all legal strategies as JSON, a line for each shape, and find nothing");
  sub->add_flag("--traits", a->traits,
                "with --list, also the traits (timing/traits.def) that estimates are corrected by");
  const bool names = add_kernel_sizes(*sub, a->asked, {builder.app, builder.action, builder.words, {}});
  sub->callback([a, sub, names, &action = builder.action] {
    const CLI::Option* type = names ? sub->get_option_no_throw("--type") : nullptr;
    a->any_type = !type || type->count() == 0;
    action = [a] { return tune(*a); };
  });
}

}  // namespace kiln::command

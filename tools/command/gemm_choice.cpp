#include "tools/command/gemm_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "ptx/diag/refuse.hpp"
#include "tools/command/check_cache.hpp"
#include "tools/command/chip_choice.hpp"
#include "tools/command/report/console.hpp"
#include "tools/command/report/numbers.hpp"

namespace kiln::command {
namespace {

constexpr double nearly = 1.02;

bool has_target(const dsl::Entry& row, isa::Target target) {
  return std::find(row.targets.begin(), row.targets.end(), target) != row.targets.end();
}

bool has_option(const dsl::Entry& row, std::string_view option) {
  return std::any_of(row.sizes.begin(), row.sizes.end(), [&](const dsl::SizeOption& s) { return s.name == option; });
}

// The rows that have every option that is given.
std::vector<const dsl::Entry*> rows_of(const KernelChoice& asked) {
  std::vector<const dsl::Entry*> rows = rows_of_type(asked.type);
  if (rows.empty()) {
    const std::vector<std::string_view> types = gemm_types();
    const std::string_view near = nearest(asked.type, types);
    diag::refuse("--type: must be one of {}; got '{}'{}", fmt::join(types, ", "), asked.type,
                 near.empty() ? "" : fmt::format(" (did you mean {}?)", near));
  }
  std::erase_if(rows, [&](const dsl::Entry* row) {
    return std::any_of(asked.sizes.begin(), asked.sizes.end(),
                       [&](const auto& given) { return !has_option(*row, given.first); });
  });
  if (!rows.empty()) return rows;
  std::vector<std::string> options;
  for (const auto& [option, value] : asked.sizes) options.push_back("--" + option);
  diag::refuse("gemm: no kernel of type {} has all of {}", asked.type, fmt::join(options, ", "));
}

// `named`: the chip, if one is.
isa::Target target_of(const KernelChoice& asked, const std::optional<timing::Chip>& named,
                      const std::vector<const dsl::Entry*>& rows) {
  std::vector<isa::Target> targets;
  for (const dsl::Entry* row : rows)
    for (const isa::Target t : row->targets)
      if (std::find(targets.begin(), targets.end(), t) == targets.end()) targets.push_back(t);
  if (asked.target.empty()) {
    return named ? first_that_runs(*named, targets, fmt::format("gemm of type {}", asked.type)) : targets.front();
  }
  const auto wanted = isa::parse_target(asked.target);
  if (!wanted) diag::refuse("--target: must be a target such as sm_100a; got '{}'", asked.target);
  if (std::find(targets.begin(), targets.end(), *wanted) != targets.end()) return *wanted;
  std::vector<std::string> names;
  for (const isa::Target t : targets) names.push_back(isa::spelling(t));
  const auto why =
      std::find_if(rows.begin(), rows.end(), [](const dsl::Entry* r) { return !r->why_not_others.empty(); });
  diag::refuse("--target: gemm of type {} is written for {}{}{}; got {}", asked.type, fmt::join(names, ", "),
               why == rows.end() ? "" : "; ", why == rows.end() ? "" : (*why)->why_not_others, asked.target);
}

std::uint64_t resident_ctas(const GemmQuestion& q, const launch::Tiling& t) {
  return timing::resident_ctas(q.chip, t.cluster());
}

// Every size that is given, and the usual one of those that are not; CTAs to fill the chip.
dsl::Sizes sizes_of(const GemmQuestion& q, const dsl::Entry& row) {
  const dsl::Sizes sizes = q.asked.sizes_for(row);
  for (const char* extent : {"m", "n", "k"})
    if (std::uint64_t(sizes.at(extent)) == 0) diag::refuse("--{}: must be at least 1; got 0", extent);
  return sizes;
}

bool leaves_strategy_open(const KernelChoice& asked) {
  return std::all_of(asked.sizes.begin(), asked.sizes.end(), [](const auto& s) { return is_extent(s.first); });
}

std::string found_text(const harness::TunedStrategy& t) {
  std::string out = fmt::format("{}: {:.4g} us predicted", words(t), t.predicted_us);
  if (t.measured) out += fmt::format(", {:.4g} us measured on {}", t.measured->us, t.measured->device);
  return out + fmt::format(", {}", t.date);
}

KernelChoice with_row(const GemmQuestion& q, const std::string& kernel) {
  KernelChoice c = q.asked;
  c.name = kernel;
  c.target = isa::spelling(q.target);
  if (c.chip.empty()) c.chip = q.chip.name;
  return c;
}

// What the cache has for the question; nothing where there is no cache, or nothing in it.
std::optional<harness::TunedStrategy> known(const GemmQuestion& q, const std::string& path) {
  const bool is_said = !q.asked.cache.empty() || std::getenv("KILN_TUNE_CACHE");
  if (path.empty() || (!is_said && !std::filesystem::exists(path))) return std::nullopt;
  const harness::TuneCache cache = harness::TuneCache::load(path);
  const harness::TunedStrategy* found = cache.find(tune_key(q));
  if (!found) return std::nullopt;
  const dsl::Entry* row = find_entry(found->kernel);
  if (!row || !has_target(*row, q.target))
    diag::refuse("{}: {}: there is no kernel {} for {}", path, text(tune_key(q)), found->kernel,
                 isa::spelling(q.target));
  for (const auto& [option, value] : found->options)
    if (!has_option(*row, option))
      diag::refuse("{}: {}: {} has no option --{}", path, text(tune_key(q)), found->kernel, option);
  return *found;
}

}  // namespace

std::string words(const GemmChoice& c) {
  return std::string(c.row->name) + (c.strategy.empty() ? "" : " " + dsl::text(c.strategy));
}

std::string words(const harness::TunedStrategy& t) {
  std::string out = t.kernel;
  for (const auto& [option, value] : t.options) out += fmt::format(" --{} {}", option, value);
  return out;
}

bool is_extent(std::string_view option) { return option == "m" || option == "n" || option == "k"; }

GemmQuestion gemm_question(const KernelChoice& asked) {
  std::optional<timing::Chip> named;
  const std::vector<const dsl::Entry*> rows = rows_of(asked);
  if (!asked.chip.empty()) named = harness::chip_of(asked.chip);
  const isa::Target target = target_of(asked, named, rows);
  GemmQuestion q{asked, target, named ? std::move(*named) : harness::chip_of(usual_chip(target))};
  require_runs(q.chip, target);
  q.asked.multiprocessors = [sms = std::uint64_t(q.chip[timing::FactId::sms])](const KernelChoice&) { return sms; };
  return q;
}

std::vector<GemmChoice> ranked(const GemmQuestion& q) {
  std::vector<GemmChoice> all;
  for (const dsl::Entry* row : rows_of(q.asked)) {
    if (!has_target(*row, q.target)) continue;
    for (dsl::Candidate& c : row->candidates(q.target, sizes_of(q, *row))) {
      if (!q.asked.sizes.contains("ctas"))
        c.tiling.most_ctas = std::min(c.tiling.most_ctas, resident_ctas(q, c.tiling));
      all.push_back({row, std::move(c.strategy), c.tiling, timing::estimate(c.tiling, q.chip)});
    }
  }
  if (all.empty())
    diag::refuse("gemm: no legal strategy of type {} for {} has what is given", q.asked.type, isa::spelling(q.target));
  std::stable_sort(all.begin(), all.end(), [](const GemmChoice& x, const GemmChoice& y) {
    return std::pair(x.estimate.seconds, x.estimate.hbm_bytes) < std::pair(y.estimate.seconds, y.estimate.hbm_bytes);
  });
  if (q.chip.gemms) return all;
  // Without a correction, what is nearly as fast is as fast as an estimate can tell: the one that asks least of L2,
  // whose rate is least sure, is taken; where HBM decides, the one that would be fastest without it.
  const double near = all.front().estimate.seconds * nearly;
  const auto rest =
      std::find_if(all.begin(), all.end(), [&](const GemmChoice& c) { return c.estimate.seconds > near; });
  const bool hbm_decides = all.front().estimate.binds == "HBM";
  const auto rank = [&](const GemmChoice& c) {
    return std::pair(hbm_decides ? c.estimate.besides_hbm : c.estimate.l2_bytes, c.estimate.seconds);
  };
  std::stable_sort(all.begin(), rest, [&](const GemmChoice& x, const GemmChoice& y) { return rank(x) < rank(y); });
  return all;
}

KernelChoice chosen(const GemmQuestion& q, const GemmChoice& choice) {
  KernelChoice c = with_row(q, std::string(choice.row->name));
  for (const auto& [option, value] : choice.strategy) c.sizes[std::string(option)] = text(value);
  if (has_option(*choice.row, "ctas") && !q.asked.sizes.contains("ctas"))
    c.sizes["ctas"] = std::to_string(resident_ctas(q, choice.tiling));
  return c;
}

KernelChoice chosen(const GemmQuestion& q, const harness::TunedStrategy& found) {
  KernelChoice c = with_row(q, found.kernel);
  for (const auto& [option, value] : found.options) c.sizes[option] = value;
  return c;
}

harness::TuneKey tune_key(const GemmQuestion& q) {
  const dsl::Sizes sizes = sizes_of(q, *rows_of(q.asked).front());
  return {q.asked.type, sizes.at("m"), sizes.at("n"), sizes.at("k"), isa::spelling(q.target), q.chip.name};
}

std::string tune_cache_path(const std::string& said) {
  if (!said.empty()) return said;
  if (const char* path = std::getenv("KILN_TUNE_CACHE"); path && *path) return path;
  const std::string folder = cache_folder();
  return folder.empty() ? "" : folder + "/tune.json";
}

void choose_gemm(KernelChoice& asked) {
  const GemmQuestion q = gemm_question(asked);
  const std::string path = tune_cache_path(asked.cache);
  if (leaves_strategy_open(asked))
    if (const auto found = known(q, path)) {
      complain(fmt::format("gemm: {}; from {}\n", found_text(*found), path));
      asked = chosen(q, *found);
      return;
    }
  const std::vector<GemmChoice> all = ranked(q);
  const GemmChoice& best = all.front();
  complain(fmt::format("gemm: {}: {:.4g} us estimated on {}, {} decides; the best of {} legal strategies\n",
                       words(best), best.estimate.seconds * 1e6, q.chip.name, best.estimate.binds,
                       grouped(all.size())));
  asked = chosen(q, best);
}

}  // namespace kiln::command

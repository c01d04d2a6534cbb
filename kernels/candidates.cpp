#include "kernels/candidates.hpp"

#include <string_view>
#include <utility>

#include "dsl/target_rules.hpp"

namespace kiln::kernels {

using namespace kiln::dsl;

namespace {

constexpr int least_stages = 2, most_stages = 16;

// Strategies that differ in what was not given.
class Variations {
 public:
  Variations(const GemmStrategy& given, const Sizes& sizes) : sizes_(sizes), all_{given} {}

  // Tries a field, which an option says, with these values, in the strategies in which it matters.
  template <class T>
  void vary(
      std::string_view option, T GemmStrategy::*field, std::initializer_list<T> values,
      bool (*matters)(const GemmStrategy&) = [](const GemmStrategy&) { return true; }) {
    if (is_given(option)) return;
    std::vector<GemmStrategy> varied;
    varied.reserve(all_.size() * values.size());
    for (const GemmStrategy& s : all_) {
      if (!matters(s))
        varied.push_back(s);
      else
        for (const T& value : values) varied.push_back(s), varied.back().*field = value;
    }
    all_ = std::move(varied);
  }

  bool is_given(std::string_view option) const {
    const auto found = sizes_.find(option);
    return found != sizes_.end() && found->second.is_given();
  }
  const std::vector<GemmStrategy>& all() const { return all_; }

 private:
  const Sizes& sizes_;
  std::vector<GemmStrategy> all_;
};

// The fields and their values. Few tiles, which share their K or have few columns of D, are walked row by row or column
// by column, and their sums are not stored by rows of the epilogue's width. Row by row, CTAs that read the same rows of
// A start together: HBM gives rows once then. Where the estimate knows no difference the first order stands, which is
// the one that measurements on an H200 had as the fastest or close to it. Parts of K are tried where they are given,
// and with wgmma, for which measurements say what adding them costs; stream-K where it is given: measured, it gained
// 3 % at most. The swizzle stays: a shorter span only takes more boxes. Slots come last, as many as fit.
Variations variations(const GemmProblem& p, isa::Target target, const Sizes& sizes) {
  Variations v(given_plan(p, sizes).strategy, sizes);
  if (!v.is_given("tile")) {
    v.vary("cta-group", &GemmStrategy::group, {cta_group_1, cta_group_2});
    v.vary("tile", &GemmStrategy::columns, {32, 64, 96, 128, 160, 192, 224, 256});
    v.vary("tile", &GemmStrategy::slot_bytes, {128, 256});
  }
  const auto is_whole = [](const GemmStrategy& s) { return !s.swapped && s.splits == 1; };
  const auto stores_rows = [](const GemmStrategy& s) { return !s.swapped && s.splits == 1 && !s.tma_store; };
  v.vary("swap-operands", &GemmStrategy::swapped, {false, true});
  if (has_register_sums(target)) v.vary("splits", &GemmStrategy::splits, {1, 2, 3, 4, 6, 8, 12, 16, 24, 32});
  v.vary("all-add", &GemmStrategy::all_add, {false, true}, [](const GemmStrategy& s) { return s.splits > 1; });
  v.vary("tma-store", &GemmStrategy::tma_store, {false, true}, is_whole);
  if (has_register_sums(target))
    v.vary("storers", &GemmStrategy::storers, {Storers::others, Storers::together, Storers::by_turns},
           [](const GemmStrategy& s) { return s.tma_store; });
  v.vary("epilogue-width", &GemmStrategy::epilogue_width, {0, GemmPlan::copied_columns},
         [](const GemmStrategy& s) { return s.multipliers_store(); });
  v.vary("pairs", &GemmStrategy::pairs, {1, 2, 4},
         [](const GemmStrategy& s) { return s.multipliers_store() && s.ctas() == 2 && !s.stream_k; });
  // Sums in registers are one accumulator.
  if (!has_register_sums(target)) v.vary("accumulators", &GemmStrategy::accumulators, {1, 2, 4});
  v.vary("epilogue-width", &GemmStrategy::epilogue_width, {8, 16, 32, 64}, stores_rows);
  v.vary("rows-together", &GemmStrategy::rows_together, {8, 0, 4, 16, 1}, is_whole);
  v.vary("rows-together", &GemmStrategy::rows_together, {1, 0},
         [](const GemmStrategy& s) { return (s.swapped || s.splits > 1) && !s.stream_k; });
  v.vary("launch-control", &GemmStrategy::launch_control, {false, true});
  return v;
}

// The most slots that are legal; 0: no number of them is.
int stages_that_fit(const GemmProblem& p, GemmStrategy s, isa::Target target) {
  for (s.stages = most_stages; s.stages >= least_stages; --s.stages)
    if (is_legal({p, s}, target)) return s.stages;
  return 0;
}

// Whether all parts of all tiles find a CTA at once: else whole tiles keep the chip as busy.
bool is_one_wave(const launch::Tiling& t) {
  const std::uint64_t tiles = pieces(t.m, std::uint64_t(t.rows)) * pieces(t.n, std::uint64_t(t.columns)) * t.matrices;
  return tiles * t.splits * std::uint64_t(t.ctas) <= t.most_ctas;
}

// Whether bands of rows of tiles are another order than column by column.
bool has_bands(const launch::Tiling& t) {
  const std::uint64_t columns = std::uint64_t(t.columns) * std::uint64_t(t.pairs);
  return pieces(t.m, std::uint64_t(t.rows)) > std::uint64_t(t.rows_together) && pieces(t.n, columns) > 1;
}

std::uint64_t box_rows(const TileShape& tile) { return std::uint64_t(tile.blocks()) * std::uint64_t(tile.outer()); }

}  // namespace

bool is_legal(const GemmPlan& plan, isa::Target target) {
  if (!plan.check().ok() || !plan.limit().empty()) return false;
  if (plan.strategy.launch_control && !has_launch_control(target)) return false;
  if (plan.strategy.multipliers_store() && !has_register_sums(target)) return false;
  const bool in_registers = plan.strategy.multipliers_store();
  if (has_register_sums(target)) {  // it has operands alone in its slots
    std::vector<SlotPart> slot(std::size_t(plan.problem.products), plan.b_tile.part());
    slot.push_back(plan.a_part.part());
    const int most =
        slots_that_fit(target, plan.strategy.group, slot, int(plan.copied_bytes()), in_registers, plan.strategy.pairs);
    if (plan.strategy.stages > most) return false;
  }
  return check_on(target, plan.mma, plan.a_part, plan.b_tile, in_registers).ok();
}

launch::Tiling tiling(const GemmPlan& plan, const Sizes& sizes) {
  const GemmProblem& p = plan.problem;
  const GemmStrategy& s = plan.strategy;
  launch::Tiling t;
  t.kind = p.kind;
  t.m = sizes.at("m"), t.n = sizes.at("n"), t.k = sizes.at("k");
  if (s.swapped) std::swap(t.m, t.n);
  if (p.is_batched) t.matrices = sizes.at("batch");
  t.products = p.products;
  t.a_bits = isa::bits(plan.issued.a.scalar), t.b_bits = isa::bits(plan.issued.b.scalar),
  t.d_bits = isa::bits(p.d.scalar);
  t.rows = plan.mma.M(), t.columns = plan.mma.N();
  t.ctas = s.ctas(), t.pairs = s.pairs;
  t.slot_k = plan.k, t.mmas = plan.steps();
  t.stages = s.stages, t.accumulators = s.accumulators;
  t.slot_bytes = std::uint64_t(plan.slot_bytes());
  t.slot_rows = box_rows(plan.a_part) + std::uint64_t(p.products) * box_rows(plan.b_tile);
  if (p.is_sparse) t.copied_bytes += std::uint64_t(plan.metadata().bytes());
  if (p.is_scaled()) t.copied_bytes += std::uint64_t(plan.sfa_tile().bytes() + plan.sfb_tile().bytes());
  if (!s.launch_control) t.most_ctas = sizes.at("ctas");
  t.rows_together = s.rows_together;
  t.launch_control = s.launch_control;
  t.splits = std::uint64_t(s.splits), t.all_add = s.all_add, t.stream_k = s.stream_k;
  t.stores_by_copy = s.tma_store, t.stores_columns = s.swapped;
  t.multipliers_store = s.multipliers_store(), t.by_turns = s.storers == Storers::by_turns;
  t.store_columns = s.tma_store ? GemmPlan::copied_columns : plan.width();
  if (s.multipliers_store()) t.store_columns = plan.multiplier_columns();
  return t;
}

std::vector<Candidate> candidates(const GemmProblem& problem, isa::Target target, const Sizes& sizes) {
  const GemmProblem p = given_plan(problem, sizes).problem;
  const Variations tried = variations(p, target, sizes);
  std::vector<Candidate> legal;
  const auto add = [&](const GemmStrategy& s) {
    const GemmPlan plan(p, s);
    const bool has_parts = std::uint64_t(s.splits) <= pieces(sizes.at("k"), std::uint64_t(plan.k));
    if (!has_parts || !is_legal(plan, target)) return;
    const launch::Tiling t = tiling(plan, sizes);
    if (s.rows_together != 0 && !tried.is_given("rows-together") && !has_bands(t)) return;
    if (s.splits == 1 || tried.is_given("splits") || is_one_wave(t)) legal.push_back({described(p, plan), t});
  };
  // Narrower blocks of D are tried where they leave room for one more slot.
  const auto adds_no_slot = [&](GemmStrategy s) {
    const int stages = s.stages;
    s.epilogue_width = 0;
    return stages_that_fit(p, s, target) >= stages;
  };
  for (GemmStrategy s : tried.all()) {
    if (!tried.is_given("stages")) s.stages = stages_that_fit(p, s, target);
    const bool is_narrow = s.multipliers_store() && s.epilogue_width == GemmPlan::copied_columns;
    if (s.stages > 0 && (!is_narrow || tried.is_given("epilogue-width") || !adds_no_slot(s))) add(s);
  }
  return legal;
}

}  // namespace kiln::kernels

#include "kernels/strategy.hpp"

#include <array>
#include <string>

namespace kiln::kernels {

using namespace kiln::dsl;

namespace {

constexpr std::array all_options{
    SizeOption{"m", 512, "rows of A and D"},
    SizeOption{"n", 512, "rows of B, columns of D; a multiple of 8"},
    SizeOption{"k", 512, "columns of A and B; rows of whole 16 bytes"},
    SizeOption{"ctas", 148, "CTAs at most"},
    SizeOption{"tile", {}, "rows and columns of a tile of D, and the K of a slot", "MxNxK"},
    SizeOption{"stages", {}, "slots of the ring of operands"},
    SizeOption{"cta-group", {}, "CTAs that share a tile"},
    SizeOption{"accumulators", {}, "blocks of tensor memory for sums"},
    SizeOption{"swizzle", {}, "bytes of a row that the swizzle of operands spans"},
    SizeOption{"epilogue-width", {}, "columns that the epilogue stores at a time"},
    SizeOption{"rows-together", {}, "rows of tiles that are walked together, column by column; 0: all"},
    SizeOption{"launch-control", {}, "1: CTAs that run take over the tiles of those that have not started", "0|1"},
    SizeOption{
        "swap-operands", {}, "1: a tile's rows are rows of B and its columns rows of A, for few rows of A", "0|1"},
    SizeOption{"tma-store", {}, "1: D leaves through shared memory, by TMA", "0|1"},
    SizeOption{"storers",
               {},
               "who stores a tile: 0: warps that do nothing else; 1: the warpgroups that multiply, half of it each; 2: "
               "each whole tiles, by turns",
               "0|1|2"},
    SizeOption{"splits", {}, "CTAs or pairs that take a part of the K of a tile each"},
    SizeOption{"all-add",
               {},
               "who adds these parts: 0: the CTA that comes last; 1: all of them, a slice each; they run at once",
               "0|1"},
    SizeOption{"stream-k",
               {},
               "1: CTAs or pairs share the K of the tiles that fill no whole round evenly, and go on from tile to tile",
               "0|1"},
    SizeOption{"pairs",
               {},
               "pairs of CTAs in a cluster, 1, 2 or 4: their tiles stand side by side, and each row of A is loaded "
               "once for all (sm_90a)"},
    SizeOption{"transpose-a", {}, "1: A is stored as [K, M]; 0: as [M, K]", "0|1"},
    SizeOption{"transpose-b", {}, "1: B is stored as [K, N]; 0: as [N, K]", "0|1"},
    SizeOption{"batch", 4, "matrices of a batch"}};

// What the options of a strategy say, each where it is given.
struct Given {
  Size tile{};
  std::optional<int> stages{}, ctas{}, accumulators{}, swizzle_bytes{}, epilogue_width{}, rows_together{}, storers{},
      splits{}, pairs{};
  std::optional<bool> launch_control{}, swapped{}, tma_store{}, all_add{}, stream_k{}, transpose_a{}, transpose_b{};
};

[[noreturn]] void refuse(const std::string& option, const std::string& why) {
  throw diag::InputError("--" + option + ": " + why);
}

// No extent or count of a kernel is greater.
constexpr std::uint64_t most = 65536;

int number(std::string_view option, std::uint64_t value, std::uint64_t least = 1) {
  if (value < least || value > most)
    refuse(std::string(option),
           "must be in [" + std::to_string(least) + ", " + std::to_string(most) + "]; got " + std::to_string(value));
  return int(value);
}

bool flag(std::string_view option, std::uint64_t value) {
  if (value > 1) refuse(std::string(option), "must be 0 or 1; got " + std::to_string(value));
  return value == 1;
}

// The options that are a number, and those that are 0 or 1.
constexpr struct {
  std::string_view option;
  std::optional<int> Given::*value;
  std::uint64_t least = 1;
} numbers[] = {{"stages", &Given::stages},
               {"cta-group", &Given::ctas},
               {"accumulators", &Given::accumulators},
               {"swizzle", &Given::swizzle_bytes},
               {"epilogue-width", &Given::epilogue_width},
               {"rows-together", &Given::rows_together, 0},
               {"storers", &Given::storers, 0},
               {"splits", &Given::splits},
               {"pairs", &Given::pairs}};
constexpr struct {
  std::string_view option;
  std::optional<bool> Given::*value;
} flags[] = {{"launch-control", &Given::launch_control},
             {"swap-operands", &Given::swapped},
             {"tma-store", &Given::tma_store},
             {"all-add", &Given::all_add},
             {"stream-k", &Given::stream_k},
             {"transpose-a", &Given::transpose_a},
             {"transpose-b", &Given::transpose_b}};

Given given_by(const Strategy& options) {
  Given given;
  for (const auto& [option, value] : options) {
    if (option == "tile") {
      given.tile = value;
      for (const std::uint64_t extent : value.extents()) number(option, extent);
    }
    for (const auto& n : numbers)
      if (n.option == option) given.*n.value = number(option, value, n.least);
    for (const auto& f : flags)
      if (f.option == option) given.*f.value = flag(option, value);
  }
  return given;
}

// Rows of a tile say how many CTAs share it.
std::optional<int> ctas_of(const Given& given) {
  std::optional<int> ctas = given.ctas;
  if (ctas && *ctas != 1 && *ctas != 2) refuse("cta-group", "must be 1 or 2; got " + std::to_string(*ctas));
  if (!given.tile.is_given()) return ctas;
  const std::uint64_t rows = given.tile.extents()[0];
  if (!ctas) ctas = rows > isa::tmem_lanes ? 2 : 1;
  if (rows != std::uint64_t(*ctas * isa::tmem_lanes))
    refuse("tile", "must have 128 rows for each CTA that shares it, " + std::to_string(*ctas * isa::tmem_lanes) +
                       " for --cta-group " + std::to_string(*ctas) + "; got " + std::to_string(rows));
  return ctas;
}

Layout layout_of(int swizzle_bytes) {
  for (const Layout layout : {swizzle_none, swizzle_32B, swizzle_64B, swizzle_128B})
    if (isa::span_bytes(swizzle_of(layout)) == swizzle_bytes) return layout;
  refuse("swizzle", "must be 16 (none), 32, 64 or 128; got " + std::to_string(swizzle_bytes));
}

Storers storers_of(int number) {
  if (number > int(Storers::by_turns)) refuse("storers", "must be 0, 1 or 2; got " + std::to_string(number));
  return Storers(number);
}

// Bytes that a row of A has in a slot of so many elements along K.
int slot_bytes_of(const GemmProblem& p, int k) {
  const int bits = k * p.a.bits, stored = p.is_sparse ? bits / 2 : bits;
  if (stored % 8 != 0 || (p.is_sparse && bits % 2 != 0))
    refuse("tile", "must have a K of whole bytes; got " + std::to_string(k));
  return stored / 8;
}

GemmStrategy completed(const GemmProblem& p, const Given& given) {
  const std::optional<int> ctas = ctas_of(given);
  const auto like = std::find_if(p.strategies.begin(), p.strategies.end(),
                                 [&](const GemmStrategy& s) { return !ctas || s.ctas() == *ctas; });
  GemmStrategy s = like == p.strategies.end() ? p.strategies.front() : *like;
  if (ctas) s.group = *ctas == 2 ? cta_group_2 : cta_group_1;
  if (given.tile.is_given()) {
    const auto extents = given.tile.extents();
    s.columns = int(extents[1]), s.slot_bytes = slot_bytes_of(p, int(extents[2]));
  }
  if (given.stages) s.stages = *given.stages;
  if (given.accumulators) s.accumulators = *given.accumulators;
  if (given.swizzle_bytes) s.swizzle = layout_of(*given.swizzle_bytes);
  if (given.epilogue_width) s.epilogue_width = *given.epilogue_width;
  if (given.rows_together) s.rows_together = *given.rows_together;
  if (given.launch_control) s.launch_control = *given.launch_control;
  if (given.swapped) s.swapped = *given.swapped;
  if (given.tma_store) s.tma_store = *given.tma_store;
  if (given.storers) s.storers = storers_of(*given.storers);
  if (given.splits) s.splits = *given.splits;
  if (given.all_add) s.all_add = *given.all_add;
  if (given.stream_k) s.stream_k = *given.stream_k;
  if (given.pairs) s.pairs = *given.pairs;
  return s;
}

GemmProblem transposed(const GemmProblem& p, const Given& given) {
  const auto major = [](std::optional<bool> transposed, Major otherwise) {
    return !transposed ? otherwise : *transposed ? MN_major : K_major;
  };
  return p.with_majors(major(given.transpose_a, p.a_major), major(given.transpose_b, p.b_major));
}

// Every option of a plan. The first of them are always shown.
constexpr std::size_t always_shown = 5;
Strategy all_of(const GemmPlan& plan) {
  const GemmStrategy& s = plan.strategy;
  const auto size = [](int n) { return std::uint64_t(n); };
  return {{"tile", {size(s.rows()), size(s.columns), size(plan.k)}},
          {"stages", size(s.stages)},
          {"cta-group", size(s.ctas())},
          {"accumulators", size(s.accumulators)},
          {"swizzle", size(isa::span_bytes(swizzle_of(s.swizzle)))},
          {"epilogue-width", size(plan.width())},
          {"rows-together", size(s.rows_together)},
          {"launch-control", size(s.launch_control)},
          {"swap-operands", size(s.swapped)},
          {"tma-store", size(s.tma_store)},
          {"storers", std::uint64_t(s.storers)},
          {"splits", size(s.splits)},
          {"all-add", size(s.all_add)},
          {"stream-k", size(s.stream_k)},
          {"pairs", size(s.pairs)},
          {"transpose-a", size(plan.problem.a_major == MN_major)},
          {"transpose-b", size(plan.problem.b_major == MN_major)}};
}

// "--tile 256x252x64 (with --stages 7 ...)": what was given, and what completed it.
std::string named(const GemmProblem& p, const GemmPlan& plan, const Strategy& given) {
  Strategy rest;
  for (const auto& value : described(p, plan)) {
    const auto is_same = [&](const auto& g) { return g.first == value.first; };
    if (std::none_of(given.begin(), given.end(), is_same)) rest.push_back(value);
  }
  return text(given) + (rest.empty() ? "" : " (with " + text(rest) + ")");
}

}  // namespace

std::span<const SizeOption> options(const GemmProblem& p) {
  return std::span(all_options).first(all_options.size() - (p.is_batched ? 0 : 1));
}

Strategy described(const GemmProblem& p, const GemmPlan& plan) {
  Strategy shown = all_of(plan);
  const Strategy standard = all_of({p, {}});
  for (std::size_t i = shown.size(); i-- > always_shown;)
    if (shown[i].second == standard[i].second) shown.erase(shown.begin() + std::ptrdiff_t(i));
  return shown;
}

GemmPlan given_plan(const GemmProblem& p, const Sizes& sizes) {
  const Given given = given_by(given_of(all_of({p, p.strategies.front()}), sizes));
  return {transposed(p, given), completed(p, given)};
}

GemmPlan planned(const GemmProblem& p, const Sizes& sizes) {
  std::vector<Strategy> listed;
  for (const GemmStrategy& s : p.strategies) listed.push_back(all_of({p, s}));
  if (const auto i = listed_strategy(listed, sizes)) return {p, p.strategies[*i]};
  const Strategy options = given_of(listed.front(), sizes);
  const GemmPlan plan = given_plan(p, sizes);
  if (const rules::Verdict v = plan.check(); v.broken())
    throw diag::InputError(named(p, plan, options) + ": " + explained(v));
  if (const std::string_view why = plan.limit(); !why.empty())
    throw diag::InputError(named(p, plan, options) + ": " + std::string(why));
  return plan;
}

}  // namespace kiln::kernels

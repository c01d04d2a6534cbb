// Which strategies `gemm` and `kiln tune` choose among: all that are legal, and no others.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include "emit/emit.hpp"
#include "kernels/candidates.hpp"
#include "kernels/generator.hpp"
#include "kernels/kinds.hpp"

using namespace kiln;
using namespace kiln::kernels;
using dsl::Sizes;

namespace {

const Sizes some_sizes{{"m", 300}, {"n", 520}, {"k", 640}, {"ctas", 148}};

Sizes with(Sizes more) {
  more.insert(some_sizes.begin(), some_sizes.end());
  return more;
}

std::set<std::string> texts(const std::vector<dsl::Candidate>& all) {
  std::set<std::string> out;
  for (const dsl::Candidate& c : all) CHECK(out.insert(dsl::text(c.strategy)).second);
  return out;
}

std::uint64_t value_of(const dsl::Candidate& c, std::string_view option) {
  for (const auto& [name, value] : c.strategy)
    if (name == option) return value;
  return 0;
}

}  // namespace

TEST_CASE("candidates are all combinations that the rules allow, with as many slots as fit, and no others") {
  for (const GemmProblem* p : {&problems::gemm_f16, &problems::gemm_nvf4, &problems::gemm_sp_e4m3}) {
    CAPTURE(p->name);
    const std::set<std::string> found = texts(candidates(*p, dsl::sm_100a, some_sizes));
    std::set<std::string> legal;
    const auto is_legal_plan = [&](const GemmStrategy& s) {
      const GemmPlan plan(*p, s);
      return plan.check().ok() && plan.limit().empty();
    };
    struct Mode {
      bool swapped, tma_store;
    };
    GemmStrategy s = p->strategies.front();
    const std::vector<int> widths{8, 16, 32, 64}, orders{0, 1, 4, 8, 16}, by_columns_or_rows{0, 1}, any{0};
    for (const Mode& mode : {Mode{false, false}, Mode{false, true}, Mode{true, false}})
      for (const dsl::CtaGroup group : {dsl::cta_group_1, dsl::cta_group_2})
        for (int columns = 32; columns <= 256; columns += 32)
          for (const int bytes : {128, 256})
            for (const int accumulators : {1, 2, 4}) {
              for (const int width : !mode.swapped && !mode.tma_store ? widths : any) {
                s.swapped = mode.swapped, s.tma_store = mode.tma_store;
                s.group = group, s.columns = columns, s.slot_bytes = bytes, s.accumulators = accumulators;
                s.epilogue_width = width;
                int most = 0;
                for (int stages = 2; stages <= 16; ++stages) {
                  s.stages = stages;
                  if (is_legal_plan(s)) most = stages;
                }
                if (most == 0) continue;
                s.stages = most;
                const int rows = (mode.swapped ? 520 : 300) / (group == dsl::cta_group_2 ? 256 : 128) + 1;
                const bool has_columns = (mode.swapped ? 300 : 520) > columns;
                for (const int together : !mode.swapped ? orders : by_columns_or_rows)
                  for (const bool handed_out : {false, true}) {
                    if (together != 0 && (!has_columns || together >= rows)) continue;  // column by column
                    s.rows_together = together, s.launch_control = handed_out;
                    legal.insert(dsl::text(described(*p, {*p, s})));
                  }
              }
            }
    CHECK(legal.size() > 100);
    CHECK(found == legal);
  }
}

TEST_CASE("what is given of a strategy stands, also values that are not tried") {
  for (const dsl::Candidate& c :
       candidates(problems::gemm_f16, dsl::sm_100a, with({{"stages", 3}, {"cta-group", 1}}))) {
    CHECK(value_of(c, "stages") == 3);
    CHECK(value_of(c, "cta-group") == 1);
  }
  const auto odd = candidates(problems::gemm_f16, dsl::sm_100a, with({{"tile", {128, 176, 64}}}));
  CHECK_FALSE(odd.empty());
  for (const dsl::Candidate& c : odd) CHECK(c.tiling.columns == 176);
  CHECK(candidates(problems::gemm_f16, dsl::sm_100a, with({{"tile", {128, 256, 64}}, {"stages", 12}})).empty());
}

TEST_CASE("candidates of sm_90a are those that its tensor core has") {
  const auto all = candidates(problems::gemm_f16, dsl::sm_90a, some_sizes);
  CHECK_FALSE(all.empty());
  for (const dsl::Candidate& c : all) {
    CHECK(value_of(c, "launch-control") == 0);
    // Two instructions of 112 columns are no chunks of 32; the warps that store multiply by one.
    CHECK((c.tiling.columns != 224 || value_of(c, "storers") == 1));
  }
  const auto with_storers = [&](std::uint64_t storers) {
    return std::count_if(all.begin(), all.end(), [&](const dsl::Candidate& c) {
      return value_of(c, "storers") == storers && (storers == 0 || value_of(c, "tma-store") == 1) &&
             (storers != 2 || c.tiling.columns <= 128);
    });
  };
  CHECK(with_storers(1) > 0);
  CHECK(with_storers(2) > 0);
  CHECK(with_storers(0) + with_storers(1) + with_storers(2) == std::ptrdiff_t(all.size()));
  CHECK(candidates(problems::gemm_nvf4, dsl::sm_90a, some_sizes).empty());
}

TEST_CASE("what a candidate says is what is built: every thirteenth builds, and has its tile and its slots") {
  for (const isa::Target target : {dsl::sm_100a, dsl::sm_90a}) {
    const auto all = candidates(problems::gemm_f16, target, some_sizes);
    for (std::size_t i = 0; i < all.size(); i += 13) {
      CAPTURE(dsl::text(all[i].strategy));
      Sizes sizes = some_sizes;
      for (const auto& [option, value] : all[i].strategy) sizes[std::string(option)] = value;
      const GemmPlan plan = planned(problems::gemm_f16, sizes);
      CHECK(tiling(plan, sizes) == all[i].tiling);
      CHECK_NOTHROW((void)build(plan, target));
    }
  }
}

TEST_CASE("on sm_90a a candidate has as many slots as its ring gets there, of sums of 16 and of 32 bits") {
  for (const GemmProblem* p : {&problems::gemm_f16, &problems::gemm_s8}) {
    const auto all = candidates(*p, dsl::sm_90a, some_sizes);
    CHECK(all.size() > 100);
    for (std::size_t i = 0; i < all.size(); i += 17) {
      CAPTURE(dsl::text(all[i].strategy));
      Sizes sizes = some_sizes;
      for (const auto& [option, value] : all[i].strategy) sizes[std::string(option)] = value;
      const std::string text = emit::emit_unverified(build(planned(*p, sizes), dsl::sm_90a).module);
      CHECK(text.find("in_full[" + std::to_string(all[i].tiling.stages) + "]") != std::string::npos);
    }
  }
}

TEST_CASE("on sm_90a the warps that multiply store 16-bit floats, and sums of 32 bits as they are") {
  for (const GemmProblem* p : {&problems::gemm_s8, &problems::gemm_tf32, &problems::gemm_bf16_kept}) {
    const auto all = candidates(*p, dsl::sm_90a, with({{"storers", 1}, {"tma-store", 1}}));
    CHECK_FALSE(all.empty());
    for (const dsl::Candidate& c : all) {
      const bool is_narrow = p->d.bits == 32 || c.tiling.columns % 64 != 0 || value_of(c, "epilogue-width") == 32;
      CHECK(c.tiling.store_columns == (is_narrow ? 32 : 64));
    }
  }
}

TEST_CASE("parts of K are added by the CTA that comes last, or by all that have one, which run at once") {
  const auto all = candidates(problems::gemm_f16, dsl::sm_90a, with({{"splits", 5}}));
  CHECK(std::any_of(all.begin(), all.end(), [](const dsl::Candidate& c) { return c.tiling.all_add; }));
  CHECK(std::any_of(all.begin(), all.end(), [](const dsl::Candidate& c) { return !c.tiling.all_add; }));
  CHECK(candidates(problems::gemm_f16, dsl::sm_90a, with({{"splits", 1}, {"all-add", 1}})).empty());
  const Sizes in_bands = with({{"splits", 5}, {"all-add", 1}, {"rows-together", 8}});
  CHECK(candidates(problems::gemm_f16, dsl::sm_90a, in_bands).empty());
  Sizes sizes = with({{"splits", 5}, {"all-add", 1}, {"tile", {128, 64, 64}}, {"stages", 4}});
  const GemmPlan plan = planned(problems::gemm_f16, sizes);
  const dsl::Kernel kernel = build(plan, dsl::sm_90a);
  CHECK_NOTHROW((void)contract(plan, kernel, sizes));
  sizes["ctas"] = 4;
  CHECK_THROWS_WITH((void)contract(plan, kernel, sizes),
                    "--all-add 1: the 5 CTAs that have parts of a tile wait for one another, so all of them run at "
                    "once; got --ctas 4");
}

TEST_CASE("CTAs that share the K of the last tiles are tried where that is given") {
  const auto streamed = [](Sizes given) {
    given.insert({{"m", 2176}, {"n", 2176}, {"k", 8192}, {"ctas", 132}, {"tile", {128, 128, 64}}, {"cta-group", 1}});
    const auto all = candidates(problems::gemm_bf16_kept, dsl::sm_90a, given);
    return std::count_if(all.begin(), all.end(), [](const dsl::Candidate& c) { return c.tiling.stream_k; });
  };
  CHECK(streamed({}) == 0);
  CHECK(streamed({{"stream-k", 1}}) > 0);
}

TEST_CASE("CTAs that share the K of the last tiles are refused with other ways to share or to store") {
  const auto why = [](auto change) {
    GemmStrategy s{.group = dsl::cta_group_1, .columns = 128, .stages = 4, .stream_k = true};
    change(s);
    return !GemmPlan(problems::gemm_f16, s).limit().empty();
  };
  CHECK_FALSE(why([](GemmStrategy&) {}));
  CHECK_FALSE(why([](GemmStrategy& s) { s.tma_store = true, s.storers = Storers::together; }));
  CHECK(why([](GemmStrategy& s) { s.splits = 2; }));
  CHECK(why([](GemmStrategy& s) { s.launch_control = true; }));
  CHECK(why([](GemmStrategy& s) { s.tma_store = true; }));
  CHECK(why([](GemmStrategy& s) { s.tma_store = true, s.storers = Storers::by_turns; }));
  CHECK_FALSE(GemmPlan(problems::gemm_s8, {.stages = 4, .stream_k = true}).limit().empty());
}

TEST_CASE("pairs of CTAs share rows of A where the warps that multiply store, and where the target has wgmma") {
  const auto of_pairs = [](isa::Target target, int pairs) {
    const auto all = candidates(problems::gemm_bf16_kept, target, with({}));
    return std::count_if(all.begin(), all.end(), [=](const dsl::Candidate& c) {
      return c.tiling.pairs == pairs && c.tiling.multipliers_store && c.tiling.ctas == 2;
    });
  };
  CHECK(of_pairs(dsl::sm_90a, 1) > 0);
  CHECK(of_pairs(dsl::sm_90a, 2) > 0);
  CHECK(of_pairs(dsl::sm_90a, 4) > 0);
  CHECK(of_pairs(dsl::sm_100a, 2) == 0);
  const auto why = [](auto change) {
    GemmStrategy s{.columns = 192, .stages = 4, .tma_store = true, .storers = Storers::together, .pairs = 2};
    change(s);
    return std::string(GemmPlan(problems::gemm_bf16_kept, s).limit());
  };
  CHECK(why([](GemmStrategy&) {}).empty());
  CHECK(why([](GemmStrategy& s) { s.pairs = 3; }) == "a cluster has one pair of CTAs, two or four");
  CHECK_FALSE(why([](GemmStrategy& s) { s.group = dsl::cta_group_1; }).empty());
  CHECK_FALSE(why([](GemmStrategy& s) { s.stream_k = true; }).empty());
  CHECK_FALSE(why([](GemmStrategy& s) { s.storers = Storers::others; }).empty());
}

TEST_CASE("warps that multiply store narrower blocks where these leave room for one more slot") {
  const auto all = candidates(problems::gemm_bf16_kept, dsl::sm_90a, with({{"storers", 1}, {"tma-store", 1}}));
  bool found = false;
  for (const dsl::Candidate& narrow : all) {
    if (narrow.tiling.store_columns != 32 || narrow.tiling.columns % 64 != 0) continue;
    found = true;
    CHECK(std::any_of(all.begin(), all.end(), [&](const dsl::Candidate& c) {
      launch::Tiling wide = narrow.tiling;
      wide.store_columns = 64, wide.stages = c.tiling.stages;
      return c.tiling == wide && c.tiling.stages < narrow.tiling.stages;
    }));
  }
  CHECK(found);
}

TEST_CASE("parts of K that are given are tried where K has as many blocks") {
  const auto in_parts = [](std::uint64_t splits) {
    return candidates(problems::gemm_f16, dsl::sm_90a, with({{"splits", splits}, {"tile", {128, 64, 64}}}));
  };
  for (const dsl::Candidate& c : in_parts(10)) CHECK(c.tiling.splits == 10);
  CHECK_FALSE(in_parts(10).empty());
  CHECK(in_parts(11).empty());
}

TEST_CASE("on sm_90a parts of K are tried where all of them run at once, as many as K has blocks") {
  const auto parts_at = [](std::uint64_t m, std::uint64_t k, isa::Target target) {
    std::set<std::uint64_t> found;
    for (const dsl::Candidate& c : candidates(problems::gemm_f16, target,
                                              {{"m", m}, {"n", 512}, {"k", k}, {"ctas", 132}, {"tile", {128, 64, 64}}}))
      found.insert(c.tiling.splits);
    return found;
  };
  CHECK(parts_at(128, 4096, dsl::sm_90a) == std::set<std::uint64_t>{1, 2, 3, 4, 6, 8, 12, 16});  // of 8 tiles
  CHECK(parts_at(128, 256, dsl::sm_90a) == std::set<std::uint64_t>{1, 2, 3, 4});
  CHECK(parts_at(4096, 4096, dsl::sm_90a) == std::set<std::uint64_t>{1});
  CHECK(parts_at(128, 4096, dsl::sm_100a) == std::set<std::uint64_t>{1});
}

TEST_CASE("with operands swapped a tile's rows cover N, and its K may be in parts") {
  GemmStrategy strategy{dsl::cta_group_1, 32, 128, 8};
  strategy.swapped = true, strategy.splits = 3;
  const launch::Tiling t = tiling({problems::gemm_e5m2_e4m3, strategy}, some_sizes);
  CHECK(t.m == 520);
  CHECK(t.n == 300);
  CHECK(t.columns == 32);
  CHECK(t.splits == 3);
  strategy = {dsl::cta_group_1, 64, 128, 4};
  strategy.tma_store = true;
  CHECK(tiling({problems::gemm_f16, strategy}, some_sizes).stores_by_copy);
}

TEST_CASE("a tiling has the numbers of the plan") {
  const GemmPlan plan(problems::gemm_mxf8, {dsl::cta_group_2, 128, 128, 7});
  const launch::Tiling t = tiling(plan, some_sizes);
  CHECK(t.m == 300);
  CHECK(t.rows == 256);
  CHECK(t.columns == 128);
  CHECK(t.ctas == 2);
  CHECK(t.slot_k == 128);
  CHECK(t.mmas == 4);
  // 128 rows of A and 64 of B a CTA, and a chunk of scales for each.
  CHECK(t.slot_rows == 192);
  CHECK(t.copied_bytes == 2 * 512);
  CHECK(t.slot_bytes >= 192 * 128 + 2 * 512);
}

TEST_CASE("the warps that multiply store what they have registers and an instruction for") {
  const auto limit = [](const GemmProblem& p, GemmStrategy s, Storers storers) {
    s.tma_store = true, s.storers = storers;
    return std::string(GemmPlan(p, s).limit());
  };
  const GemmStrategy wide{dsl::cta_group_1, 256, 128, 4}, half{dsl::cta_group_1, 128, 128, 6};
  CHECK(limit(problems::gemm_f16, wide, Storers::together).empty());
  CHECK(limit(problems::gemm_f16, half, Storers::by_turns).empty());
  CHECK(limit(problems::gemm_f16, wide, Storers::by_turns).find("registers") != std::string::npos);
  CHECK(limit(problems::gemm_tf32, half, Storers::together).empty());
  CHECK(limit(problems::gemm_mxf8, half, Storers::together).find("16-bit") != std::string::npos);
  GemmStrategy no_copy = half;
  no_copy.storers = Storers::together;
  CHECK(std::string(GemmPlan(problems::gemm_f16, no_copy).limit()).find("by TMA") != std::string::npos);
  for (const dsl::Candidate& c : candidates(problems::gemm_f16, dsl::sm_100a, some_sizes))
    CHECK(value_of(c, "storers") == 0);
}

// Strategies of generated GEMMs as values: what completes them, and which are refused. The strategy-* twins of
// tests/compile_fail ask the same of strategies that a problem lists.
#include <doctest/doctest.h>

#include <string>

#include "emit/emit.hpp"
#include "kernels/generator.hpp"
#include "kernels/kinds.hpp"

using namespace kiln;
using namespace kiln::kernels;
using dsl::Sizes;

namespace {

std::string chosen(const GemmProblem& p, const Sizes& sizes) {
  return dsl::text(described(p, planned(p, sizes)));
}

std::string refusal(const GemmProblem& p, const Sizes& sizes) {
  try {
    (void)planned(p, sizes);
  } catch (const diag::InputError& error) {
    return error.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("options that a listed strategy has choose the first such one") {
  CHECK(chosen(problems::gemm_f16, {}) == "--tile 256x256x64 --stages 7 --cta-group 2 --accumulators 2 --swizzle 128");
  CHECK(chosen(problems::gemm_f16, {{"cta-group", 1}}) ==
        "--tile 128x256x64 --stages 4 --cta-group 1 --accumulators 2 --swizzle 128");
  CHECK(chosen(problems::gemm_f16, {{"swizzle", 64}}) ==
        "--tile 128x128x32 --stages 8 --cta-group 1 --accumulators 2 --swizzle 64");
}

TEST_CASE("options that no listed strategy has are completed by the first one with as many CTAs to a tile") {
  CHECK(chosen(problems::gemm_f16, {{"stages", 2}}) ==
        "--tile 256x256x64 --stages 2 --cta-group 2 --accumulators 2 --swizzle 128");
  CHECK(chosen(problems::gemm_f16, {{"tile", {128, 192, 64}}}) ==
        "--tile 128x192x64 --stages 4 --cta-group 1 --accumulators 2 --swizzle 128");
  CHECK(chosen(problems::gemm_sp_bf16, {{"tile", {256, 64, 128}}, {"stages", 3}}) ==
        "--tile 256x64x128 --stages 3 --cta-group 2 --accumulators 2 --swizzle 128");
  CHECK(chosen(problems::gemm_nvf4, {{"tile", {256, 192, 128}}, {"stages", 5}, {"accumulators", 1}, {"swizzle", 64}}) ==
        "--tile 256x192x128 --stages 5 --cta-group 2 --accumulators 1 --swizzle 64");
}

TEST_CASE("the epilogue's width, the order of tiles and the majors are shown where they are not the problem's") {
  const std::string single = "--tile 128x256x64 --stages 4 --cta-group 1 --accumulators 2 --swizzle 128";
  CHECK(chosen(problems::gemm_f16, {{"cta-group", 1}, {"epilogue-width", 8}, {"transpose-a", 0}}) == single);
  CHECK(chosen(problems::gemm_f16, {{"cta-group", 1}, {"epilogue-width", 32}, {"rows-together", 8}}) ==
        single + " --epilogue-width 32 --rows-together 8");
  CHECK(chosen(problems::gemm_f16, {{"cta-group", 1}, {"launch-control", 1}, {"transpose-b", 1}}) ==
        single + " --launch-control 1 --transpose-b 1");
  CHECK(chosen(problems::gemm_f16_at_bt, {{"cta-group", 1}, {"transpose-a", 1}, {"transpose-b", 0}}) ==
        single + " --transpose-b 0");
  CHECK(planned(problems::gemm_tf32, {{"transpose-a", 1}}).a_tile.swizzle() == isa::Swizzle::b128_atom32);
}

TEST_CASE("with operands swapped B has the rows of a tile, and A its columns") {
  const Sizes sizes{{"tile", {128, 32, 64}}, {"swap-operands", 1}, {"splits", 4}};
  CHECK(chosen(problems::gemm_f16, sizes) ==
        "--tile 128x32x64 --stages 4 --cta-group 1 --accumulators 2 --swizzle 128 --swap-operands 1 --splits 4");
  const GemmPlan plan = planned(problems::gemm_e5m2_e4m3, {{"tile", {256, 32, 128}}, {"swap-operands", 1}});
  CHECK(plan.mma.shape.a == isa::ScalarType::e4m3);
  CHECK(plan.a_tile.element.scalar == isa::ScalarType::e4m3);
  CHECK(plan.b_tile.element.scalar == isa::ScalarType::e5m2);
  CHECK(planned(problems::gemm_bf16_bt, {{"swap-operands", 1}}).mma.shape.a_major == dsl::MN_major);
  CHECK(planned(problems::gemm_bf16_kept, {{"swap-operands", 1}}).issued.a_eviction == dsl::evict_first);
}

TEST_CASE("on sm_90a up to 192 columns are one wgmma, which reads A once") {
  const auto text = [](std::uint64_t columns) {
    const dsl::Size tile{128, columns, 64};
    return emit::emit_unverified(build(planned(problems::gemm_f16, {{"tile", tile}}), isa::sm_90a).module);
  };
  CHECK(text(160).find(".m64n160k16.") != std::string::npos);
  CHECK(text(192).find(".m64n192k16.") != std::string::npos);
  CHECK(text(256).find(".m64n128k16.") != std::string::npos);
}

TEST_CASE("operands change places, and K is shared, where sums of 32 bits are stored as they are") {
  for (const char* option : {"swap-operands", "splits"}) {
    const std::uint64_t value = option == std::string("splits") ? 2 : 1;
    for (const GemmProblem* p : {&problems::gemm_bf16_bias_relu, &problems::gemm_swiglu, &problems::gemm_f16_f16}) {
      CHECK(refusal(*p, {{option, value}}).ends_with("where one product's sums of 32 bits are stored as they are"));
    }
    CHECK(refusal(problems::gemm_tf32, {{option, value}}) == "accepted");
    CHECK(refusal(problems::gemm_s8, {{option, value}}) == "accepted");
  }
  CHECK(refusal(problems::gemm_s8, {{"stream-k", 1}}).ends_with("add floats"));
  CHECK(refusal(problems::gemm_mxf8, {{"swap-operands", 1}}).ends_with("it does not change places with the other"));
  CHECK(refusal(problems::gemm_mxf8, {{"splits", 2}}) == "accepted");
  CHECK(refusal(problems::gemm_f16, {{"splits", 0}}) == "--splits: must be in [1, 65536]; got 0");
  CHECK(refusal(problems::gemm_f16, {{"swap-operands", 2}}) == "--swap-operands: must be 0 or 1; got 2");
}

TEST_CASE("TMA stores whole rows of one product, in blocks that take their room from the ring's slots") {
  CHECK(chosen(problems::gemm_s8, {{"stages", 5}, {"tma-store", 1}}) ==
        "--tile 256x256x128 --stages 5 --cta-group 2 --accumulators 2 --swizzle 128 --tma-store 1");
  CHECK(refusal(problems::gemm_f16, {{"stages", 7}}) == "accepted");
  CHECK(refusal(problems::gemm_f16, {{"stages", 7}, {"tma-store", 1}}).ends_with("[shared-budget]"));
  CHECK(refusal(problems::gemm_f16, {{"stages", 6}, {"tma-store", 1}}) == "accepted");
  const auto refused = [](const GemmProblem& p, const char* option, std::uint64_t value) {
    return refusal(p, {{"stages", 3}, {"tma-store", 1}, {option, value}});
  };
  for (const GemmProblem* p : {&problems::gemm_bf16_bias_relu, &problems::gemm_swiglu, &problems::gemm_bf16_batched})
    CHECK(refused(*p, "cta-group", 1).ends_with("TMA stores the sums of one product as they are"));
  for (const auto& [option, value] : {std::pair("splits", 2), std::pair("swap-operands", 1)})
    CHECK(refused(problems::gemm_f16, option, std::uint64_t(value)).ends_with("its K is not shared"));
  CHECK(refusal(problems::gemm_f16, {{"tile", {128, 72, 64}}, {"tma-store", 1}}).ends_with("that TMA stores"));
}

TEST_CASE("what an epilogue or a kind of operand cannot do is refused before anything is built") {
  CHECK(refusal(problems::gemm_f16, {{"epilogue-width", 24}}).ends_with(
      "an epilogue stores 8, 16, 32, 64 or 128 columns at a time"));
  CHECK(refusal(problems::gemm_bf16_maxima, {{"epilogue-width", 16}}).ends_with("have a width of their own"));
  CHECK(refusal(problems::gemm_mxf4, {{"transpose-a", 1}}).ends_with("[tcgen05-idesc-transpose]"));
  CHECK(refusal(problems::gemm_sp_bf16, {{"transpose-b", 1}}).ends_with("their operands are not transposed"));
  CHECK(refusal(problems::gemm_f16, {{"launch-control", 2}}) == "--launch-control: must be 0 or 1; got 2");
}

TEST_CASE("a strategy that breaks a rule is refused with the rule's words and slug") {
  // The twin of tests/compile_fail/strategy-n.cpp.
  CHECK(refusal(problems::gemm_f16, {{"tile", {128, 252, 64}}}) ==
        "--tile 128x252x64 (with --stages 4 --cta-group 1 --accumulators 2 --swizzle 128): N must be a multiple of the "
        "step for this kind and cta_group, and at most 256; got N = 252, the nearest legal value is 256 [tcgen05-mma-n]");
  CHECK(refusal(problems::gemm_f16, {{"tile", {128, 248, 64}}}) == "accepted");
  // Of strategy-shared-memory.cpp.
  CHECK(refusal(problems::gemm_f16, {{"cta-group", 1}, {"tile", {128, 256, 64}}, {"stages", 5}}) ==
        "--tile 128x256x64 --stages 5 --cta-group 1 (with --accumulators 2 --swizzle 128): the shared memory of a kernel "
        "must fit what the target has; got 245760 bytes of 232448 [shared-budget]");
  // Of strategy-tensor-memory.cpp.
  CHECK(
      refusal(problems::gemm_nvf4, {{"tile", {256, 256, 256}}, {"stages", 5}, {"accumulators", 2}}) ==
      "--tile 256x256x256 --stages 5 --accumulators 2 (with --cta-group 2 --swizzle 128): the tensor-memory handles of "
      "a kernel must fit 512 columns; got 752, the nearest legal value is 512 [tcgen05-tmem-budget]");
  CHECK(refusal(problems::gemm_nvf4, {{"tile", {256, 256, 256}}, {"stages", 5}, {"accumulators", 1}}) == "accepted");
}

TEST_CASE("a slot holds whole slices of K, in rows that the swizzle allows") {
  const auto slug = [](const std::string& text) { return text.substr(text.find_last_of('[')); };
  CHECK(slug(refusal(problems::gemm_f16, {{"tile", {256, 256, 40}}, {"swizzle", 128}})) == "[shared-tile-slice]");
  CHECK(slug(refusal(problems::gemm_f16, {{"tile", {256, 256, 96}}})) == "[shared-tile-span]");
  CHECK(slug(refusal(problems::gemm_f16, {{"tile", {256, 256, 24}}})) == "[shared-tile-slice]");
}

TEST_CASE("what the generator has no kernel for is refused in words") {
  CHECK(refusal(problems::gemm_f16, {{"cta-group", 3}}) == "--cta-group: must be 1 or 2; got 3");
  CHECK(refusal(problems::gemm_f16, {{"tile", {64, 128, 64}}}) ==
        "--tile: must have 128 rows for each CTA that shares it, 128 for --cta-group 1; got 64");
  CHECK(refusal(problems::gemm_f16, {{"tile", {128, 128, 64}}, {"cta-group", 2}}) ==
        "--tile: must have 128 rows for each CTA that shares it, 256 for --cta-group 2; got 128");
  CHECK(refusal(problems::gemm_f16, {{"swizzle", 48}}) == "--swizzle: must be 16 (none), 32, 64 or 128; got 48");
  CHECK(refusal(problems::gemm_f16, {{"stages", 0}}) == "--stages: must be in [1, 65536]; got 0");
  CHECK(refusal(problems::gemm_nvf4, {{"tile", {128, 80, 256}}}).ends_with("a multiple of 32"));
  CHECK(refusal(problems::gemm_swiglu, {{"tile", {128, 72, 64}}}).ends_with("stored at once"));
  CHECK(refusal(problems::gemm_bf16_batched, {{"tile", {128, 128, 128}}, {"stages", 2}})
            .ends_with("one span of the swizzle"));
}

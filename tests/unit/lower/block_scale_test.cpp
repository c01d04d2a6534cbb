// Block scaling where mma.sync does it: kernels of the library in tiles and stages that fit the 99 KiB of sm_120a.
#include "kernels/generator.hpp"
#include "kernels/kinds.hpp"
#include "tests/skip.hpp"
#include "tests/unit/lower/lowered.hpp"

namespace lower_block_scale {

using namespace kiln;
using namespace kiln::test;

namespace {

constexpr kernels::GemmStrategy small{dsl::cta_group_1, 64, 128, 2, 1};
const dsl::Sizes sizes{{"m", 256}, {"n", 128}, {"k", 1280}, {"ctas", 4}};

Kernel kernel(const kernels::GemmProblem& problem) {
  const kernels::GemmPlan plan(problem, small);
  const dsl::Kernel built = kernels::build(plan, dsl::sm_100a);
  diag::Sink sink;
  const auto verified = verifier::verify(built.module, sink);
  REQUIRE(verified);
  Kernel out = parsed(emit::emit(*verified), kernels::contract(plan, built, sizes));
  harness::fill(out.contract);
  return out;
}

Kernel checked(const Kernel& kernel, isa::Target target, const std::string& scaling) {
  diag::Sink sink;
  const auto low = lowered(kernel, target, sink);
  INFO(diag::render_text(sink));
  REQUIRE(low);
  CHECK((low->text->text().find(scaling) != std::string_view::npos) == (target == isa::sm_120a));
  check_right(simulated(*low));
  return *low;
}

void check(const Kernel& kernel, const std::string& scaling) {
  CAPTURE(scaling);
  const harness::Ptxas ptxas = harness::find_ptxas();
  for (const isa::Target target : {isa::sm_90a, isa::sm_120a}) {
    CAPTURE(isa::spelling(target));
    const Kernel low = checked(kernel, target, scaling);
    if (!ptxas.found()) continue;
    diag::Sink sink;
    const harness::Assembly a = harness::assemble(ptxas, low.text, target, sink);
    INFO(diag::render_text(sink));
    REQUIRE(a.status == harness::Assembly::Status::assembled);
    for (const harness::EntryResources& e : a.entries) CHECK(e.spill_store_bytes == 0);
  }
}

}  // namespace

TEST_CASE("on sm_120a mma.sync scales blocks of 32 bytes, and of packed e2m1 by 32 and by 16, without a spill") {
  check(kernel(kernels::problems::gemm_mxf8), "kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e4m3.e4m3.f32.ue8m0");
  check(kernel(kernels::problems::gemm_mxf6_mxf4), "kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e5m2.e4m3.f32.ue8m0");
  check(kernel(kernels::problems::gemm_mxf4), "kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0");
  check(kernel(kernels::problems::gemm_nvf4), "kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3");
  check(kernel(kernels::problems::gemm_mxf4nvf4), "kind::mxf4nvf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0");
  const harness::Ptxas ptxas = harness::find_ptxas();
  if (!ptxas.found()) skip(ptxas.missing);
}

}  // namespace lower_block_scale

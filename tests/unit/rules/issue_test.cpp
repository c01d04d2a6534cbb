// Rules about the threads that issue an operation, what must precede a wait, and what one compiler adds.
#include "ptx/rules/tcgen05_order.hpp"
#include "ptx/rules/tileiras.hpp"
#include "ptx/rules/wgmma.hpp"
#include "tests/unit/rules/switch.hpp"

using namespace kiln;
using namespace kiln::rules;
using kiln::test::is_broken;

TEST_CASE("tcgen05-mma-issuer: one lane of a warp") {
  CHECK(mma_issuer(1).ok());
  CHECK(is_broken(mma_issuer(32), Rule::mma_issuer, 1));
}

TEST_CASE("tcgen05-mma-wait: sums are read after a commit and a wait") {
  CHECK(step(MmaState::settled, MmaEvent::read).verdict.ok());
  CHECK(is_broken(step(MmaState::issued, MmaEvent::read).verdict, Rule::mma_wait));
  CHECK(is_broken(step(MmaState::committed, MmaEvent::read).verdict, Rule::mma_wait));
  CHECK(step(MmaState::issued, MmaEvent::wait).next == MmaState::issued);
  CHECK(step(MmaState::committed, MmaEvent::wait).next == MmaState::settled);
}

TEST_CASE("tcgen05-fence-after: after a wait, a fence before the read") {
  CHECK(is_broken(step(FenceState::waited, FenceEvent::read).verdict, Rule::fence_after));
  CHECK(step(step(FenceState::waited, FenceEvent::fence).next, FenceEvent::read).verdict.ok());
}

TEST_CASE("wgmma-form: 128 rows a CTA, columns in chunks, types and majors of wgmma") {
  using kiln::isa::Major;
  using kiln::isa::ScalarType;
  kiln::isa::MmaForm form;
  form.kind = kiln::isa::MmaKind::f16;
  const kiln::isa::MmaShape shape{ScalarType::bf16, ScalarType::bf16, ScalarType::f32, 128, 128};
  CHECK(wgmma_form(form, shape).ok());
  auto other = shape;
  other.m = 64;
  CHECK(is_broken(wgmma_form(form, other), Rule::wgmma_form, 128));
  other = shape, other.n = 40;
  CHECK(is_broken(wgmma_form(form, other), Rule::wgmma_form, 40));
  other = shape, other.a = ScalarType::e4m3;
  CHECK(is_broken(wgmma_form(form, other), Rule::wgmma_form, 128));
  form.kind = kiln::isa::MmaKind::f8f6f4;
  other.b = ScalarType::e5m2;
  CHECK(wgmma_form(form, other).ok());
  other.b_major = Major::MN;
  CHECK(is_broken(wgmma_form(form, other), Rule::wgmma_form, 128));
}

TEST_CASE("wgmma-warpgroup: four warps") {
  CHECK(wgmma_warpgroup(4).ok());
  CHECK(is_broken(wgmma_warpgroup(3), Rule::wgmma_warpgroup, 4));
}

TEST_CASE("tileiras-target: two architectures") {
  CHECK(tileiras_target(isa::sm_100a).ok());
  CHECK(tileiras_target(isa::sm_103a).ok());
  CHECK(is_broken(tileiras_target(isa::sm_110a), Rule::tileiras_target, 103));
}

TEST_CASE("tileiras-alloc-scope, tileiras-alloc-escape, tileiras-metadata: what must be so is, or not") {
  CHECK(tileiras_alloc_scope(true).ok());
  CHECK(is_broken(tileiras_alloc_scope(false), Rule::tileiras_alloc_scope));
  CHECK(tileiras_alloc_escape(false).ok());
  CHECK(is_broken(tileiras_alloc_escape(true), Rule::tileiras_alloc_escape));
  CHECK(tileiras_metadata(true).ok());
  CHECK(is_broken(tileiras_metadata(false), Rule::tileiras_metadata));
}

TEST_CASE("tileiras-scaled-collector: scaled MMAs keep nothing in the collector") {
  isa::MmaForm form;
  CHECK(tileiras_scaled_collector(form, false).ok());
  form.block_scale = true;
  CHECK(tileiras_scaled_collector(form, true).ok());
  CHECK(is_broken(tileiras_scaled_collector(form, false), Rule::tileiras_scaled_collector));
}

TEST_CASE("wgmma-sums: a kernel for sm_90a has one accumulator, that one role multiplies into") {
  CHECK(wgmma_sums(true).ok());
  CHECK(is_broken(wgmma_sums(false), Rule::wgmma_sums));
}

TEST_CASE("wgmma-sums-order: the accumulator is read from the first column to the last") {
  CHECK(wgmma_sums_order(true).ok());
  CHECK(is_broken(wgmma_sums_order(false), Rule::wgmma_sums_order));
}

TEST_CASE("wgmma-half: half of an operand is one swizzle span wide") {
  CHECK(wgmma_half(1).ok());
  CHECK(is_broken(wgmma_half(2), Rule::wgmma_half, 1));
}

// The vendor compiler's thirteen checks as a view over our rules, with the published test words.
#include "tests/unit/rules/switch.hpp"

#include "ptx/isa/kind_word.hpp"
#include "ptx/rules/mma_ladder.hpp"

using namespace kiln;
using namespace kiln::rules;

namespace {

// A word of flags, the collector word, whether the intrinsic is a block-scaled one; the step that refuses it (0: none).
struct Case {
  std::uint32_t flags, collector;
  bool block_scale;
  isa::Target target;
  int step;
};

constexpr isa::Target sm_110a = isa::sm_110a, sm_100a = isa::sm_100a, sm_100f = isa::sm_100f;

constexpr Case cases[] = {
    {0x0C0, 0, false, sm_100a, 0},  {0x0C2, 0, false, sm_100a, 0},      {0x0C1, 0, false, sm_100a, 0},
    {0x041, 0, false, sm_100a, 0},  {0x0E0, 0, false, sm_100a, 0},      {0x080, 0, true, sm_100f, 0},
    {0x00E, 0, true, sm_100a, 0},   {0x1C8, 0, true, sm_100a, 0},       {0x1C0, 2, true, sm_100a, 0},
    {0x100, 0, false, sm_100f, 1},  {0x1E0, 0, true, isa::sm_103f, 2},  {0x084, 0, true, sm_100f, 3},
    {0x0D0, 0, false, sm_110a, 4},  {0x050, 0, false, sm_100a, 5},      {0x0C0, 0, true, sm_100a, 6},
    {0x080, 4, true, sm_100a, 7},   {0x0C3, 0, false, sm_100a, 8},      {0x081, 0, false, sm_100a, 9},
    {0x0C0, 6, false, sm_100a, 10}, {0x0C0, 7, false, sm_100a, 10},     {0x088, 0, true, sm_100a, 11},
    {0x08C, 0, true, sm_100a, 11},  {0x004, 0, true, sm_100a, 12},      {0x1C4, 0, true, sm_100a, 13},
    {0x1CC, 0, true, sm_100a, 13},
};

LadderAnswer answer(const Case& c, Profile profile = Profile::isa) {
  auto form = isa::decode_kind_word(c.flags, c.block_scale);
  REQUIRE(form);
  form = isa::with_collector_word(*form, c.collector);
  REQUIRE(form);
  form->a_in_tmem = form->ashift;
  return climb({*form, c.target, isa::newest_version, profile});
}

}  // namespace

TEST_CASE("the ladder stops where the vendor compiler stops") {
  for (const Case& c : cases) {
    CAPTURE(c.flags);
    CAPTURE(c.collector);
    CHECK(answer(c).step == c.step);
  }
}

TEST_CASE("lastuse may meet ashift") {
  const Case c{0x0C0, 5, false, isa::sm_100a, 0};
  CHECK(answer(c).step == 0);
}

TEST_CASE("the step's rule is the verdict's, and every step has a sentence") {
  for (const Case& c : cases)
    if (const LadderAnswer a = answer(c); a.step)
      CHECK(a.verdict.rule == mma_ladder[std::size_t(a.step) - 1].rule);
  for (const LadderStep& s : mma_ladder) CHECK(s.vendor_text.size() > 30);
}

TEST_CASE("where ptxas differs from the vendor compiler, profile isa follows ptxas") {
  // kind::i8 on sm_103a: ptxas refuses it, though the target is no family variant.
  CHECK(answer({0x100, 0, false, isa::sm_103a, 1}).step == 1);
  // scale-input-d on kind::i8: ptxas takes it and drops it.
  const Case i8{0x110, 0, false, isa::sm_100a, 5};
  CHECK(answer(i8).step == 0);
  CHECK(answer(i8, Profile::tileiras).step == 5);
}

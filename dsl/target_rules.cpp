#include "dsl/target_rules.hpp"

#include "ptx/isa/features.hpp"
#include "ptx/rules/wgmma.hpp"

namespace kiln::dsl {

rules::Verdict check_on(isa::Target target, const MmaSpec& mma, const TileShape& a, const TileShape& b,
                        bool in_registers) {
  using namespace rules;
  if (!isa::has(isa::Feature::wgmma, target)) return legal;
  // Of an operand that both CTAs of a pair read, a slot has room for both halves, side by side.
  Verdict halves = legal;
  for (const TileShape& tile : {a, b})
    if (tile.readers == Readers::both_ctas) halves = first(halves, wgmma_half(tile.part().blocks_along_k));
  return first(in_registers ? wgmma_form(mma.form, mma.shape, 1) : wgmma_form(mma.form, mma.shape), halves);
}

bool has_launch_control(isa::Target target) { return isa::has(isa::Feature::launch_control, target); }
bool has_register_sums(isa::Target target) { return isa::has(isa::Feature::wgmma, target); }

}  // namespace kiln::dsl

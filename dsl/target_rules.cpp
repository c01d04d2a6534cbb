#include "dsl/target_rules.hpp"

#include "dsl/wgmma.hpp"
#include "ptx/isa/features.hpp"
#include "ptx/rules/wgmma.hpp"

namespace kiln::dsl {

rules::Verdict check_on(isa::Target target, const MmaSpec& mma, const TileShape& a, const TileShape& b,
                        bool in_registers) {
  using namespace rules;
  if (!isa::has(isa::Feature::wgmma, target)) return legal;
  // Of an operand that several CTAs read, a slot has room for the parts of all, side by side.
  Verdict halves = legal;
  for (const TileShape& tile : {a, b})
    if (tile.readers != Readers::own_cta) halves = first(halves, wgmma_half(tile.part().blocks_along_k));
  return first(in_registers ? wgmma_form(mma.form, mma.shape, 1) : wgmma_form(mma.form, mma.shape), halves);
}

int slots_that_fit(isa::Target target, isa::CtaGroup group, const std::vector<SlotPart>& parts, int others,
                   bool in_registers, int pairs) {
  const bool is_wgmma = has_register_sums(target);
  int slot = 0;
  for (const SlotPart& part : parts)
    slot += is_wgmma ? Wgmma::bytes_in_slot(part, group, pairs) : placed_bytes(part.bytes);
  const int room = !is_wgmma ? isa::max_shared_bytes(target) - others
                             : Wgmma::room_for_slots(target, others + (in_registers ? 0 : Wgmma::handed_bytes()));
  return room / slot;
}

bool has_launch_control(isa::Target target) { return isa::has(isa::Feature::launch_control, target); }
bool has_register_sums(isa::Target target) { return isa::has(isa::Feature::wgmma, target); }

}  // namespace kiln::dsl

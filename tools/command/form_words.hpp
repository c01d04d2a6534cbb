// A tcgen05.mma form in words: its variant, its operand contract, and what refuses it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "ptx/isa/variants.hpp"
#include "ptx/rules/mma_ladder.hpp"
#include "tools/command/decoded.hpp"

namespace kiln::command {

/// "A: SMEM descriptor or TMEM; B: SMEM descriptor; metadata: TMEM", without the operands that are none.
std::string operands_text(const isa::OperandContract&);

/// "weight-stationary dense: tcgen05.mma.ws"; for a row that no instruction encodes, that.
std::string variant_text(const isa::VariantInfo&);

/// "all 13 steps hold", or "step 8 of 13 refuses: <must> [slug]".
std::string ladder_text(const rules::LadderAnswer&);
/// The vendor compiler's sentence at the step that refuses; empty when all hold.
std::string_view vendor_text(const rules::LadderAnswer&);

/// What a form says, its variant, and the ladder's answer on a target.
Decoded decode_form(const isa::MmaForm&, isa::Target);

}  // namespace kiln::command

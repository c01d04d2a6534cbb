// Forms: whether an instruction carries the modifiers and operands of its form, and what a kernel's instructions must
// have in common. verifier/forms.def lists the forms.
#pragma once

#include "ptx/isa/modifiers.hpp"
#include "ptx/rules/verdict.hpp"

namespace kiln::rules {

/// `fits`: each modifier has a place in the form, and each required place is filled.
constexpr Verdict form_modifier(bool fits) { return fits ? legal : breaks(Rule::form_modifier); }

/// `fits`: operands in number and kind are those of the form.
constexpr Verdict form_operands(bool fits) { return fits ? legal : breaks(Rule::form_operands); }

/// `first` is the cta_group of the kernel's first tcgen05 instruction that has one.
constexpr Verdict cta_group_mixed(isa::CtaGroup first, isa::CtaGroup group) {
  return first == group ? legal : breaks(Rule::cta_group_mixed, int(group), int(first));
}

}  // namespace kiln::rules

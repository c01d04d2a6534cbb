// tcgen05.mma of any form, taken apart: its operands by role, and what its text says.
#pragma once

#include <optional>

#include "ptx/ir/code.hpp"
#include "ptx/isa/mma_form.hpp"

namespace kiln::ir {

/// The operands of one MMA. Those that its form does not have are null.
struct MmaOperands {
  const Argument& d;
  const Argument& a;
  const Argument& b;
  const Argument& idesc;
  isa::MmaForm form{};
  const Argument* metadata = nullptr;
  const Argument* sfa = nullptr;
  const Argument* sfb = nullptr;
  const Argument* lanes = nullptr;
  const Argument* enable_input_d = nullptr;
  const Argument* scale_input_d = nullptr;
  const Argument* zero_mask = nullptr;
};

/// The operands of a tcgen05.mma of any form; nothing for other instructions and for those with too few operands.
std::optional<MmaOperands> mma_operands(const Operation&);

}  // namespace kiln::ir

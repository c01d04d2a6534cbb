// tcgen05.mma of any form, taken apart: its operands by role, and what its text says.
#pragma once

#include <optional>

#include "ptx/ir/code.hpp"
#include "ptx/isa/mma_form.hpp"

namespace kiln::verifier {

/// The operands of one MMA. Those that its form does not have are null.
struct MmaOperands {
  const ir::Argument& d;
  const ir::Argument& a;
  const ir::Argument& b;
  const ir::Argument& idesc;
  isa::MmaForm form{};
  const ir::Argument* metadata = nullptr;
  const ir::Argument* sfa = nullptr;
  const ir::Argument* sfb = nullptr;
  const ir::Argument* lanes = nullptr;
  const ir::Argument* enable_input_d = nullptr;
  const ir::Argument* scale_input_d = nullptr;
  const ir::Argument* zero_mask = nullptr;
};

/// The operands of a tcgen05.mma of any form; nothing for other instructions and for those with too few operands.
std::optional<MmaOperands> mma_operands(const ir::Operation&);

}  // namespace kiln::verifier

// Matrix and instruction descriptors of tcgen05.mma and tcgen05.cp, as far as their bits are known.
#pragma once

#include <optional>

#include "ptx/isa/instruction_descriptor.hpp"
#include "verifier/facts.hpp"

namespace kiln::verifier {

/// The operands of one MMA by their role; one that the form does not have is null.
struct MmaOperands {
  const ir::Argument& d;
  const ir::Argument& a;
  const ir::Argument& b;
  const ir::Argument& idesc;
  const ir::Argument* metadata;  // of sparse forms
  const ir::Argument* sfa;       // of block-scaled kinds
  const ir::Argument* sfb;
  const ir::Argument& accumulate;  // whether D is read: a predicate or a number
  bool sparse = false;
  bool ws = false;
  bool a_in_tmem = false;
};

/// The operands of a tcgen05.mma of any form; nothing for other instructions and for malformed ones.
std::optional<MmaOperands> mma_operands(const ir::Operation&);

/// Checks instruction and matrix descriptors. A rule whose bits are not all known is not asked, and nothing is said.
void check_descriptors(const Facts&);

}  // namespace kiln::verifier

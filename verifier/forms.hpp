// Forms: what every instruction must look like on its own.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "ptx/diag/diagnostic.hpp"
#include "ptx/ir/code.hpp"

namespace kiln::verifier {

/// One row of forms.def, taken apart.
struct Form {
  struct Slot {
    std::vector<std::string_view> alternatives;
    bool optional = false;
  };
  std::vector<Slot> slots;
  std::vector<std::string_view> operands;
};

/// The form of an opcode; null when forms.def does not have it.
const Form* find_form(isa::Opcode);

/// What an operand letter of forms.def stands for, in words.
std::string_view describe(char letter);
/// Whether an operand may stand where the letter does. Operands that were never declared fit everywhere: they have been
/// reported.
bool fits(const ir::Code&, char letter, const ir::Argument&);

/// Checks modifiers and operands of every instruction that forms.def knows. Unknown opcodes, and modifiers that neither
/// forms.def nor the modifier tables know, become `incomplete` findings, one for each spelling. Returns which
/// operations are malformed: nothing else is to be asked of them.
std::vector<bool> check_forms(const ir::Code&, diag::Sink&);

}  // namespace kiln::verifier

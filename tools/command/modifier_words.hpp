// What modifiers say that ptx/isa takes as they are, in words: modifier_words.def as data.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ptx/isa/opcodes.hpp"

namespace kiln::command {

/// What a modifier of an instruction answers.
struct ModifierWords {
  std::string question{}, answer{};
};

/// The words for a modifier without its dot; nothing when neither the table has it nor it is a shape such as m64n8k16.
std::optional<ModifierWords> modifier_words(isa::Opcode, std::string_view modifier);

}  // namespace kiln::command

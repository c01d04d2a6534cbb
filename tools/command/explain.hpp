// What `kiln explain` explains, one function a kind of subject; each gives the whole text to print.
#pragma once

#include <optional>
#include <string>

#include "tools/command/lone_instruction.hpp"

namespace kiln::command {

/// An instruction in PTX: what it does, its operands, its variant, where it is legal. Throws InputError for other text.
std::string explain_instruction(const std::string& text, bool as_json, const RegisterTypes& declared = {});

/// The tables that have a name: "variants", "ladder", "kind-word"; nothing for other words.
std::optional<std::string> explain_table(const std::string& name, bool as_json);

/// Tiles and fragments in CuTe's notation, for `kiln layout` too. Throws InputError for a subject that is neither.
std::string layout_text(const std::string& subject, bool as_json);

}  // namespace kiln::command

// What `kiln explain` explains, one function a kind of subject; each gives the whole text to print.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "tools/command/lone_instruction.hpp"

namespace kiln::command {

/// An instruction in PTX: what it does, its operands, its variant, where it is legal. Throws InputError for other text.
std::string explain_instruction(const std::string& text, bool as_json, const RegisterTypes& declared = {});

/// What PTX has, as Kiln knows it, for a program: each instruction with its words and its forms, each question that
/// modifiers answer, each target from sm_80 on.
nlohmann::ordered_json instructions_json();
nlohmann::ordered_json modifiers_json();
nlohmann::ordered_json targets_json();

/// What a table holds: "variants", "ladder" or "kind-word".
nlohmann::ordered_json table_json(std::string_view name);
/// The tables that have a name: "variants", "ladder", "kind-word"; nothing for other words.
std::optional<std::string> explain_table(const std::string& name, bool as_json);

/// Tiles and fragments in CuTe's notation, for `kiln layout` too. Throws InputError for a subject that is neither.
std::string layout_text(const std::string& subject, bool as_json);

}  // namespace kiln::command

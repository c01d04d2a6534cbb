// What instructions do and what their operands are, in words: instruction_words.def as data.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/ir/module.hpp"

namespace kiln::command {

/// What stands in an operand's place.
enum class Shape : std::uint8_t {
  scalar,
  number,
  last_number,
  second_predicate,
  address,
  tensor_address,
  vector,
  pair
};

/// A word that an immediate operand may be taken apart as.
enum class Word : std::uint8_t { none, tensor_address, instruction_descriptor, shared_descriptor, zero_mask };

/// One alternative of an operand.
struct Slot {
  Shape shape = Shape::scalar;
  isa::ScalarType type = isa::ScalarType::b32;  // of a register in it
  Word word = Word::none;
  std::string_view words{};
};

/// One operand of a form.
struct Role {
  std::vector<Slot> slots{};
  bool optional = false;
  std::string_view modifier{};  // there exactly when this is written
};

/// One row of instruction_words.def.
struct InstructionWords {
  isa::Opcode opcode;
  std::string_view when;
  std::string_view does;
  std::vector<Role> roles;
};

/// Every row, in the order of the table.
std::span<const InstructionWords> all_words();

/// The words for an instruction with these modifiers; null when the table has none.
const InstructionWords* find_words(const ir::Instruction&);

/// The slot that each operand fills; null for operands that the form, as the PTX ISA has it, does not know.
std::vector<const Slot*> slots_of(const ir::Instruction&, const InstructionWords&);

/// Whether every operand that the form must have is there.
bool is_complete(const ir::Instruction&, const InstructionWords&);

}  // namespace kiln::command

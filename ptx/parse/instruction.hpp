// One instruction, from its guard to its semicolon.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ptx/ir/module.hpp"
#include "ptx/parse/tokens.hpp"

namespace kiln::parse {

/// Mnemonics already taken apart: a module uses few different ones, and each many times.
class Mnemonics {
 public:
  struct Parts {
    isa::Opcode opcode = isa::Opcode::unknown;
    std::string unknown_name{};
    std::vector<std::string> modifiers{};
  };

  const Parts& parts(const std::string& mnemonic);

 private:
  std::unordered_map<std::string, Parts> known_{};
};

/// The next token is the guard or the opcode. Operands of an opcode that isa/opcodes.def does not know are read like
/// any others; where they cannot be, they are kept as one raw operand.
std::optional<ir::Instruction> parse_instruction(Tokens&, Mnemonics&);

}  // namespace kiln::parse

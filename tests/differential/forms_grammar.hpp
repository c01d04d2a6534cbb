// Instructions by the thousand, legal and illegal, out of a few templates. The vocabulary is in
// tests/data/forms/grammar and owes nothing to the tables of the verifier, so that it can find what those forget.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kiln::test {

/// An instruction taken apart, so that it can be spoilt piece by piece.
struct Instruction {
  std::string opcode{};
  std::vector<std::string> modifiers{};  // with their dots
  std::vector<std::string> operands{};

  std::string text() const;
};

/// One line of a grammar file: opcodes, slots of modifiers, and operands, each a list of alternatives.
///
///   tcgen05.dealloc .cta_group::1|.cta_group::2 .sync .aligned .b32 ; r0 | u0 ; 32 | 33 | r1
///
/// A modifier '-' stands for none. "{r10*4}" is {r10,r11,r12,r13}.
struct Template {
  std::vector<std::string> opcodes{};
  std::vector<std::vector<std::string>> modifiers{}, operands{};
  std::size_t most = 0;  // combinations asked
};

/// Templates, and the words that mutations put where they do not belong.
struct Grammar {
  std::vector<Template> templates{};
  std::vector<std::string> modifiers{}, operands{};
};

/// Reads the grammar files of a folder of tests/data/forms/grammar. Throws std::runtime_error naming the line.
Grammar read_grammar(const std::string& folder);

/// The instructions of a grammar, each once, in an order that never changes: of every template the combinations of its
/// alternatives, the first of them changed in every single way, and others changed at random.
std::vector<std::string> instructions(const Grammar&);

}  // namespace kiln::test

// PTX in pieces: written as text, because that is how people read it, and kept as statements.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "ptx/ir/module.hpp"

namespace kiln::lower {

/// Lines of PTX in the making. Names that it declares begin with "lw_".
class Text {
 public:
  template <class... A>
  void line(fmt::format_string<A...> form, A&&... a) {
    fmt::format_to(std::back_inserter(text_), form, std::forward<A>(a)...);
    text_ += '\n';
  }
  void append(const Text& other) { text_ += other.text_; }
  const std::string& str() const { return text_; }

 private:
  std::string text_{};
};

/// What a function's body may hold, out of text. Throws InternalError for text that does not parse: it is all ours.
std::vector<ir::Statement> statements(const Text&);
/// The same at module scope.
std::vector<ir::Item> items(const Text&);
/// The statements between braces, so that the names they declare are their own.
ir::Statement block(const Text&);
/// The same in the place of an instruction, around which its guard leads; no statement for no text.
void replace(std::vector<ir::Statement>& to, const ir::Instruction&, const Text& piece);

/// A register, a variable or a number as it is written, without an added offset.
std::string text(const ir::Operand&);
/// Writes the 32-bit register `to`: an operand with its offset, or the base of an address operand with its.
void move_to(Text&, const std::string& to, const ir::Operand&);

}  // namespace kiln::lower

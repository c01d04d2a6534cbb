// PTX text as tokens. Two things are odd about PTX: a word after a dot may start with a digit and hold colons
// (.16x256b, .shared::cta), and a line that starts with '#' is a comment (cpp produces such lines).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/diag/source.hpp"

namespace kiln::parse {

/// A punctuation mark of one or two characters: '<' is its code, "<<" is the two codes side by side.
using Symbol = std::uint16_t;

constexpr Symbol symbol(char c) { return Symbol(static_cast<unsigned char>(c)); }
constexpr Symbol symbol(char first, char second) { return Symbol(symbol(first) << 8 | symbol(second)); }

struct Token {
  enum class Kind : std::uint8_t {
    end,         // after the last token
    identifier,  // add, %r1, $L__BB0_1
    number,      // 12, 0x1F, 0f3F800000, 1.5e3
    dot_word,    // .u32, .shared::cta, .5
    string,      // "a", quotes included
    mark,        // punctuation, see `mark`
    dwarf,       // a line of @@DWARF
    unknown      // a byte that PTX does not use
  };

  Kind kind = Kind::end;
  bool starts_line = false;
  Symbol mark = 0;
  std::uint32_t begin = 0;
  std::uint32_t end = 0;

  constexpr bool is(Kind k) const { return kind == k; }
  constexpr bool is(char c) const { return kind == Kind::mark && mark == symbol(c); }
  constexpr diag::Place place() const { return {begin, end}; }
};

/// What the lexer itself finds wrong: text that never ends.
struct LexicalError {
  diag::Place place;
  std::string message;
};

struct TokenList {
  std::vector<Token> tokens;  // ends with Kind::end
  std::vector<LexicalError> errors;
};

/// Splits a whole text. Never fails: bytes that cannot be used become tokens of Kind::unknown.
TokenList tokenize(std::string_view text);

}  // namespace kiln::parse

// The parser's place in a text, and its errors. Every parse function takes one of these.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ptx/diag/diagnostic.hpp"
#include "ptx/ir/module.hpp"
#include "ptx/parse/lexer.hpp"

namespace kiln::parse {

/// Nesting limit of blocks, braces and parentheses; generated code needs a few levels.
inline constexpr int nesting_limit = 256;
/// After this many errors the rest of the text is not read.
inline constexpr int error_limit = 100;

class Tokens {
 public:
  Tokens(diag::SourcePtr source, diag::Sink& sink);

  const Token& peek(std::size_t ahead = 0) const;
  const Token& take();
  bool done() const { return peek().is(Token::Kind::end); }

  bool at(char c) const { return peek().is(c); }
  bool at(Token::Kind kind) const { return peek().is(kind); }
  /// True when the next token is this word: an identifier, or a dot word without its dot.
  bool at_word(Token::Kind kind, std::string_view word) const;
  bool accept(char c);
  /// Takes `c`, or reports "expected 'c' after the <what>" and leaves the tokens alone.
  bool expect(char c, std::string_view after_what);

  std::string_view text(diag::Place p) const { return text_.substr(p.begin, p.size()); }
  std::string_view text(const Token& t) const { return text(t.place()); }
  /// A dot word's text after the dot.
  std::string_view word(const Token& t) const { return text(t).substr(1); }
  /// True where text that is kept as it is must end. It becomes one line, so nothing in it may depend on starting one.
  bool ends_text() const {
    return done() || at(';') || at(Token::Kind::dwarf) || (at(Token::Kind::dot_word) && peek().starts_line);
  }
  /// The end of the last token taken: where something that is missing should have been.
  std::uint32_t previous_end() const;
  /// From `begin` to the end of the last token taken.
  diag::Place since(std::uint32_t begin) const { return {begin, std::max(begin, previous_end())}; }
  /// The tokens from index `first` up to the next one, as text with comments dropped and blanks made one space.
  std::string collapsed(std::size_t first) const;

  std::size_t index() const { return next_; }
  void rewind(std::size_t index) { next_ = index; }

  /// Reports an error, unless one is being tried quietly, with a repair if there is one: `insert` goes before `place`.
  /// Always false, so that parse functions can return it.
  bool error(diag::Place place, std::string message, std::string insert = {});
  /// "expected <what>; got 'x'" at the next token.
  bool expected(std::string_view what);
  /// The same inside a statement: what is missing at the end of a line is missed there, not on the next line.
  bool missing(std::string_view what);
  bool has_failed() const { return errors_ != 0; }

  /// Whether the text is of a PTX version that Kiln does not know: its new instructions may have operands of new forms.
  bool is_newer() const { return newer_; }
  void set_newer(bool newer) { newer_ = newer; }
  /// In such a text: remembers a word that Kiln does not know, the next token or that at a place.
  void unknown(std::string_view what) { unknown(peek().place(), what); }
  void unknown(diag::Place, std::string_view what);
  const std::vector<ir::Unknown>& unknowns() const { return unknowns_; }

  /// After a broken statement: moves past the next ';', or to the '}' that closes the enclosing block, or to a line
  /// that starts like a statement. Moves at least one token if `from` is where the statement began.
  void skip_statement(std::size_t from);
  /// Whether a directive or a label stands between the tokens from index `from` and the next one.
  bool may_declare(std::size_t from) const;
  /// After a broken item of the module: to a line that starts with a directive of module scope.
  void skip_item(std::size_t from);
  /// In a newer text, after the word that Kiln does not know: takes what stands with a directive in the head of a
  /// function, up to the next directive, the function's name, its parameters or its body.
  void skip_arguments(bool after_name);
  /// Whether an identifier stands between the tokens from index `from` and the next one.
  bool may_name(std::size_t from) const;
  /// The next token is '{': takes everything to its '}'. False when there is none.
  bool skip_braces();

  /// While one lives, errors are not reported.
  class Quietly;
  /// One level of nesting; false when there are too many, which is reported.
  class Nested;

 private:
  bool starts_statement() const;

  diag::SourcePtr source_;
  diag::Sink& sink_;
  std::string_view text_;
  std::vector<Token> tokens_;
  std::size_t next_ = 0;
  int errors_ = 0;
  int quiet_ = 0;
  int nesting_ = 0;
  bool newer_ = false;
  std::vector<ir::Unknown> unknowns_{};
};

class Tokens::Quietly {
 public:
  explicit Quietly(Tokens& t) : tokens_(t) { ++tokens_.quiet_; }
  ~Quietly() { --tokens_.quiet_; }
  Quietly(const Quietly&) = delete;
  Quietly& operator=(const Quietly&) = delete;

 private:
  Tokens& tokens_;
};

class Tokens::Nested {
 public:
  explicit Nested(Tokens& t);
  ~Nested() { --tokens_.nesting_; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;
  explicit operator bool() const { return fits_; }

 private:
  Tokens& tokens_;
  bool fits_;
};

/// "';'", or what else a message should call a token.
std::string describe(const Tokens&, const Token&);

/// Directives that begin an item of a module, without their dot.
bool is_module_directive(std::string_view word);

}  // namespace kiln::parse

#include "ptx/parse/tokens.hpp"

#include <algorithm>

#include "ptx/isa/spaces.hpp"

namespace kiln::parse {
namespace {

constexpr std::size_t longest_quote = 40;

// A message is one line of printable text, whatever the file holds.
std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, longest_quote)) {
    const auto byte = static_cast<unsigned char>(c);
    constexpr char digits[] = "0123456789abcdef";
    if (byte >= 0x20 && byte < 0x7f) out += c;
    else (out += "\\x") += {digits[byte >> 4], digits[byte & 15]};
  }
  return text.size() > longest_quote ? out + "..." : out;
}

}  // namespace

Tokens::Tokens(diag::SourcePtr source, diag::Sink& sink)
    : source_(std::move(source)), sink_(sink), text_(source_->text()) {
  TokenList list = tokenize(text_);
  tokens_ = std::move(list.tokens);
  for (LexicalError& e : list.errors) error(e.place, std::move(e.message));
}

const Token& Tokens::peek(std::size_t ahead) const { return tokens_[std::min(next_ + ahead, tokens_.size() - 1)]; }

const Token& Tokens::take() {
  const Token& t = peek();
  if (!t.is(Token::Kind::end)) ++next_;
  return t;
}

bool Tokens::at_word(Token::Kind kind, std::string_view word) const {
  if (!at(kind)) return false;
  return (kind == Token::Kind::dot_word ? this->word(peek()) : text(peek())) == word;
}

bool Tokens::accept(char c) {
  if (!at(c)) return false;
  take();
  return true;
}

bool Tokens::expect(char c, std::string_view after_what) {
  if (accept(c)) return true;
  const bool at_end_of_line = peek().starts_line || done();
  const std::uint32_t here = previous_end();
  std::string message = "expected '";
  ((message += c) += "' after the ") += after_what;
  if (at_end_of_line) return error({here, here}, std::move(message), std::string(1, c));
  return error(peek().place(), message + "; got " + describe(*this, peek()));
}

std::uint32_t Tokens::previous_end() const { return next_ == 0 ? 0 : tokens_[next_ - 1].end; }

std::string Tokens::collapsed(std::size_t first) const {
  std::string out;
  for (std::size_t i = first; i < next_; ++i) {
    if (i != first && tokens_[i].begin != tokens_[i - 1].end) out += ' ';
    out += text(tokens_[i]);
  }
  return out;
}

bool Tokens::error(diag::Place place, std::string message, std::string insert) {
  if (quiet_ != 0 || errors_ > error_limit) return false;
  diag::Diagnostic& d = sink_.error(source_, place, std::move(message));
  if (!insert.empty()) d.fixits.push_back({{place.begin, place.begin}, std::move(insert)});
  if (++errors_ < error_limit) return false;
  ++errors_;
  next_ = tokens_.size() - 1;
  sink_.error(source_, place, "too many errors; the rest of the file is not read");
  return false;
}

bool Tokens::expected(std::string_view what) {
  std::string message = "expected ";
  message += what;
  const std::uint32_t here = previous_end();
  if (done()) return error({here, here}, message + " before the end of the file");
  return error(peek().place(), message + "; got " + describe(*this, peek()));
}

bool Tokens::missing(std::string_view what) {
  const std::uint32_t here = previous_end();
  if (done() || !peek().starts_line) return expected(what);
  return error({here, here}, "expected " + std::string(what) + " before the end of the line");
}

void Tokens::skip_statement(std::size_t from) {
  if (next_ == from && !at('}')) take();
  for (int depth = 0; !done(); take()) {
    if (accept(';') || starts_statement()) return;
    if (at('{')) ++depth;
    if (at('}') && depth-- == 0) return;
  }
}

// A guess, made only while recovering: the first word of a line with modifiers, a label, a guard or a directive.
bool Tokens::starts_statement() const {
  const Token& t = peek();
  if (!t.starts_line) return false;
  if (t.is('@')) return true;
  const Token& next = peek(1);
  if (t.is(Token::Kind::identifier)) return next.is(':') || (next.is(Token::Kind::dot_word) && next.begin == t.end);
  if (!t.is(Token::Kind::dot_word)) return false;
  return is_module_directive(word(t)) || isa::parse_space(word(t)) || word(t) == "loc";
}

bool Tokens::may_declare(std::size_t from) const {
  for (std::size_t i = from; i < next_; ++i) {
    const Token& t = tokens_[i];
    if (t.is(':') || (t.is(Token::Kind::dot_word) && (i == from || t.starts_line))) return true;
  }
  return false;
}

void Tokens::unknown(diag::Place at, std::string_view what) {
  if (quiet_ == 0) unknowns_.push_back({std::string(what) + " '" + printable(text(at)) + "'", at});
}

bool Tokens::may_name(std::size_t from) const {
  return std::any_of(tokens_.begin() + std::ptrdiff_t(from), tokens_.begin() + std::ptrdiff_t(next_),
                     [](const Token& t) { return t.is(Token::Kind::identifier); });
}

void Tokens::skip_arguments(bool after_name) {
  // (…) after a directive is its own only where no parameters can follow.
  const bool has_list = after_name && at('(');
  int depth = 0;
  for (; !done(); take()) {
    if (at('{') || at(';') || at(Token::Kind::dwarf)) return;
    if (at('(') && !has_list) return;
    depth += at('(') - at(')');
    if (depth > 0) continue;
    if (at(Token::Kind::dot_word) || (at(Token::Kind::identifier) && !after_name)) return;
  }
}

void Tokens::skip_item(std::size_t from) {
  if (next_ == from) take();
  while (!done()) {
    if (at('{')) {
      if (!skip_braces()) take();
      else if (peek().starts_line) return;  // a body, and not the values of a variable
    } else if (at(Token::Kind::dot_word) && peek().starts_line && is_module_directive(word(peek()))) {
      return;
    } else if (take().is(';')) {
      return;
    }
  }
}

bool Tokens::skip_braces() {
  const std::size_t start = next_;
  for (int depth = 0; !done();) {
    const Token& t = take();
    depth += t.is('{') ? 1 : t.is('}') ? -1 : 0;
    if (depth == 0) return true;
  }
  next_ = start;
  return false;
}

Tokens::Nested::Nested(Tokens& t) : tokens_(t), fits_(++t.nesting_ <= nesting_limit) {
  if (!fits_) t.error(t.peek().place(), "nested deeper than " + std::to_string(nesting_limit) + " levels");
}

std::string describe(const Tokens& tokens, const Token& t) {
  if (t.is(Token::Kind::end)) return "the end of the file";
  std::string out(1, '\'');
  return (out += printable(tokens.text(t))) += '\'';
}

bool is_module_directive(std::string_view word) {
  constexpr std::string_view words[] = {"version", "target",  "address_size", "visible", "extern", "weak",
                                        "common",  "entry",   "func",         "file",    "section", "alias",
                                        "pragma",  "global",  "const",        "shared",  "tex"};
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

}  // namespace kiln::parse

#include "ptx/parse/lexer.hpp"

#include <array>

namespace kiln::parse {
namespace {

enum CharClass : std::uint8_t { other = 0, letter = 1, digit = 2, underscore_like = 4, percent = 8 };

// Locale plays no part: PTX is ASCII.
constexpr auto classes = [] {
  std::array<std::uint8_t, 256> c{};
  for (int i = 'a'; i <= 'z'; ++i) c[std::size_t(i)] = letter;
  for (int i = 'A'; i <= 'Z'; ++i) c[std::size_t(i)] = letter;
  for (int i = '0'; i <= '9'; ++i) c[std::size_t(i)] = digit;
  c['_'] = c['$'] = underscore_like;
  c['%'] = percent;
  return c;
}();

constexpr bool is_a(char c, int mask) { return (classes[static_cast<unsigned char>(c)] & mask) != 0; }
constexpr bool follows_in_name(char c) { return is_a(c, letter | digit | underscore_like); }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  TokenList run() {
    out_.tokens.reserve(text_.size() / 4 + 1);
    while (skip_trivia()) next();
    add(Token::Kind::end, at_);
    return std::move(out_);
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void add(Token::Kind kind, std::size_t end, Symbol mark = 0) {
    out_.tokens.push_back({kind, starts_line_, mark, std::uint32_t(at_), std::uint32_t(end)});
    starts_line_ = false;
    at_ = end;
  }

  void fail(std::size_t begin, std::size_t end, const char* message) {
    out_.errors.push_back({{std::uint32_t(begin), std::uint32_t(end)}, message});
  }

  void skip_line() {
    const std::size_t end = text_.find('\n', at_);
    at_ = end == std::string_view::npos ? text_.size() : end;
  }

  void skip_block_comment() {
    const std::size_t end = text_.find("*/", at_ + 2);
    if (end == std::string_view::npos) fail(at_, at_ + 2, "this comment has no end; expected '*/'");
    for (const std::size_t stop = end == std::string_view::npos ? text_.size() : end + 2; at_ < stop; ++at_)
      if (text_[at_] == '\n') starts_line_ = true;
  }

  // To the next token; false at the end of the text.
  bool skip_trivia() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') starts_line_ = true, ++at_;
      else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') ++at_;
      else if (c == '/' && peek(1) == '/') skip_line();
      else if (c == '/' && peek(1) == '*') skip_block_comment();
      else if (c == '#' && starts_line_) skip_line();
      else return true;
    }
    return false;
  }

  void next() {
    const char c = text_[at_];
    if (is_a(c, digit)) return number();
    if (is_a(c, letter) || (is_a(c, underscore_like | percent) && follows_in_name(peek(1)))) return identifier();
    if (c == '.' && follows_in_name(peek(1))) return dot_word();
    if (c == '"') return string();
    if (starts_line_ && text_.substr(at_, 7) == "@@DWARF") return dwarf();
    mark();
  }

  void identifier() {
    std::size_t end = at_ + 1;
    while (end < text_.size() && follows_in_name(text_[end])) ++end;
    add(Token::Kind::identifier, end);
  }

  void dot_word() {
    std::size_t end = at_ + 1;
    const auto follows = [&](std::size_t i) { return i < text_.size() && follows_in_name(text_[i]); };
    const auto is_ratio = [&](std::size_t i) {  // .sp::2:4
      return text_[i] == ':' && is_a(text_[i - 1], digit) && i + 1 < text_.size() && is_a(text_[i + 1], digit) &&
             text_.substr(at_, i - at_).find("::") != std::string_view::npos;
    };
    while (end < text_.size()) {
      const bool doubled = text_.substr(end, 2) == "::" && follows(end + 2);
      if (!doubled && !follows(end) && !is_ratio(end)) break;
      end += doubled ? 2 : 1;
    }
    add(Token::Kind::dot_word, end);
  }

  // Everything that could belong to the literal, so that "0x1G" is one wrong number and not a number and a name.
  void number() {
    const bool decimal = text_[at_] != '0' || !is_a(peek(1), letter) || peek(1) == 'e' || peek(1) == 'E';
    std::size_t end = at_ + 1;
    while (end < text_.size()) {
      const char c = text_[end], before = text_[end - 1];
      const bool sign = decimal && (c == '+' || c == '-') && (before == 'e' || before == 'E');
      if (!follows_in_name(c) && !(decimal && c == '.') && !sign) break;
      ++end;
    }
    add(Token::Kind::number, end);
  }

  void string() {
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != '"' && text_[end] != '\n') {
      const bool escape = text_[end] == '\\' && end + 1 < text_.size() && text_[end + 1] != '\n';
      end += escape ? 2 : 1;
    }
    if (end < text_.size() && text_[end] == '"') ++end;
    else fail(at_, end, "this string has no end; expected '\"' before the end of the line");
    add(Token::Kind::string, end);
  }

  void dwarf() {
    std::size_t end = text_.find('\n', at_);
    if (end == std::string_view::npos) end = text_.size();
    while (text_[end - 1] == '\r' || text_[end - 1] == ' ' || text_[end - 1] == '\t') --end;
    add(Token::Kind::dwarf, end);
  }

  void mark() {
    const char c = text_[at_], d = peek(1);
    const bool doubled = (c == d && (c == '<' || c == '>' || c == '&' || c == '|' || c == '='));
    const bool compared = d == '=' && (c == '<' || c == '>' || c == '!');
    if (doubled || compared) return add(Token::Kind::mark, at_ + 2, symbol(c, d));
    constexpr std::string_view known = "{}()[]<>,;:=+-*/%&|^~!?@_$";
    if (c != '\0' && known.find(c) != std::string_view::npos) return add(Token::Kind::mark, at_ + 1, symbol(c));
    add(Token::Kind::unknown, at_ + 1);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  bool starts_line_ = true;
  TokenList out_{};
};

}  // namespace

TokenList tokenize(std::string_view text) { return Lexer(text).run(); }

}  // namespace kiln::parse

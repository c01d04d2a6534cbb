#include "ptx/parse/grammar.hpp"

#include <cstdio>

namespace kiln::parse {
namespace {

using ir::Operand;
using Kind = Operand::Kind;
using Found = std::optional<Operand>;

bool add_offset(Tokens& t, Operand& to) {
  if (t.at('-'))
    return t.error(t.peek().place(), "expected '+' before a negative offset; PTX writes it as '+-'", "+");
  if (!t.accept('+')) return true;
  const auto offset = parse_integer(t, "offset");
  if (offset) to.value = *offset;
  return offset.has_value();
}

// Everything up to the ',' or ';' that ends the operand, kept as text.
Found raw_operand(Tokens& t, std::size_t first) {
  const std::uint32_t begin = t.peek().begin;
  int depth = 0;
  for (; !t.ends_text(); t.take()) {
    if (depth == 0 && (t.at(',') || t.at(']') || t.at('}') || t.at(')'))) break;
    if (t.at('[') || t.at('{') || t.at('(')) ++depth;
    if (t.at(']') || t.at('}') || t.at(')')) --depth;
  }
  if (depth != 0) return t.error(t.since(begin), "a bracket of this operand is not closed"), std::nullopt;
  Operand o;
  o.kind = Kind::raw;
  o.text = t.collapsed(first);
  o.at = diag::Place{begin, t.previous_end()};
  return o;
}

Found sink(Tokens& t) {
  Operand o;
  o.kind = Kind::sink;
  o.at = t.take().place();
  return o;
}

// %r1, %tid.x, sym+4
Found name(Tokens& t) {
  const std::size_t first = t.index();
  const std::uint32_t begin = t.peek().begin;
  Operand o = Operand::named(std::string(t.text(t.take())));
  // An array element by index and a vector swizzle are PTX, but no known code uses them.
  if (t.at('[')) {
    t.rewind(first);
    return raw_operand(t, first);
  }
  if (t.at(Token::Kind::dot_word) && !t.peek().starts_line) o.text += t.text(t.take());
  if (!add_offset(t, o)) return std::nullopt;
  o.at = t.since(begin);
  return o;
}

Found negated_name(Tokens& t) {
  const std::uint32_t begin = t.take().begin;
  if (!t.at(Token::Kind::identifier)) return t.expected("a predicate after '!'"), std::nullopt;
  Found o = name(t);
  if (!o) return o;
  if (o->kind != Kind::name || o->value != 0)
    return t.error(t.since(begin), "'!' stands before the name of a predicate only"), std::nullopt;
  o->negated = true;
  o->at = t.since(begin);
  return o;
}

// The items between `open` and `close`, which may be none; takes both.
Found items(Tokens& t, Kind kind, char close, Parenthesis meaning) {
  Operand o;
  o.kind = kind;
  const std::uint32_t begin = t.take().begin;
  const char* const what = kind == Kind::vector ? "elements of the vector"
                           : kind == Kind::address ? "address" : "arguments of the call";
  if (!t.accept(close)) {
    do {
      Found item = parse_operand(t, meaning);
      if (!item) return item;
      o.items.push_back(*std::move(item));
    } while (t.accept(','));
    if (!t.expect(close, what)) return std::nullopt;
  }
  o.at = t.since(begin);
  return o;
}

Found address(Tokens& t) {
  Found o = items(t, Kind::address, ']', Parenthesis::expression);
  if (!o) return o;
  if (o->items.empty()) return t.error(o->at, "expected an address between '[' and ']'"), std::nullopt;
  if (t.at_word(Token::Kind::dot_word, "unified")) {
    o->text = t.word(t.take());
    o->at = t.since(o->at.begin);
  }
  return o;
}

// An operand without what may follow a '|'.
Found single(Tokens& t, Parenthesis meaning) {
  const Token& next = t.peek();
  if (next.is('[')) return address(t);
  if (next.is('{')) return items(t, Kind::vector, '}', Parenthesis::expression);
  if (next.is('(') && meaning == Parenthesis::list) return items(t, Kind::list, ')', Parenthesis::expression);
  if (next.is('_')) return sink(t);
  const bool before_name = t.peek(1).is(Token::Kind::identifier) && t.text(t.peek(1)) != "WARP_SZ";
  if (next.is('-') && before_name) return raw_operand(t, t.index());  // -a and -a.b0: video instructions
  if (next.is('!') && !starts_constant(t)) return negated_name(t);
  if (starts_constant(t)) return parse_constant_operand(t);
  if (next.is(Token::Kind::identifier)) return name(t);
  return t.missing("an operand"), std::nullopt;
}

// Initialisers

Found initializer_name(Tokens& t);

// generic(x)+4 and, for the bytes of an address, 0xFF00(x).
Found function_of_address(Tokens& t, std::string text, std::uint32_t begin) {
  const Tokens::Nested nested(t);
  if (!nested) return std::nullopt;
  Operand o;
  o.kind = Kind::function;
  o.text = std::move(text);
  t.take();
  Found inner = initializer_name(t);
  if (!inner || !t.expect(')', "address")) return std::nullopt;
  o.items.push_back(*std::move(inner));
  if (!add_offset(t, o)) return std::nullopt;
  o.at = t.since(begin);
  return o;
}

Found initializer_name(Tokens& t) {
  if (!t.at(Token::Kind::identifier)) return t.expected("the name of a variable or function"), std::nullopt;
  const Token& next = t.peek();
  if (!t.peek(1).is('(')) return name(t);
  t.take();
  return function_of_address(t, std::string(t.text(next)), next.begin);
}

Found byte_of_address(Tokens& t) {
  const std::uint32_t begin = t.peek().begin;
  const auto mask = parse_number(t, "mask", INT64_MIN, INT64_MAX);
  if (!mask) return std::nullopt;
  char text[20];
  std::snprintf(text, sizeof text, "0x%llX", static_cast<unsigned long long>(*mask));
  return function_of_address(t, text, begin);
}

// addr_mode_0 = clamp_to_border: of samplers and textures.
Found opaque_field(Tokens& t) {
  const std::uint32_t begin = t.peek().begin;
  Operand o;
  o.kind = Kind::raw;
  o.text = std::string(t.text(t.take())) + " = ";
  t.take();
  if (!t.at(Token::Kind::identifier) && !t.at(Token::Kind::number))
    return t.expected("the value of the field"), std::nullopt;
  o.text += t.text(t.take());
  o.at = t.since(begin);
  return o;
}

Found initializer_list(Tokens& t) {
  const Tokens::Nested nested(t);
  if (!nested) return std::nullopt;
  Operand o;
  o.kind = Kind::vector;
  const std::uint32_t begin = t.take().begin;
  if (!t.accept('}')) {
    do {
      Found item = parse_initializer(t);
      if (!item) return item;
      o.items.push_back(*std::move(item));
    } while (t.accept(','));
    if (!t.expect('}', "list of values")) return std::nullopt;
  }
  o.at = t.since(begin);
  return o;
}

}  // namespace

std::optional<ir::Operand> parse_operand(Tokens& t, Parenthesis meaning) {
  const Tokens::Nested nested(t);
  if (!nested) return std::nullopt;
  const std::uint32_t begin = t.peek().begin;
  Found o = single(t, meaning);
  if (!o || !t.at('|')) return o;
  Operand pair;
  pair.kind = Kind::pair;
  pair.items.push_back(*std::move(o));
  t.take();
  Found second = single(t, Parenthesis::expression);
  if (!second) return second;
  pair.items.push_back(*std::move(second));
  pair.at = t.since(begin);
  return pair;
}

std::optional<ir::Operand> parse_initializer(Tokens& t) {
  if (t.at('{')) return initializer_list(t);
  if (t.at(Token::Kind::identifier) && t.peek(1).is('=')) return opaque_field(t);
  if (t.at(Token::Kind::number) && t.peek(1).is('(')) return byte_of_address(t);
  if (starts_constant(t)) return parse_constant_operand(t);
  return initializer_name(t);
}

}  // namespace kiln::parse

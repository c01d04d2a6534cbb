#include "ptx/parse/grammar.hpp"

#include <cstdio>
#include <limits>
#include <string>

#include "ptx/isa/targets.hpp"

namespace kiln::parse {
namespace {

using Type = Constant::Type;

enum class Op : std::uint8_t {
  none, multiply, divide, remainder, add, subtract, left, right, less, greater, less_equal, greater_equal, equal,
  not_equal, bit_and, bit_xor, bit_or, logic_and, logic_or
};

struct Binary {
  Op op = Op::none;
  int precedence = 0;  // higher binds tighter
};

Binary binary(const Token& t) {
  if (!t.is(Token::Kind::mark)) return {};
  switch (t.mark) {
    case symbol('*'): return {Op::multiply, 10};
    case symbol('/'): return {Op::divide, 10};
    case symbol('%'): return {Op::remainder, 10};
    case symbol('+'): return {Op::add, 9};
    case symbol('-'): return {Op::subtract, 9};
    case symbol('<', '<'): return {Op::left, 8};
    case symbol('>', '>'): return {Op::right, 8};
    case symbol('<'): return {Op::less, 7};
    case symbol('>'): return {Op::greater, 7};
    case symbol('<', '='): return {Op::less_equal, 7};
    case symbol('>', '='): return {Op::greater_equal, 7};
    case symbol('=', '='): return {Op::equal, 6};
    case symbol('!', '='): return {Op::not_equal, 6};
    case symbol('&'): return {Op::bit_and, 5};
    case symbol('^'): return {Op::bit_xor, 4};
    case symbol('|'): return {Op::bit_or, 3};
    case symbol('&', '&'): return {Op::logic_and, 2};
    case symbol('|', '|'): return {Op::logic_or, 1};
    default: return {};
  }
}

std::optional<Constant> fold_reals(Op op, double a, double b) {
  switch (op) {
    case Op::multiply: return Constant::of(a * b);
    case Op::divide: return Constant::of(a / b);
    case Op::add: return Constant::of(a + b);
    case Op::subtract: return Constant::of(a - b);
    case Op::less: return Constant::of(std::int64_t(a < b));
    case Op::greater: return Constant::of(std::int64_t(a > b));
    case Op::less_equal: return Constant::of(std::int64_t(a <= b));
    case Op::greater_equal: return Constant::of(std::int64_t(a >= b));
    case Op::equal: return Constant::of(std::int64_t(a == b));
    case Op::not_equal: return Constant::of(std::int64_t(a != b));
    default: return std::nullopt;
  }
}

std::optional<std::int64_t> compare(Op op, Constant a, Constant b, bool as_unsigned) {
  const std::int64_t x = a.as_signed(), y = b.as_signed();
  const bool less = as_unsigned ? a.bits < b.bits : x < y;
  switch (op) {
    case Op::less: return less;
    case Op::greater: return !less && x != y;
    case Op::less_equal: return less || x == y;
    case Op::greater_equal: return !less;
    case Op::equal: return x == y;
    case Op::not_equal: return x != y;
    case Op::logic_and: return x != 0 && y != 0;
    case Op::logic_or: return x != 0 || y != 0;
    default: return std::nullopt;
  }
}

// Signed arithmetic wraps, so all of it is done unsigned; division is the exception.
std::uint64_t quotient(Constant a, Constant b, bool as_unsigned) {
  if (as_unsigned) return a.bits / b.bits;
  return b.as_signed() == -1 ? 0 - a.bits : std::uint64_t(a.as_signed() / b.as_signed());
}

// ptxas shifts as its host does: by the count modulo 64.
std::uint64_t shifted(Op op, Constant a, std::uint64_t count) {
  const auto by = unsigned(count & 63);
  if (op == Op::left) return a.bits << by;
  return a.type == Type::u64 ? a.bits >> by : std::uint64_t(a.as_signed() >> by);
}

std::optional<Constant> fold_integers(Op op, Constant a, Constant b) {
  const bool as_unsigned = a.type == Type::u64 || b.type == Type::u64;
  const Type usual = as_unsigned ? Type::u64 : Type::s64;
  if (const auto truth = compare(op, a, b, as_unsigned)) return Constant::of(*truth);
  switch (op) {
    case Op::multiply: return Constant{usual, a.bits * b.bits};
    case Op::add: return Constant{usual, a.bits + b.bits};
    case Op::subtract: return Constant{usual, a.bits - b.bits};
    case Op::divide: return Constant{usual, quotient(a, b, as_unsigned)};
    case Op::remainder: return Constant{Type::u64, a.bits % b.bits};
    case Op::left:
    case Op::right: return Constant{a.type, shifted(op, a, b.bits)};
    case Op::bit_and: return Constant{usual, a.bits & b.bits};
    case Op::bit_xor: return Constant{usual, a.bits ^ b.bits};
    case Op::bit_or: return Constant{usual, a.bits | b.bits};
    default: return std::nullopt;
  }
}

class Expression {
 public:
  explicit Expression(Tokens& tokens) : t_(tokens) {}

  std::optional<Constant> conditional() {
    const Tokens::Nested nested(t_);
    if (!nested) return std::nullopt;
    const std::uint32_t begin = t_.peek().begin;
    const auto condition = operation(1);
    if (!condition || !t_.accept('?')) return condition;
    const auto yes = conditional();
    if (!yes || !t_.expect(':', "first choice")) return std::nullopt;
    const auto no = conditional();
    if (!no) return std::nullopt;
    if (condition->type == Type::f64 || (yes->type == Type::f64) != (no->type == Type::f64)) return mixed(begin);
    return condition->bits != 0 ? yes : no;
  }

 private:
  std::optional<Constant> mixed(std::uint32_t begin) {
    t_.error(t_.since(begin), "integers and reals do not mix in a constant expression, and few operators take reals");
    return std::nullopt;
  }

  std::optional<Constant> operation(int lowest) {
    const std::uint32_t begin = t_.peek().begin;
    auto left = unary();
    while (left) {
      const Binary b = binary(t_.peek());
      if (b.op == Op::none || b.precedence < lowest) break;
      t_.take();
      const auto right = operation(b.precedence + 1);
      if (!right) return std::nullopt;
      left = fold(b.op, *left, *right, begin);
    }
    return left;
  }

  std::optional<Constant> fold(Op op, Constant a, Constant b, std::uint32_t begin) {
    const bool reals = a.type == Type::f64;
    if (reals != (b.type == Type::f64)) return mixed(begin);
    if (!reals && (op == Op::divide || op == Op::remainder) && b.bits == 0)
      return t_.error(t_.since(begin), "this constant expression divides by zero"), std::nullopt;
    const auto result = reals ? fold_reals(op, a.as_double(), b.as_double()) : fold_integers(op, a, b);
    return result ? result : mixed(begin);
  }

  std::optional<Constant> unary() {
    const Tokens::Nested nested(t_);
    if (!nested) return std::nullopt;
    const Token first = t_.peek();
    if (first.is('(')) return parenthesis();
    for (const char sign : {'-', '+', '!', '~'}) {
      if (!t_.accept(sign)) continue;
      const auto c = unary();
      return c ? apply(sign, *c, first.begin) : c;
    }
    return primary();
  }

  std::optional<Constant> apply(char sign, Constant c, std::uint32_t begin) {
    if (sign == '+') return c;
    if (c.type == Type::f64) return sign == '-' ? Constant::of(-c.as_double()) : mixed(begin);
    if (sign == '!') return Constant::of(std::int64_t(c.bits == 0));
    if (sign == '~') return Constant::of(~c.bits);
    return Constant{c.type, 0 - c.bits};
  }

  // (expression), (.s64) x, (.u64) x
  std::optional<Constant> parenthesis() {
    const Token open = t_.take();
    if (!t_.at(Token::Kind::dot_word)) {
      const auto inner = conditional();
      return inner && t_.expect(')', "constant expression") ? inner : std::nullopt;
    }
    const std::string_view type = t_.word(t_.peek());
    if (type != "s64" && type != "u64") return t_.expected("'.s64' or '.u64'"), std::nullopt;
    t_.take();
    if (!t_.expect(')', "type")) return std::nullopt;
    const auto value = unary();
    if (!value) return value;
    if (value->type == Type::f64) return mixed(open.begin);
    return Constant{type == "u64" ? Type::u64 : Type::s64, value->bits};
  }

  std::optional<Constant> primary() {
    const Token& t = t_.peek();
    const std::string_view text = t_.text(t);
    if (t.is(Token::Kind::identifier) && text == "WARP_SZ") {
      t_.take();
      return Constant::of(std::int64_t(isa::threads_per_warp));
    }
    const bool is_dotted = t.is(Token::Kind::dot_word);  // .5
    if (!t.is(Token::Kind::number) && !(is_dotted && text.find_first_not_of("0123456789eE", 1) == text.npos))
      return t_.missing("a constant"), std::nullopt;
    t_.take();
    if (is_single_literal(text))
      return t_.error(t_.since(t.begin), "a number written as 0f cannot take part in a constant expression"),
             std::nullopt;
    Constant c;
    const LiteralError wrong = read_literal(text, c);
    if (wrong == LiteralError::none) return c;
    t_.error(t_.since(t.begin), std::string(reason(wrong)) + "; got " + describe(t_, t));
    return std::nullopt;
  }

  Tokens& t_;
};

ir::Operand real_operand(std::string text, std::uint64_t bits, diag::Place at) {
  ir::Operand o;
  o.kind = ir::Operand::Kind::real;
  o.text = std::move(text);
  o.value = std::int64_t(bits);
  o.at = at;
  return o;
}

std::string spell_bits(std::uint64_t bits) {
  char text[24];
  std::snprintf(text, sizeof text, "0d%016llX", static_cast<unsigned long long>(bits));
  return text;
}

std::optional<ir::Operand> single_operand(Tokens& t) {
  const Token token = t.take();
  std::uint32_t bits = 0;
  const LiteralError wrong = read_single(t.text(token), bits);
  if (wrong == LiteralError::none) return real_operand(std::string(t.text(token)), bits, token.place());
  t.error(token.place(), std::string(reason(wrong)) + "; got " + describe(t, token));
  return std::nullopt;
}

}  // namespace

bool starts_constant(const Tokens& t) {
  const Token& next = t.peek();
  if (next.is(Token::Kind::number) || next.is('(') || next.is('-') || next.is('+') || next.is('~')) return true;
  if (next.is('!')) return t.peek(1).is(Token::Kind::number) || t.peek(1).is('(') || t.text(t.peek(1)) == "WARP_SZ";
  return next.is(Token::Kind::dot_word) || t.text(next) == "WARP_SZ";
}

std::optional<Constant> parse_constant(Tokens& t) { return Expression(t).conditional(); }

std::optional<std::int64_t> parse_integer(Tokens& t, std::string_view what) {
  const std::uint32_t begin = t.peek().begin;
  const auto c = parse_constant(t);
  if (c && c->type != Type::f64) return c->as_signed();
  if (c) t.error(t.since(begin), "the " + std::string(what) + " must be an integer");
  return std::nullopt;
}

std::optional<std::int64_t> parse_number(Tokens& t, std::string_view what, std::int64_t low, std::int64_t high) {
  const Token token = t.peek();
  if (!token.is(Token::Kind::number)) return t.missing("the " + std::string(what)), std::nullopt;
  t.take();
  Constant c;
  const bool is_integer = !is_single_literal(t.text(token)) && read_literal(t.text(token), c) == LiteralError::none &&
                          c.type != Type::f64;
  if (is_integer && c.as_signed() >= low && c.as_signed() <= high) return c.as_signed();
  t.error(token.place(), "the " + std::string(what) + " must be an integer from " + std::to_string(low) + " to " +
                             std::to_string(high) + "; got " + describe(t, token));
  return std::nullopt;
}

std::optional<ir::Operand> parse_constant_operand(Tokens& t) {
  const Token first = t.peek();
  if (first.is(Token::Kind::number) && is_single_literal(t.text(first))) return single_operand(t);
  const std::size_t index = t.index();
  const auto c = parse_constant(t);
  if (!c) return std::nullopt;
  const std::size_t taken = t.index() - index;
  const bool is_negative_literal = taken == 2 && first.is('-');
  if (c->type == Type::f64) {
    std::string text = taken == 1 || is_negative_literal ? t.collapsed(index) : spell_bits(c->bits);
    if (const auto blank = text.find(' '); blank != std::string::npos) text.erase(blank, 1);
    return real_operand(std::move(text), c->bits, t.since(first.begin));
  }
  ir::Operand o = ir::Operand::number(c->as_signed());
  o.at = t.since(first.begin);
  // -9223372036854775808 is the one negative number whose absolute value is not .s64.
  const bool is_lowest = is_negative_literal && o.value == std::numeric_limits<std::int64_t>::min();
  o.is_unsigned = c->type == Type::u64 && !(is_lowest && !t.text(o.at).ends_with('U'));
  o.radix.hexadecimal = taken == 1 && (t.text(first).starts_with("0x") || t.text(first).starts_with("0X"));
  return o;
}

}  // namespace kiln::parse

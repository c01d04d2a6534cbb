#include "ptx/parse/grammar.hpp"

#include "ptx/isa/modifiers.hpp"

namespace kiln::parse {
namespace {

bool parse_guard(Tokens& t, ir::Instruction& into) {
  const std::uint32_t begin = t.take().begin;
  ir::Guard guard;
  guard.negated = t.accept('!');
  if (!t.at(Token::Kind::identifier)) return t.expected("a predicate after '@'");
  guard.predicate = std::string(t.text(t.take()));
  guard.at = t.since(begin);
  into.guard = std::move(guard);
  return true;
}

// Modifiers may go over lines, but a missing ';' should not make one of a directive.
bool is_modifier(const Tokens& t) {
  if (!t.at(Token::Kind::dot_word)) return false;
  const std::string_view word = t.word(t.peek());
  return !t.peek().starts_line || (word != "loc" && word != "reg" && word != "pragma");
}

void parse_mnemonic(Tokens& t, Mnemonics& mnemonics, ir::Instruction& into) {
  const std::uint32_t begin = t.peek().begin;
  std::string text(t.text(t.take()));
  while (is_modifier(t)) text += t.text(t.take());
  const Mnemonics::Parts& parts = mnemonics.parts(text);
  into.opcode = parts.opcode;
  into.unknown_name = parts.unknown_name;
  into.modifiers = parts.modifiers;
  into.mnemonic = t.since(begin);
}

// Whether the ';' comes at once; where it is missing, the caller says so.
bool ends_here(const Tokens& t) {
  return t.at(';') || t.at('}') || t.done() || (t.peek().starts_line && t.at(Token::Kind::dot_word));
}

bool parse_operands(Tokens& t, ir::Instruction& into) {
  if (ends_here(t)) return true;
  const auto meaning = into.opcode == isa::Opcode::call ? Parenthesis::list : Parenthesis::expression;
  into.operands.reserve(4);
  do {
    auto operand = parse_operand(t, meaning);
    if (!operand) return false;
    into.operands.push_back(*std::move(operand));
  } while (t.accept(','));
  return true;
}

// A modifier that stands in no table. Shapes of matrices do not either.
bool has_unknown_word(const ir::Instruction& i) { return !isa::decode_modifiers(i.modifiers).others.empty(); }

// The operands of an unknown instruction may have any form: they are parsed as usual first, then kept as text.
bool parse_unknown_operands(Tokens& t, ir::Instruction& into) {
  const std::size_t first = t.index();
  {
    const Tokens::Quietly quietly(t);
    if (parse_operands(t, into) && t.at(';')) return true;
  }
  t.rewind(first);
  into.operands.clear();
  const std::uint32_t begin = t.peek().begin;
  int depth = 0;
  for (; !t.ends_text() && depth >= 0; t.take()) depth += t.at('{') - t.at('}');
  if (!t.at(';') || depth < 0) return t.expect(';', "instruction");
  ir::Operand raw;
  raw.kind = ir::Operand::Kind::raw;
  raw.text = t.collapsed(first);
  raw.at = t.since(begin);
  into.operands.push_back(std::move(raw));
  return true;
}

}  // namespace

const Mnemonics::Parts& Mnemonics::parts(const std::string& mnemonic) {
  const auto [entry, is_new] = known_.try_emplace(mnemonic);
  if (!is_new) return entry->second;
  Parts& p = entry->second;
  const isa::OpcodeMatch match = isa::match_opcode(mnemonic);
  p.opcode = match.opcode;
  if (p.opcode == isa::Opcode::unknown) p.unknown_name = mnemonic.substr(0, match.length);
  for (std::size_t dot = match.length; dot < mnemonic.size();) {
    const std::size_t end = std::min(mnemonic.find('.', dot + 1), mnemonic.size());
    p.modifiers.push_back(mnemonic.substr(dot + 1, end - dot - 1));
    dot = end;
  }
  return p;
}

std::optional<ir::Instruction> parse_instruction(Tokens& t, Mnemonics& mnemonics) {
  ir::Instruction i;
  const std::uint32_t begin = t.peek().begin;
  if (t.at('@') && !parse_guard(t, i)) return std::nullopt;
  if (!t.at(Token::Kind::identifier)) return t.expected("an instruction after the guard"), std::nullopt;
  parse_mnemonic(t, mnemonics, i);
  const bool is_known = i.opcode != isa::Opcode::unknown && !(t.is_newer() && has_unknown_word(i));
  if (!(is_known ? parse_operands(t, i) : parse_unknown_operands(t, i))) return std::nullopt;
  if (!t.expect(';', "instruction")) return std::nullopt;
  i.at = t.since(begin);
  return i;
}

}  // namespace kiln::parse

#include "ptx/parse/grammar.hpp"

namespace kiln::parse {
namespace {

// .attribute and performance directives; PTX has a place for each, but no reader gains from knowing it.
bool parse_directives(Tokens& t, ir::Function& f, bool after_name = false) {
  while (t.at(Token::Kind::dot_word)) {
    const std::string_view word = t.word(t.peek());
    if (word == "attribute") {
      t.take();
      if (!parse_attributes(t, f.attributes)) return false;
      continue;
    }
    auto p = parse_performance(t, after_name);
    if (!p) return false;
    f.performance.push_back(*std::move(p));
  }
  return true;
}

// Parameters of types that Kiln does not know are left out.
bool parse_list(Tokens& t, ir::Function& f, std::vector<ir::Variable>& out) {
  const std::size_t unknown = t.unknowns().size();
  const bool read = parse_parameters(t, Names::optional, out);
  if (t.unknowns().size() != unknown) f.unread = f.names_unread = true;
  return read;
}

bool parse_head(Tokens& t, ir::Function& f) {
  if (!parse_directives(t, f)) return false;
  if (t.at('(') && !parse_list(t, f, f.returns)) return false;
  if (!parse_directives(t, f)) return false;
  if (!t.at(Token::Kind::identifier)) return t.expected("the name of the function");
  f.name_at = t.peek().place();
  f.name = std::string(t.text(t.take()));
  if (t.at('(') && !parse_list(t, f, f.parameters)) return false;
  return parse_directives(t, f, true);
}

// Blocks of statements. Broken statements are reported and left out.
class Body {
 public:
  Body(Tokens& tokens, Mnemonics& mnemonics) : t_(tokens), mnemonics_(mnemonics) {}

  ir::Block block() {
    ir::Block b;
    const Token open = t_.take();
    while (!t_.done() && !t_.at('}')) {
      const std::size_t first = t_.index();
      if (statement(b.statements)) continue;
      unread_ = true;
      t_.skip_statement(first);
      names_unread_ |= t_.may_declare(first);
    }
    if (!t_.accept('}')) unread_ = names_unread_ = true, t_.error(open.place(), "this block has no end; expected '}'");
    b.at = t_.since(open.begin);
    return b;
  }
  /// Whether statements were left out.
  bool unread() const { return unread_; }
  /// Whether one of them may have declared a name.
  bool names_unread() const { return names_unread_; }

 private:
  using Statements = std::vector<ir::Statement>;

  template <class Node>
  static bool add(Statements& to, std::optional<Node> node) {
    if (node) to.push_back({*std::move(node)});
    return node.has_value();
  }

  bool statement(Statements& to) {
    switch (t_.peek().kind) {
      case Token::Kind::identifier: return t_.peek(1).is(':') ? label(to) : add(to, parse_instruction(t_, mnemonics_));
      case Token::Kind::dot_word: return directive(to);
      case Token::Kind::dwarf: return add(to, std::optional(parse_dwarf(t_)));
      default: break;
    }
    if (t_.at('@')) return guarded(to);
    if (t_.at('{')) return nested(to);
    if (t_.at(';')) return t_.error(t_.peek().place(), "a ';' without an instruction");
    return t_.expected("an instruction, a label or a directive");
  }

  // A guard before a block is a mistake, but the block is still one.
  bool guarded(Statements& to) { return add(to, parse_instruction(t_, mnemonics_)) || t_.at('{'); }

  bool nested(Statements& to) {
    const Tokens::Nested level(t_);
    if (level) return add(to, std::optional(block()));
    unread_ = names_unread_ = true;
    if (!t_.skip_braces()) t_.take();
    return true;
  }

  bool label(Statements& to) {
    const Token name = t_.take();
    t_.take();
    std::string text(t_.text(name));
    if (t_.at(Token::Kind::dot_word) && is_table_directive(t_.word(t_.peek())))
      return add(to, parse_table(t_, std::move(text), name.place()));
    return add(to, std::optional(ir::Label{std::move(text), name.place()}));
  }

  bool directive(Statements& to) {
    const std::string_view word = t_.word(t_.peek());
    if (word == "loc") return add(to, parse_loc(t_));
    if (word == "pragma") return add(to, parse_pragma(t_));
    if (is_table_directive(word))
      return t_.error(t_.peek().place(), "expected a name and ':' before " + describe(t_, t_.peek()));
    const bool is_declaration = isa::parse_space(word) || parse_linkage(word) || word == "align";
    if (is_declaration ? declares_newer(t_, false) : t_.is_newer()) {
      if (!is_declaration) t_.unknown("the directive");
      return keep(to);
    }
    if (is_declaration) return variables(to);
    return t_.error(t_.peek().place(), "unknown directive " + describe(t_, t_.peek()) + " in the body of a function");
  }

  // A statement of a newer PTX, as text. It may declare what it names.
  bool keep(Statements& to) {
    const std::size_t first = t_.index();
    const std::uint32_t begin = t_.peek().begin;
    t_.skip_statement(first);
    if (t_.may_name(first)) unread_ = names_unread_ = true;
    const diag::Place at = t_.since(begin);
    to.push_back({ir::Directive{std::string(t_.text(at)), at}});
    return true;
  }

  bool variables(Statements& to) {
    std::vector<ir::Variable> declared;
    const bool read = parse_variables(t_, declared);
    for (ir::Variable& v : declared) to.push_back({std::move(v)});
    return read;
  }

  Tokens& t_;
  Mnemonics& mnemonics_;
  bool unread_ = false, names_unread_ = false;
};

}  // namespace

std::optional<ir::Function> parse_function(Tokens& t, Mnemonics& mnemonics, ir::Linkage linkage, std::uint32_t begin) {
  ir::Function f;
  f.linkage = linkage;
  f.entry = t.word(t.take()) == "entry";
  if (!parse_head(t, f)) return std::nullopt;
  f.at = t.since(begin);
  if (t.at('{')) {
    Body body(t, mnemonics);
    f.body = body.block();
    f.unread |= body.unread();
    f.names_unread |= body.names_unread();
    return f;
  }
  if (!t.expect(';', "head of the function")) return std::nullopt;
  return f;
}

}  // namespace kiln::parse

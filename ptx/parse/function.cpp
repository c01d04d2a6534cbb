#include "ptx/parse/productions.hpp"

#include "ptx/parse/declaration.hpp"
#include "ptx/parse/directive.hpp"

namespace kiln::parse {
namespace {

// .attribute and performance directives; PTX has a place for each, but no reader gains from knowing it.
bool parse_directives(Tokens& t, ir::Function& f) {
  while (t.at(Token::Kind::dot_word)) {
    const std::string_view word = t.word(t.peek());
    if (word == "attribute") {
      t.take();
      if (!parse_attributes(t, f.attributes)) return false;
      continue;
    }
    auto p = parse_performance(t);
    if (!p) return false;
    f.performance.push_back(*std::move(p));
  }
  return true;
}

bool parse_head(Tokens& t, ir::Function& f) {
  if (!parse_directives(t, f)) return false;
  if (t.at('(') && !parse_parameters(t, Names::optional, f.returns)) return false;
  if (!parse_directives(t, f)) return false;
  if (!t.at(Token::Kind::identifier)) return t.expected("the name of the function");
  f.name_at = t.peek().place();
  f.name = std::string(t.text(t.take()));
  if (t.at('(') && !parse_parameters(t, Names::optional, f.parameters)) return false;
  return parse_directives(t, f);
}

}  // namespace

std::optional<ir::Function> parse_function(Tokens& t, Mnemonics& mnemonics, ir::Linkage linkage, std::uint32_t begin) {
  ir::Function f;
  f.linkage = linkage;
  f.entry = t.word(t.take()) == "entry";
  if (!parse_head(t, f)) return std::nullopt;
  f.at = t.since(begin);
  if (t.at('{')) {
    f.body = parse_block(t, mnemonics);
    return f;
  }
  if (!t.expect(';', "head of the function")) return std::nullopt;
  return f;
}

}  // namespace kiln::parse

#include "ptx/parse/grammar.hpp"

namespace kiln::parse {
namespace {

constexpr std::int64_t largest_alignment = 1 << 30, largest_count = 1 << 30;

// The directives read before a name.
struct Head {
  ir::Variable variable{};
  bool has_linkage = false, has_space = false, has_type = false;
  std::uint32_t begin = 0;
};

bool parse_align(Tokens& t, Head& h) {
  t.take();
  const Token number = t.peek();
  const auto bytes = parse_number(t, "alignment", 1, largest_alignment);
  if (!bytes) return false;
  if ((*bytes & (*bytes - 1)) != 0)
    return t.error(number.place(), "the alignment must be a power of two; got " + std::to_string(*bytes));
  (h.variable.is_pointer ? h.variable.pointer_align : h.variable.align) = int(*bytes);
  return true;
}

// Takes a word of which a declaration has one.
bool take_only(Tokens& t, bool& has_one, std::string_view rule) {
  if (has_one) return t.error(t.peek().place(), std::string(rule) + "; got " + describe(t, t.peek()) + " as well");
  t.take();
  return has_one = true;
}

bool set_space(Tokens& t, Head& h, isa::Space space) {
  ir::Variable& v = h.variable;
  bool has_pointer_space = v.pointer_space != isa::Space::generic;
  if (!take_only(t, v.is_pointer ? has_pointer_space : h.has_space, "a variable has one state space")) return false;
  (v.is_pointer ? v.pointer_space : v.space) = space;
  return true;
}

bool parse_qualifier(Tokens& t, Head& h) {
  const std::string_view word = t.word(t.peek());
  if (const auto linkage = parse_linkage(word)) {
    h.variable.linkage = *linkage;
    return take_only(t, h.has_linkage, "a name has one linkage");
  }
  if (word == "align") return parse_align(t, h);
  if (word == "attribute") {
    t.take();
    return parse_attributes(t, h.variable.attributes);
  }
  if (word == "v2" || word == "v4" || word == "v8") {
    h.variable.vector = word[1] - '0';
    t.take();
    return true;
  }
  if (word == "ptr") {
    h.variable.is_pointer = true;
    t.take();
    return true;
  }
  if (const auto space = isa::parse_space(word)) return set_space(t, h, *space);
  if (const auto type = isa::parse_type(word)) {
    h.variable.type = *type;
    return take_only(t, h.has_type, "a variable has one type");
  }
  return t.error(t.peek().place(), "unknown type or directive " + describe(t, t.peek()) + " in a declaration");
}

bool is_qualifier(std::string_view word) {
  return parse_linkage(word) || word == "align" || word == "attribute" || word == "v2" || word == "v4" ||
         word == "v8" || word == "ptr" || isa::parse_space(word) || isa::parse_type(word);
}

bool parse_head(Tokens& t, Head& h) {
  h.begin = t.peek().begin;
  while (t.at(Token::Kind::dot_word))
    if (!parse_qualifier(t, h)) return false;
  if (!h.has_space) return t.expected("a state space such as '.reg' before the name");
  return h.has_type || t.expected("a type such as '.u32' before the name");
}

void skip_parameter(Tokens& t) {
  for (int depth = 0; !t.done(); t.take()) {
    if (t.at('{') || t.at(';') || (depth == 0 && (t.at(',') || t.at(')')))) return;
    depth += t.at('(') - t.at(')');
  }
}

bool parse_extents(Tokens& t, ir::Variable& v) {
  while (t.accept('[')) {
    if (t.accept(']')) {
      v.dims.emplace_back();
      continue;
    }
    const auto extent = parse_number(t, "extent of the array", 0, INT64_MAX);
    if (!extent) return false;
    v.dims.emplace_back(std::uint64_t(*extent));
    if (!t.expect(']', "extent of the array")) return false;
  }
  return true;
}

// name, %r<100>, name[4][] = {...}
bool parse_declarator(Tokens& t, Names names, std::uint32_t head_begin, ir::Variable& v) {
  if (t.at(Token::Kind::identifier) || (names == Names::optional && t.at('_'))) {
    v.at = t.peek().place();
    v.name = std::string(t.text(t.take()));
  } else if (names == Names::optional) {
    v.at = t.since(head_begin);
  } else {
    return t.missing("a name");
  }
  if (t.accept('<')) {
    const auto count = parse_number(t, "number of registers", 0, largest_count);
    if (!count || !t.expect('>', "number of registers")) return false;
    v.count = std::uint32_t(*count);
  }
  if (!parse_extents(t, v)) return false;
  if (!t.accept('=')) return true;
  v.initializer = parse_initializer(t);
  return v.initializer.has_value();
}

}  // namespace

std::optional<ir::Linkage> parse_linkage(std::string_view word) {
  using ir::Linkage;
  for (const Linkage l : {Linkage::visible, Linkage::external, Linkage::weak, Linkage::common})
    if (word == ir::spelling(l)) return l;
  return std::nullopt;
}

bool declares_newer(Tokens& t, bool is_parameter) {
  if (!t.is_newer()) return false;
  const std::size_t first = t.index();
  bool found = false;
  for (int depth = 0; !t.done(); t.take()) {
    depth += t.at('(') - t.at(')');
    if (t.at(';') || t.at('{') || t.at('=') || depth < 0 || (is_parameter && depth == 0 && t.at(','))) break;
    // What stands in parentheses is of an attribute.
    if (depth > 0 || !t.at(Token::Kind::dot_word) || is_qualifier(t.word(t.peek()))) continue;
    t.unknown("the word");
    found = true;
  }
  t.rewind(first);
  return found;
}

bool parse_variables(Tokens& t, std::vector<ir::Variable>& out) {
  Head head;
  if (!parse_head(t, head)) return false;
  do {
    ir::Variable v = head.variable;
    if (!parse_declarator(t, Names::required, head.begin, v)) return false;
    out.push_back(std::move(v));
  } while (t.accept(','));
  return t.expect(';', "declaration");
}

bool parse_parameters(Tokens& t, Names names, std::vector<ir::Variable>& out) {
  if (!t.expect('(', "name")) return false;
  if (t.accept(')')) return true;
  do {
    Head head;
    if (declares_newer(t, true)) {
      skip_parameter(t);
      continue;
    }
    if (!parse_head(t, head)) return false;
    if (!parse_declarator(t, names, head.begin, head.variable)) return false;
    out.push_back(std::move(head.variable));
  } while (t.accept(','));
  return t.expect(')', "parameters");
}

bool parse_attributes(Tokens& t, std::vector<std::string>& out) {
  if (!t.expect('(', "word '.attribute'")) return false;
  do {
    const std::size_t first = t.index();
    if (!t.at(Token::Kind::dot_word)) return t.expected("an attribute such as '.managed'");
    t.take();
    if (t.accept('(')) {
      while (!t.ends_text() && !t.at(')')) t.take();
      if (!t.expect(')', "values of the attribute")) return false;
    }
    out.push_back(t.collapsed(first));
  } while (t.accept(','));
  return t.expect(')', "attributes");
}

}  // namespace kiln::parse

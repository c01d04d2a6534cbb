#include "ptx/parse/grammar.hpp"

#include <algorithm>
#include <limits>

namespace kiln::parse {
namespace {

constexpr std::int64_t largest_int = std::numeric_limits<int>::max();
constexpr std::int64_t largest_table = 1 << 16;

struct PerformanceDirective {
  std::string_view word;
  bool has_values;
};

const PerformanceDirective* find_performance(std::string_view word) {
  static constexpr PerformanceDirective known[] = {
      {"maxntid", true},         {"reqntid", true},           {"minnctapersm", true},      {"maxnctapersm", true},
      {"maxnreg", true},         {"local_maxnreg", true},     {"reqnctapercluster", true}, {"maxclusterrank", true},
      {"explicitcluster", false}, {"blocksareclusters", false}, {"noreturn", false},         {"pragma", false},
      {"abi_preserve", true},    {"abi_preserve_control", true}};
  const auto found = std::find_if(std::begin(known), std::end(known), [=](const auto& d) { return d.word == word; });
  return found == std::end(known) ? nullptr : found;
}

bool parse_int(Tokens& t, std::string_view what, int& out) {
  const auto n = parse_number(t, what, 0, largest_int);
  if (n) out = int(*n);
  return n.has_value();
}

bool parse_position(Tokens& t, ir::Loc& loc) {
  return parse_int(t, "file number", loc.file) && parse_int(t, "line number", loc.line) &&
         parse_int(t, "column number", loc.column);
}

bool skip_word(Tokens& t, std::string_view word) {
  if (!t.at_word(Token::Kind::identifier, word)) return false;
  t.take();
  return true;
}

// ", function_name $L__info_string0+4"
bool parse_function_name(Tokens& t, ir::Loc& loc) {
  if (!t.at(Token::Kind::identifier) && !t.at(Token::Kind::dot_word))
    return t.missing("a label after 'function_name'");
  loc.rest = ", function_name ";
  loc.rest += t.text(t.take());
  if (!t.accept('+')) return true;
  const auto offset = parse_number(t, "offset", 0, std::numeric_limits<std::int64_t>::max());
  if (offset) loc.rest += "+" + std::to_string(*offset);
  return offset.has_value();
}

// ", inlined_at 1 24 3"
bool parse_inlined_at(Tokens& t, ir::Loc& loc) {
  ir::Loc call;
  if (!parse_position(t, call)) return false;
  loc.rest += ", inlined_at " + std::to_string(call.file) + " " + std::to_string(call.line) + " " +
              std::to_string(call.column);
  return true;
}

ir::Directive directive(const Tokens& t, std::size_t first, std::uint32_t begin) {
  return {t.collapsed(first), t.since(begin)};
}

bool parse_names(Tokens& t, std::vector<std::string>& out) {
  do {
    if (!t.at(Token::Kind::identifier)) return t.missing("a name");
    out.emplace_back(t.text(t.take()));
  } while (t.accept(','));
  return true;
}

// "a, L<3>, b": L<3> is L0, L1, L2.
bool parse_targets(Tokens& t, std::vector<std::string>& out) {
  const std::uint32_t begin = t.peek().begin;
  do {
    if (!t.at(Token::Kind::identifier)) return t.missing("a name");
    std::string name(t.text(t.take()));
    if (!t.accept('<')) {
      out.push_back(std::move(name));
      continue;
    }
    const auto count = parse_number(t, "number of names", 0, largest_table);
    if (!count || !t.expect('>', "number of names")) return false;
    for (std::int64_t i = 0; i < *count; ++i) out.push_back(name + std::to_string(i));
    if (out.size() > std::size_t(largest_table)) return t.error(t.since(begin), "a table has at most 65536 targets");
  } while (t.accept(','));
  return !out.empty() || t.error(t.since(begin), "this table has no targets");
}

bool parse_strings(Tokens& t) {
  do {
    if (!t.at(Token::Kind::string)) return t.missing("a string");
    t.take();
  } while (t.accept(','));
  return true;
}

// "(.param .b32 _) _ (.param .b32 _, .param .b64 _) .noreturn": read to find mistakes, kept as text.
bool parse_prototype(Tokens& t, ir::Table& table) {
  const std::size_t first = t.index();
  std::vector<ir::Variable> unused;
  if (t.at('(') && !parse_parameters(t, Names::optional, unused)) return false;
  if (!t.accept('_') && !t.at(Token::Kind::identifier)) return t.expected("'_'");
  if (t.at(Token::Kind::identifier)) t.take();
  if (t.at('(') && !parse_parameters(t, Names::optional, unused)) return false;
  while (t.at(Token::Kind::dot_word))
    if (!parse_performance(t, true)) return false;
  table.text = t.collapsed(first);
  return true;
}

}  // namespace

std::optional<ir::Loc> parse_loc(Tokens& t) {
  ir::Loc loc;
  const std::uint32_t begin = t.take().begin;
  if (!parse_position(t, loc)) return std::nullopt;
  if (t.at(',') && t.text(t.peek(1)) == "function_name") {
    t.take();
    t.take();
    if (!parse_function_name(t, loc)) return std::nullopt;
    if (t.accept(',')) {
      if (!skip_word(t, "inlined_at")) return t.expected("'inlined_at'"), std::nullopt;
      if (!parse_inlined_at(t, loc)) return std::nullopt;
    }
  }
  loc.at = t.since(begin);
  return loc;
}

std::optional<ir::Directive> parse_file(Tokens& t) {
  const std::size_t first = t.index();
  const std::uint32_t begin = t.take().begin;
  int unused = 0;
  if (!parse_int(t, "file number", unused)) return std::nullopt;
  if (!t.at(Token::Kind::string)) return t.expected("the file's name in quotes"), std::nullopt;
  t.take();
  for (const char* what : {"time of the last change", "size of the file"})
    if (t.accept(',') && !parse_number(t, what, 0, std::numeric_limits<std::int64_t>::max())) return std::nullopt;
  return directive(t, first, begin);
}

std::optional<ir::Directive> parse_pragma(Tokens& t) {
  const std::size_t first = t.index();
  const std::uint32_t begin = t.take().begin;
  if (!parse_strings(t) || !t.expect(';', "pragma")) return std::nullopt;
  return directive(t, first, begin);
}

std::optional<ir::Directive> parse_alias(Tokens& t) {
  const std::size_t first = t.index();
  const std::uint32_t begin = t.take().begin;
  std::vector<std::string> names;
  if (!parse_names(t, names)) return std::nullopt;
  if (names.size() != 2)
    return t.error(t.since(begin), "an alias has two names, its own and the function's"), std::nullopt;
  if (!t.expect(';', "alias")) return std::nullopt;
  return directive(t, first, begin);
}

std::optional<ir::Directive> parse_section(Tokens& t) {
  const std::uint32_t begin = t.take().begin;
  if (!t.at(Token::Kind::dot_word) && !t.at(Token::Kind::identifier))
    return t.expected("the section's name"), std::nullopt;
  t.take();
  if (!t.at('{')) return t.expected("'{' after the section's name"), std::nullopt;
  const Token brace = t.peek();
  if (!t.skip_braces()) {
    t.error(brace.place(), "this section has no end; expected '}'");
    return std::nullopt;
  }
  const diag::Place at = t.since(begin);
  return ir::Directive{std::string(t.text(at)), at};
}

ir::Directive parse_dwarf(Tokens& t) {
  const Token& line = t.take();
  return {std::string(t.text(line)), line.place()};
}

bool is_table_directive(std::string_view word) {
  return word == "branchtargets" || word == "calltargets" || word == "callprototype";
}

std::optional<ir::Table> parse_table(Tokens& t, std::string name, ir::At at) {
  ir::Table table;
  table.name = std::move(name);
  table.at = at;
  const std::string_view word = t.word(t.take());
  if (word == "callprototype") {
    table.kind = ir::Table::Kind::call_prototype;
    if (!parse_prototype(t, table)) return std::nullopt;
  } else {
    if (word == "calltargets") table.kind = ir::Table::Kind::call_targets;
    if (!parse_targets(t, table.targets)) return std::nullopt;
  }
  if (!t.expect(';', "table of targets")) return std::nullopt;
  return table;
}

bool is_performance_directive(std::string_view word) { return find_performance(word) != nullptr; }

std::optional<ir::Performance> parse_performance(Tokens& t, bool after_name) {
  ir::Performance p;
  const Token keyword = t.peek();
  if (!is_performance_directive(t.word(keyword)) && t.is_newer()) {
    t.unknown("the directive");
    t.take();
    p.name = t.word(keyword);
    const std::size_t first = t.index();
    t.skip_arguments(after_name);
    p.text = t.collapsed(first);
    p.at = t.since(keyword.begin);
    return p;
  }
  if (!is_performance_directive(t.word(keyword)))
    return t.error(keyword.place(), "unknown directive " + describe(t, keyword) + " in the head of a function"),
           std::nullopt;
  t.take();
  p.name = t.word(keyword);
  if (p.name == "pragma") {
    const std::size_t first = t.index();
    if (!parse_strings(t)) return std::nullopt;
    p.text = t.collapsed(first);
    if (!t.expect(';', "pragma")) return std::nullopt;
  } else if (find_performance(p.name)->has_values) {
    do {
      const auto n = parse_number(t, "value of the directive", 0, std::numeric_limits<std::uint32_t>::max());
      if (!n) return std::nullopt;
      p.values.push_back(*n);
    } while (t.accept(','));
  }
  p.at = t.since(keyword.begin);
  return p;
}

}  // namespace kiln::parse

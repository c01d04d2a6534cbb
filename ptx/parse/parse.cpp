// The items of a module, one after the other. Everything below a function's head is in the other files here.
#include "ptx/parse/parse.hpp"

#include <charconv>
#include <memory>

#include "ptx/diag/error.hpp"
#include "ptx/parse/grammar.hpp"

namespace kiln::parse {
namespace {

class ModuleParser {
 public:
  ModuleParser(diag::SourcePtr source, diag::Sink& sink) : t_(source, sink) { module_.source = std::move(source); }

  ir::Module run() {
    if (!t_.at_word(Token::Kind::dot_word, "version")) t_.expected("'.version' at the start of the module");
    while (!t_.done()) {
      const std::size_t first = t_.index();
      if (!item()) module_.unread = true, t_.skip_item(first);
    }
    if (has_version_ && module_.targets.empty() && !t_.has_failed()) t_.expected("'.target' after '.version'");
    module_.unknown = t_.unknowns();
    return std::move(module_);
  }

 private:
  bool item() {
    if (t_.at(Token::Kind::dwarf)) return add(std::optional(parse_dwarf(t_)));
    if (!t_.at(Token::Kind::dot_word)) return t_.expected("a directive such as '.entry' or '.global'");
    const std::string_view word = t_.word(t_.peek());
    if (word == "version") return version();
    if (word == "target") return target();
    if (word == "address_size") return address_size();
    if (word == "file") return add(parse_file(t_));
    if (word == "section") return add(parse_section(t_));
    if (word == "alias") return add(parse_alias(t_));
    if (word == "pragma") return add(parse_pragma(t_));
    if (parse_linkage(word) && is_function(t_.peek(1))) return function();
    if (is_function(t_.peek())) return function();
    const bool is_declaration =
        parse_linkage(word) || isa::parse_space(word) || word == "align" || word == "attribute";
    if (is_declaration ? declares_newer(t_, false) : t_.is_newer()) {
      if (!is_declaration) t_.unknown("the directive");
      return keep();
    }
    if (is_declaration) return variables();
    return t_.error(t_.peek().place(), "unknown directive " + describe(t_, t_.peek()));
  }

  bool is_function(const Token& token) const {
    return token.is(Token::Kind::dot_word) && (t_.word(token) == "entry" || t_.word(token) == "func");
  }

  template <class T>
  bool add(std::optional<T> item) {
    if (item) module_.items.emplace_back(*std::move(item));
    return item.has_value();
  }

  bool version() {
    const std::uint32_t begin = t_.take().begin;
    const Token number = t_.peek();
    if (!number.is(Token::Kind::number)) return t_.expected("a version such as 8.7");
    t_.take();
    const std::string_view text = t_.text(number);
    isa::PtxVersion v;
    const char* const end = text.data() + text.size();
    const auto major = std::from_chars(text.data(), end, v.major);
    const bool has_dot = major.ec == std::errc{} && major.ptr != end && *major.ptr == '.';
    const auto minor = has_dot ? std::from_chars(major.ptr + 1, end, v.minor) : major;
    if (!has_dot || minor.ec != std::errc{} || minor.ptr != end)
      return t_.error(number.place(), "a version is two numbers such as 8.7; got " + describe(t_, number));
    if (has_version_) return t_.error(t_.since(begin), "a module has one '.version'");
    has_version_ = true;
    module_.version = v;
    module_.version_at = t_.since(begin);
    t_.set_newer(v > isa::newest_version);
    return true;
  }

  bool target() {
    const std::uint32_t begin = t_.take().begin;
    do {
      if (!t_.at(Token::Kind::identifier)) return t_.expected("a target such as sm_100a");
      module_.targets.emplace_back(t_.text(t_.take()));
    } while (t_.accept(','));
    module_.target_at = t_.since(begin);
    return true;
  }

  bool address_size() {
    t_.take();
    const Token number = t_.peek();
    const auto bits = parse_number(t_, "address size", 32, t_.is_newer() ? 1024 : 64);
    if (!bits) return false;
    if (t_.is_newer() && *bits > 64) {
      t_.unknown(number.place(), ".address_size");
      return true;
    }
    if (*bits != 32 && *bits != 64)
      return t_.error(number.place(), "the address size must be 32 or 64; got " + std::to_string(*bits));
    module_.address_size = int(*bits);
    return true;
  }

  bool function() {
    const std::uint32_t begin = t_.peek().begin;
    const auto linkage = parse_linkage(t_.word(t_.peek()));
    if (linkage) t_.take();
    return add(parse_function(t_, mnemonics_, linkage.value_or(ir::Linkage::internal), begin));
  }

  // An item of a newer PTX, as text. It may declare what it names.
  bool keep() {
    const std::size_t first = t_.index();
    const std::uint32_t begin = t_.peek().begin;
    t_.skip_item(first);
    module_.unread |= t_.may_name(first);
    const diag::Place at = t_.since(begin);
    module_.items.emplace_back(ir::Directive{std::string(t_.text(at)), at});
    return true;
  }

  bool variables() {
    std::vector<ir::Variable> declared;
    const bool read = parse_variables(t_, declared);
    for (ir::Variable& v : declared) module_.items.emplace_back(std::move(v));
    return read;
  }

  Tokens t_;
  Mnemonics mnemonics_{};
  ir::Module module_{};
  bool has_version_ = false;
};

}  // namespace

ir::Module parse(diag::SourcePtr source, diag::Sink& sink) { return ModuleParser(std::move(source), sink).run(); }

std::vector<ir::Statement> own_statements(const std::string& text) {
  const auto source = std::make_shared<const diag::Source>(
      "own.ptx", ".version 9.0\n.target sm_90a\n.address_size 64\n.entry own()\n{\n" + text + "\n}\n");
  diag::Sink sink;
  ir::Module module = parse(source, sink);
  if (!sink.all().empty()) {
    const diag::Diagnostic& first = sink.all().front();
    const int line = source->position(first.where.place.begin).line;
    throw diag::InternalError(first.message + " in `" + std::string(source->line(line)) + '`');
  }
  return std::move(std::get<ir::Function>(module.items.at(0)).body->statements);
}

}  // namespace kiln::parse

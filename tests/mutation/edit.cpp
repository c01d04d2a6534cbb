#include "tests/mutation/edit.hpp"

#include <fmt/format.h>

#include <sstream>

namespace kiln::mutation {
namespace {

std::string one_line(const std::string& text) {
  std::istringstream in(text);
  std::string out;
  for (std::string w; in >> w;) out += (out.empty() ? "" : " ") + w;
  return out;
}

// `//#23` after an instruction says which class its removal belongs to.
int annotated(const std::string& text, std::size_t end) {
  const std::size_t line_end = std::min(text.find('\n', end), text.size());
  const std::string rest = text.substr(end, line_end - end);
  const std::size_t mark = rest.find("//#");
  return mark == rest.npos || rest.find(';') < mark ? 0 : std::stoi(rest.substr(mark + 3));
}

bool declares(const ir::Variable& v, std::string_view name) {
  if (!v.count) return v.name == name;
  return name.starts_with(v.name) && name.size() > v.name.size() &&
         name.find_first_not_of("0123456789", v.name.size()) == name.npos;
}

bool has_wide(const std::vector<ir::Statement>& statements, std::string_view name) {
  for (const ir::Statement& s : statements) {
    const auto* v = std::get_if<ir::Variable>(&s.node);
    if (v && v->space == isa::Space::reg && v->element_bytes() == 8 && declares(*v, name)) return true;
    const auto* b = std::get_if<ir::Block>(&s.node);
    if (b && has_wide(b->statements, name)) return true;
  }
  return false;
}

bool is_portability(int number) { return number == 23 || number == 29 || number == 30 || number == 42; }

}  // namespace

void Editor::add(const Site& s, diag::Place place, std::string by, const char* rewrite, Bug bug) {
  Mutant m;
  m.kernel = kernel_;
  m.rewrite = rewrite;
  m.bug_class = bug.number;
  m.profile = bug.profile;
  m.place = place;
  m.replacement = std::move(by);
  m.line = unsigned(module_.source->position(s.instruction->at.begin).line);
  m.original = one_line(sites_.text(s));
  made.push_back(std::move(m));
}

bool Editor::is_wide(std::string_view name) const {
  for (const ir::Item& item : module_.items)
    if (const auto* f = std::get_if<ir::Function>(&item); f && f->body && has_wide(f->body->statements, name))
      return true;
  return false;
}

void Editor::drop(const Site& s, const char* rewrite, Bug bug) {
  if (const int number = annotated(sites_.text(), s.instruction->at.end))
    bug = {number, is_portability(number) ? Profile::portability : Profile::error};
  add(s, s.instruction->at, "", rewrite, bug);
}

void Editor::twice(const Site& s, const char* rewrite, Bug bug) {
  const std::string text = sites_.text(s);
  add(s, s.instruction->at, text + " " + text, rewrite, bug);
}

void Editor::respell(const Site& s, const char* rewrite, std::string_view from, std::string_view to, Bug bug) {
  const diag::Place place = s.instruction->mnemonic;
  std::string text = sites_.text(place);
  const std::size_t at = text.find(from);
  if (at == text.npos) return;
  add(s, place, text.replace(at, from.size(), to), rewrite, bug);
}

void Editor::replace(const Site& s, diag::Place place, const std::string& by, const char* rewrite, Bug bug) {
  add(s, place, by, rewrite, bug);
}

void Editor::change(const Site& s, const ir::Operand& operand, int bits, const char* operation,
                    const std::string& amount, const char* rewrite, Bug bug) {
  const diag::Place whole = s.instruction->at;
  const bool is_address = operand.kind == ir::Operand::Kind::address;
  if (is_address && operand.items.empty()) return;
  const ir::Operand& base = is_address ? operand.items[0] : operand;
  std::string name = base.is_integer() ? std::to_string(base.value) : base.text;
  std::string rest = sites_.text(operand.at);
  // The base of an address is followed by its offset and, for tensors, the coordinates.
  rest = is_address ? "[%mut" + rest.substr(rest.find(name) + name.size()) : "%mut";
  std::string text = sites_.text(s);
  text.replace(operand.at.begin - whole.begin, operand.at.size(), rest);
  const bool wide = bits == 64 || (bits == 0 && is_wide(name));
  const bool is_symbol = !base.is_integer() && name[0] != '%';
  add(s, whole,
      fmt::format("{{ .reg .b{0} %mut; {1}{2}{0} %mut, {3}, {4}; {5} }}", wide ? 64 : 32,
                  is_symbol ? fmt::format("mov.u{} %mut, {}; ", wide ? 64 : 32, name) : "", operation,
                  is_symbol ? "%mut" : name, amount, text),
      rewrite, bug);
}

bool Editor::move(const Site& s, const Site& to, bool after, const char* rewrite, Bug bug) {
  if (s.block != to.block) return false;
  const diag::Place a = s.instruction->at, b = to.instruction->at;
  const std::string& text = sites_.text();
  if (after)
    add(s, {a.begin, b.end}, text.substr(a.end, b.end - a.end) + " " + sites_.text(s), rewrite, bug);
  else
    add(s, {b.begin, a.end}, sites_.text(s) + " " + text.substr(b.begin, a.begin - b.begin), rewrite, bug);
  return true;
}

void Editor::one_lane(const Site& s, const char* rewrite, Bug bug) {
  if (s.instruction->guard) return;
  add(s, s.instruction->at,
      fmt::format(
          "{{ .reg .pred %mut; .reg .b32 %lane; mov.u32 %lane, %laneid; setp.eq.u32 %mut, %lane, 0; @%mut {} }}",
          sites_.text(s)),
      rewrite, bug);
}

}  // namespace kiln::mutation

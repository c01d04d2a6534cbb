#include "lower/text.hpp"

#include "ptx/parse/fragment.hpp"

namespace kiln::lower {

std::vector<ir::Statement> statements(const Text& text) { return parse::own_statements(text.str()); }

std::vector<ir::Item> items(const Text& text) { return parse::own_items(text.str()); }

ir::Statement block(const Text& text) { return {ir::Block{statements(text), {}}}; }

void replace(std::vector<ir::Statement>& to, const ir::Instruction& i, const Text& piece) {
  if (piece.str().empty()) return;
  if (!i.guard) return to.push_back(block(piece));
  Text guarded;
  guarded.line("@{}{} bra lw_skip;", i.guard->negated ? "" : "!", i.guard->predicate);
  guarded.line("{{");
  guarded.append(piece);
  guarded.line("}}");
  guarded.line("lw_skip:");
  to.push_back(block(guarded));
}

std::string text(const ir::Operand& o) { return o.is_integer() ? fmt::format("{}", o.value) : o.text; }

void move_to(Text& out, const std::string& to, const ir::Operand& operand) {
  const ir::Operand& o = operand.kind == ir::Operand::Kind::address ? operand.items.at(0) : operand;
  out.line("mov.b32 {}, {};", to, text(o));
  if (o.is_name() && o.value != 0) out.line("add.s32 {0}, {0}, {1};", to, o.value);
}

}  // namespace kiln::lower

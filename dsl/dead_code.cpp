#include "dsl/dead_code.hpp"

#include <string>
#include <unordered_map>

namespace kiln::dsl {
namespace {

using Uses = std::unordered_map<std::string, int>;

void count(const ir::Operand& o, Uses& uses, int by) {
  if (o.is_name()) uses[o.text] += by;
  for (const ir::Operand& item : o.items) count(item, uses, by);
}

bool is_pure(const ir::Instruction& i) {
  const bool parameter = i.opcode == Opcode::ld && !i.modifiers.empty() && i.modifiers[0] == "param";
  return (isa::unit(i.opcode) == isa::Unit::alu || parameter) && !i.operands.empty() && i.operands[0].is_name();
}

void count_reads(const ir::Instruction& i, Uses& uses, int by) {
  if (i.guard) uses[i.guard->predicate] += by;
  for (std::size_t o = is_pure(i) ? 1 : 0; o < i.operands.size(); ++o) count(i.operands[o], uses, by);
}

void count_reads(const Statements& code, Uses& uses) {
  for (const ir::Statement& s : code) {
    if (const auto* i = std::get_if<ir::Instruction>(&s.node)) count_reads(*i, uses, 1);
    else if (const auto* block = std::get_if<ir::Block>(&s.node)) count_reads(block->statements, uses);
  }
}

// An empty directive marks a statement that is to go.
void erase_marked(Statements& code) {
  std::erase_if(code, [](const ir::Statement& s) {
    const auto* d = std::get_if<ir::Directive>(&s.node);
    return d && d->text.empty();
  });
}

}  // namespace

void drop_unused_results(Statements& code) {
  Uses uses;
  count_reads(code, uses);
  // Backwards, so that what only dead values used dies too.
  for (auto s = code.rbegin(); s != code.rend(); ++s) {
    auto* i = std::get_if<ir::Instruction>(&s->node);
    if (!i || !is_pure(*i) || uses[i->operands[0].text] != 0) continue;
    count_reads(*i, uses, -1);
    s->node = ir::Directive{};
  }
  erase_marked(code);
  // Of several .loc in a row only the last has an effect.
  for (std::size_t i = 0; i + 1 < code.size(); ++i)
    if (std::holds_alternative<ir::Loc>(code[i].node) && std::holds_alternative<ir::Loc>(code[i + 1].node))
      code[i].node = ir::Directive{};
  erase_marked(code);
}

}  // namespace kiln::dsl

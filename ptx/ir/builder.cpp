#include "ptx/ir/builder.hpp"

#include <algorithm>
#include <bit>

#include "ptx/diag/error.hpp"

namespace kiln::ir {
namespace {

using isa::ScalarType;

struct RegisterClass {
  ScalarType type;
  const char* stem;
};
constexpr RegisterClass classes[] = {
    {ScalarType::pred, "p"}, {ScalarType::b16, "h"}, {ScalarType::b32, "r"}, {ScalarType::b64, "rd"}};

std::size_t class_of(ScalarType type) {
  const auto* found =
      std::find_if(std::begin(classes), std::end(classes), [&](const auto& c) { return c.type == type; });
  if (found == std::end(classes))
    throw diag::InternalError("no register class for ." + std::string(isa::spelling(type)));
  return std::size_t(found - classes);
}

}  // namespace

std::string dotted(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (const std::string_view part : parts)
    if (!part.empty()) (out += out.empty() ? "" : ".") += part;
  return out;
}

Instruction instruction(std::string_view name, std::vector<Operand> operands) {
  Instruction i;
  const isa::OpcodeMatch match = isa::match_opcode(name);
  if (match.opcode == isa::Opcode::unknown) throw diag::InternalError("no opcode is named " + std::string(name));
  i.opcode = match.opcode;
  for (std::size_t at = match.length; at < name.size();) {
    const std::size_t end = std::min(name.find('.', at + 1), name.size());
    i.modifiers.emplace_back(name.substr(at + 1, end - at - 1));
    at = end;
  }
  i.operands = std::move(operands);
  return i;
}

Register Builder::reg(ScalarType type) { return {type, counts_[class_of(type)]++, open_.back()}; }

Registers Builder::regs(ScalarType type, int count) {
  Registers out;
  for (int i = 0; i < count; ++i) out.push_back(reg(type));
  return out;
}

std::string Builder::name(Register r) const {
  return '%' + prefix_ + classes[class_of(r.type)].stem + std::to_string(r.number);
}

std::string Builder::checked_name(Register r) const {
  if (std::find(open_.begin(), open_.end(), r.scope) == open_.end())
    throw diag::InternalError(name(r) + " is used outside of the scope that made it");
  return name(r);
}

Operand Builder::operand(const Term& t) const {
  if (t.is_address) {
    Term base = t;
    base.is_address = false;
    base.value = 0;
    return Operand::address(operand(base), t.value);
  }
  std::vector<Operand> items;
  switch (t.kind) {
    case Term::Kind::reg: return Operand::named(checked_name(t.reg));
    case Term::Kind::integer:
      if (t.is_hexadecimal) return Operand::bits(std::uint64_t(t.value));
      return t.is_unsigned ? Operand::unsigned_number(std::uint64_t(t.value)) : Operand::number(t.value);
    case Term::Kind::name: {
      Operand out = Operand::named(t.name == "_" ? std::string() : std::string(t.name));
      if (t.name == "_") out.kind = Operand::Kind::sink;
      return out;
    }
    case Term::Kind::operand: return *t.operand;
    case Term::Kind::vector:
      for (const Term& item : t.items) items.push_back(operand(item));
      break;
    case Term::Kind::registers:
      for (const Register r : t.registers) items.push_back(Operand::named(checked_name(r)));
      break;
  }
  return Operand::vector(std::move(items));
}

void Builder::write(const Condition* guard, std::string_view name, std::span<const Term> terms) {
  std::vector<Operand> operands;
  for (const Term& t : terms) operands.push_back(operand(t));
  Instruction i = instruction(name, std::move(operands));
  if (guard) i.guard = Guard{checked_name(guard->predicate), guard->negated, {}};
  add({std::move(i)});
}

void Builder::quotient(const Register& to, const Register& a, std::uint32_t by) {
  if (std::has_single_bit(by))
    op("shr.u32", to, a, std::countr_zero(by));
  else
    op("div.u32", to, a, by);
}

void Builder::rest(const Register& to, const Register& a, std::uint32_t by) {
  if (std::has_single_bit(by))
    op("and.b32", to, a, by - 1);
  else
    op("rem.u32", to, a, by);
}

void Builder::shared(ScalarType type, int align, std::string_view name, std::uint64_t count) {
  Variable v{.space = isa::Space::shared, .align = align, .type = type, .name = std::string(name)};
  if (count) v.dims.push_back(count);
  add({std::move(v)});
}

void Builder::place(JumpTarget t) { add({Label{name(t), {}}}); }
void Builder::jump(JumpTarget t) { op("bra", name(t)); }
void Builder::jump_if(const Condition& c, JumpTarget t) { op_if(c, "bra", name(t)); }

std::size_t Builder::skip_unless(const Guard& g, JumpTarget over) {
  Instruction jump = instruction("bra", {Operand::named(name(over))});
  jump.guard = g;
  jump.guard->negated = !g.negated;
  add({std::move(jump)});
  return lists_.back().size();
}

void Builder::end_skip(std::size_t before, JumpTarget over) {
  if (lists_.back().size() == before)
    lists_.back().pop_back();
  else
    place(over);
}

void Builder::open_scope() { open_.push_back(scopes_++); }

void Builder::close_block(At where) {
  Block inner{std::move(lists_.back()), where};
  lists_.pop_back();
  add({std::move(inner)});
}

std::vector<Statement> Builder::take() {
  std::vector<Statement> out;
  for (std::size_t c = 0; c < std::size(classes); ++c) {
    if (counts_[c] == 0) continue;
    out.push_back({Variable{.type = classes[c].type, .name = '%' + prefix_ + classes[c].stem, .count = counts_[c]}});
  }
  for (Statement& s : lists_.back()) out.push_back(std::move(s));
  lists_.back().clear();
  return out;
}

}  // namespace kiln::ir

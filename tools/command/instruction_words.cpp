#include "tools/command/instruction_words.hpp"

#include <algorithm>
#include <initializer_list>

#include "ptx/diag/error.hpp"
#include "ptx/ir/code.hpp"

namespace kiln::command {
namespace {

using isa::ScalarType;

/// A role as instruction_words.def writes it.
struct Written {
  std::string_view slot, words;
};

struct SlotName {
  std::string_view name;
  Shape shape;
  ScalarType type;
  Word word = Word::none;
};

constexpr SlotName slot_names[] = {
    {"taddr", Shape::address, ScalarType::b32, Word::tensor_address},
    {"tcol", Shape::scalar, ScalarType::b32, Word::tensor_address},
    {"idesc", Shape::scalar, ScalarType::b32, Word::instruction_descriptor},
    {"sdesc", Shape::scalar, ScalarType::b64, Word::shared_descriptor},
    {"zmask", Shape::scalar, ScalarType::b64, Word::zero_mask},
    {"b16", Shape::scalar, ScalarType::b16},
    {"b32", Shape::scalar, ScalarType::b32},
    {"b64", Shape::scalar, ScalarType::b64},
    {"f32", Shape::scalar, ScalarType::f32},
    {"pred", Shape::scalar, ScalarType::pred},
    {"num", Shape::number, ScalarType::b32},
    {"last", Shape::last_number, ScalarType::b32},
    {"second", Shape::second_predicate, ScalarType::pred},
    {"regs", Shape::vector, ScalarType::b32},
    {"halves", Shape::vector, ScalarType::b16},
    {"pair", Shape::pair, ScalarType::b32},
    {"smem", Shape::address, ScalarType::b32},
    {"gmem", Shape::address, ScalarType::b64},
    {"map", Shape::tensor_address, ScalarType::b64},
    {"state", Shape::scalar, ScalarType::b64},
};

std::string_view take_alternative(std::string_view& text) {
  const std::size_t bar = text.find('|');
  const std::string_view first = text.substr(0, bar);
  text = bar == text.npos ? std::string_view() : text.substr(bar + 1);
  return first;
}

Slot make_slot(std::string_view name, std::string_view words) {
  for (const SlotName& s : slot_names)
    if (s.name == name) return {s.shape, s.type, s.word, words};
  throw diag::InternalError("instruction_words.def: no slot is called " + std::string(name));
}

Role make_role(const Written& w) {
  Role role;
  std::string_view slot = w.slot, words = w.words;
  if (const std::size_t mark = slot.find('?'); mark != slot.npos) {
    role.modifier = slot.substr(mark + 1);
    role.optional = role.modifier.empty();
    slot = slot.substr(0, mark);
  }
  // Words hold a bar only where the slot has alternatives.
  while (!slot.empty()) {
    const std::string_view name = take_alternative(slot);
    role.slots.push_back(make_slot(name, slot.empty() ? words : take_alternative(words)));
  }
  return role;
}

std::vector<Role> make_roles(std::initializer_list<Written> written) {
  std::vector<Role> roles;
  for (const Written& w : written) roles.push_back(make_role(w));
  return roles;
}

const std::vector<InstructionWords>& table() {
  static const std::vector<InstructionWords> rows{
#define INSTRUCTION(opcode, when, does, ...) {isa::Opcode::opcode, when, does, make_roles({__VA_ARGS__})},
#include "tools/command/instruction_words.def"
#undef INSTRUCTION
  };
  return rows;
}

bool has_modifier(const ir::Instruction& i, std::string_view modifier) {
  return std::find(i.modifiers.begin(), i.modifiers.end(), modifier) != i.modifiers.end();
}

bool is_number(const ir::Operand& o) {
  return o.is_integer() || (o.is_name() && ir::special_register(o.text) == ir::Special::warp_size);
}

bool accepts(Shape shape, const ir::Operand& operand, bool is_last) {
  using Kind = ir::Operand::Kind;
  const bool tensor = operand.kind == Kind::address && operand.items.size() > 1;
  switch (shape) {
    case Shape::address: return operand.kind == Kind::address && !tensor;
    case Shape::tensor_address: return tensor;
    case Shape::vector: return operand.kind == Kind::vector;
    case Shape::pair: return operand.kind == Kind::pair;
    case Shape::number: return is_number(operand);
    case Shape::last_number: return is_number(operand) && is_last;
    case Shape::second_predicate: return is_number(operand) ? !is_last : operand.is_name();
    case Shape::scalar:
      return operand.is_name() || is_number(operand) || operand.kind == Kind::sink || operand.kind == Kind::real;
  }
  return false;
}

bool may_be_absent(const ir::Instruction& i, const Role& role) {
  return role.optional || (!role.modifier.empty() && !has_modifier(i, role.modifier));
}

const Slot* slot_for(const ir::Instruction& i, const Role& role, const ir::Operand& operand) {
  if (!role.modifier.empty() && !has_modifier(i, role.modifier)) return nullptr;
  for (const Slot& s : role.slots)
    if (accepts(s.shape, operand, &operand == &i.operands.back())) return &s;
  return nullptr;
}

// Operands against roles, left to right; `next` is the first role that no operand has taken.
std::vector<const Slot*> match(const ir::Instruction& i, const InstructionWords& words, std::size_t& next) {
  std::vector<const Slot*> out;
  next = 0;
  for (const ir::Operand& operand : i.operands) {
    const Slot* found = nullptr;
    for (std::size_t r = next; r < words.roles.size() && !found; ++r) {
      found = slot_for(i, words.roles[r], operand);
      if (found)
        next = r + 1;
      else if (!may_be_absent(i, words.roles[r]))
        break;
    }
    out.push_back(found);
  }
  return out;
}

}  // namespace

std::span<const InstructionWords> all_words() { return table(); }

const InstructionWords* find_words(const ir::Instruction& i) {
  for (const InstructionWords& w : table())
    if (w.opcode == i.opcode && (w.when.empty() || has_modifier(i, w.when))) return &w;
  return nullptr;
}

std::vector<const Slot*> slots_of(const ir::Instruction& i, const InstructionWords& words) {
  std::size_t next = 0;
  return match(i, words, next);
}

bool is_complete(const ir::Instruction& i, const InstructionWords& words) {
  std::size_t next = 0;
  match(i, words, next);
  return std::all_of(words.roles.begin() + std::ptrdiff_t(next), words.roles.end(),
                     [&](const Role& r) { return may_be_absent(i, r); });
}

}  // namespace kiln::command

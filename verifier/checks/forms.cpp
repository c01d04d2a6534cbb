#include "verifier/checks/forms.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <unordered_set>

#include "ptx/isa/spaces.hpp"
#include "ptx/isa/types.hpp"
#include "ptx/ops/meaning.hpp"
#include "ptx/ops/operations.hpp"
#include "ptx/rules/forms.hpp"
#include "verifier/finding.hpp"

namespace kiln::verifier {
namespace {

using isa::Opcode;

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

std::string written(const ir::Code& code, const ir::Argument& a) {
  const diag::Place at = a.operand ? diag::Place(a.operand->at) : diag::Place{};
  if (code.module->source && !at.empty()) return quoted(code.module->source->text(at));
  return a.operand && !a.operand->text.empty() ? quoted(a.operand->text) : "another operand";
}

// Modifiers whose order means something, each class for itself.
enum class Order : std::uint8_t { free, types, spaces, layouts, formats, operations };

Order order(std::string_view m) {
  if (m == "row" || m == "col") return Order::layouts;
  if (m == "xor" || m == "and" || m == "popc") return Order::operations;
  if (m == "b8x16" || m == "b6x16_p32" || m == "b4x16_p64") return Order::formats;
  if (isa::parse_type(m)) return Order::types;
  return isa::parse_space(m) ? Order::spaces : Order::free;
}

std::string missing(const Form::Slot& slot) {
  const auto alternatives = slot.alternatives();
  if (alternatives.size() == 1) return "no ." + std::string(alternatives[0]);
  std::string out = "none of";
  for (const std::string_view a : alternatives) out += " ." + std::string(a);
  return out;
}

// What modifiers leave to be desired by one form, and how many of them it takes.
struct ModifierFit {
  std::string complaint{};
  std::size_t taken = 0;
};

// Words that ptxas lets stand twice; of arithmetic some more.
bool is_repeatable(isa::Opcode op, std::string_view m) {
  if (m == "sync" || m == "NaN") return true;
  const isa::Unit unit = isa::unit(op);
  if (unit != isa::Unit::alu && unit != isa::Unit::video) return false;
  constexpr std::string_view words[] = {"sat", "satfinite", "relu", "cc", "approx", "full", "shiftamt"};
  return std::find(std::begin(words), std::end(words), m) != std::end(words);
}

// A modifier of an instruction, and its class.
struct Ordered {
  std::string_view text{};
  Order order = Order::free;
};

std::vector<Ordered> ordered(std::span<const std::string> modifiers) {
  std::vector<Ordered> out;
  out.reserve(modifiers.size());
  for (const std::string& m : modifiers) out.push_back({m, order(m)});
  return out;
}

// Each modifier fills a slot, each slot at most once. Up to the first that fills none, or to the last.
enum class Extent : std::uint8_t { first_misfit, whole };
ModifierFit fit_modifiers(const Form& form, isa::Opcode op, std::span<const Ordered> modifiers, Extent extent) {
  ModifierFit out;
  std::uint64_t filled = 0;
  std::array<std::size_t, 6> next{};  // by Order: slots before are past
  for (const Ordered& m : modifiers) {
    bool repeated = false, taken = false;
    std::size_t& from = next[std::size_t(m.order)];
    for (std::size_t i = from; i < form.slots.size() && !taken; ++i) {
      if ((form.slots[i].first && &m != modifiers.data()) || !form.slots[i].has(m.text)) continue;
      const std::uint64_t slot = std::uint64_t{1} << i;
      taken = !(filled & slot);
      repeated |= !taken && is_repeatable(op, m.text);
      filled |= slot;
      if (taken && m.order != Order::free) from = i + 1;
    }
    out.taken += taken || repeated;
    if (taken || repeated) continue;
    if (out.complaint.empty()) out.complaint = "." + std::string(m.text);
    if (extent == Extent::first_misfit) return out;
  }
  for (std::size_t i = 0; i < form.slots.size(); ++i)
    if (!(filled >> i & 1) && !form.slots[i].optional && out.complaint.empty()) out.complaint = missing(form.slots[i]);
  return out;
}

// One instruction against the forms of its opcode.
class FormCheck {
 public:
  FormCheck(const ir::Code& code, const ir::Operation& op, std::span<const Form> forms, rules::Profile profile,
            diag::Sink& sink)
      : code_(code), op_(op), forms_(forms), profile_(profile), sink_(sink) {}

  // The part of a form that no form of the opcode has: in a text of a newer PTX it may be right. Empty for an operand that
  // is not what a known form wants there, and where all is well.
  const std::string& new_combination() const { return combination_; }

  // Whether the instruction has one of its forms.
  bool run() {
    const std::vector<Ordered> modifiers = ordered(op_.instruction->modifiers);
    for (const Form& form : forms_) {
      if (!fit_modifiers(form, op_.opcode, modifiers, Extent::first_misfit).complaint.empty()) continue;
      modifiers_fit_ = true;
      if (!check_tcgen05_modifiers(code_, op_, profile_, sink_)) return false;
      if (const OperandList* list = find_operands(form))
        return check_tcgen05_values(code_, op_, list->letters, sink_) && check_compression(code_, op_, sink_) &&
               check_video(code_, op_, sink_);
    }
    return modifiers_fit_ ? refuse_operands() : refuse_modifier(nearest_complaint(modifiers));
  }

 private:
  // What the form complains of that takes the most modifiers, the first of several.
  std::string nearest_complaint(std::span<const Ordered> modifiers) const {
    ModifierFit best;
    for (const Form& form : forms_) {
      ModifierFit fit = fit_modifiers(form, op_.opcode, modifiers, Extent::whole);
      if (best.complaint.empty() || fit.taken > best.taken) best = std::move(fit);
    }
    return best.complaint;
  }

  bool refuse_modifier(std::string got) {
    if (is_newer()) return combination_ = got + " on", false;
    refuse(rules::form_modifier(false), {code_, op_}, std::move(got));
    return false;
  }

  // The catalogue names the section of tcgen05.
  void refuse(const rules::Verdict& v, const Subject& at, std::string got) {
    if (!v.broken()) return;
    diag::Diagnostic& d = broken(sink_, v, at, std::move(got));
    if (isa::unit(op_.opcode) != isa::Unit::tcgen05) d.reference = "Instruction Set";
  }

  std::size_t matching(const OperandList& list) const {
    std::size_t n = 0;
    while (n < list.slots.size() && n < op_.arguments.size() &&
           fits(code_, op_, sized(list.slots[n], op_), op_.arguments[n]))
      ++n;
    return n;
  }

  // The operand list that fits; remembers the one that comes closest.
  const OperandList* find_operands(const Form& form) {
    for (const OperandList& list : form.operands) {
      if (!tcgen05_takes(op_, list.letters)) continue;
      const std::size_t n = matching(list);
      if (n == list.slots.size() && n == op_.arguments.size()) return &list;
      if (best_ && n < best_length_) continue;
      // Of lists that fit equally far, the one of the right length says best what is wrong.
      if (best_ && n == best_length_ && best_->slots.size() == op_.arguments.size()) continue;
      best_ = &list;
      best_length_ = n;
    }
    return nullptr;
  }

  bool refuse_operands() {
    if (!best_ || best_->slots.size() != op_.arguments.size()) {
      const std::size_t n = op_.arguments.size();
      if (is_newer()) return combination_ = std::to_string(n) + (n == 1 ? " operand of" : " operands of"), false;
      refuse(rules::form_operands(false), {code_, op_}, std::to_string(n) + (n == 1 ? " operand" : " operands"));
      return false;
    }
    const ir::Argument& a = op_.arg(best_length_);
    refuse(rules::form_operands(false), {code_, op_, a.operand},
           written(code_, a) + " where " + describe(sized(best_->slots[best_length_], op_)) + " belongs");
    return false;
  }

  bool is_newer() const { return code_.module->version > isa::newest_version; }

  const ir::Code& code_;
  const ir::Operation& op_;
  const std::span<const Form> forms_;
  const rules::Profile profile_;
  diag::Sink& sink_;
  bool modifiers_fit_ = false;
  const OperandList* best_ = nullptr;
  std::size_t best_length_ = 0;
  std::string combination_{};
};

// What the answer of the forms follows from, as a number: a kernel has many instructions, and few of them differ.
class Signature {
 public:
  Signature(const ir::Code& code, const ir::Operation& op)
      : code_(code), names_parts_(isa::unit(op.opcode) == isa::Unit::video) {
    add(std::size_t(op.opcode));
    for (const std::string& m : op.instruction->modifiers) add(std::hash<std::string_view>{}(m));
    add_all(op.arguments);
  }

  std::uint64_t value() const { return value_; }

 private:
  void add(std::uint64_t part) { value_ = (value_ ^ part) * 0x9E3779B97F4A7C15u + (value_ >> 29); }

  void add_all(std::span<const ir::Argument> arguments) {
    add(arguments.size());
    for (const ir::Argument& a : arguments) {
      const bool is_register = a.kind == ir::Argument::Kind::reg;
      add(std::size_t(a.kind) * 4 + std::size_t(a.negated) * 2 + a.is_single);
      // Of an aggregate, where its parts stand says nothing.
      if (!a.count) add(is_register ? std::size_t(code_.registers[a.id].type) : a.id);
      if (!is_register) add(std::uint64_t(a.value));
      // "%pm0_64" is wider than "%pm0", and video instructions name parts of registers.
      if (a.operand && (a.kind == ir::Argument::Kind::special || (is_register && names_parts_)))
        add(std::hash<std::string_view>{}(a.operand->text));
      if (a.count) add_all(code_.components(a));
    }
  }

  const ir::Code& code_;
  const bool names_parts_;
  std::uint64_t value_ = 0;
};

// A modifier that neither a table nor a form of the instruction has; empty when all are known.
std::string unknown_modifier(const ir::Operation& op, std::span<const Form> forms) {
  for (const std::string& m : op.modifiers.others) {
    const auto has_it = [&](const Form& form) {
      return std::any_of(form.slots.begin(), form.slots.end(), [&](const Form::Slot& s) { return s.has(m); });
    };
    if (std::none_of(forms.begin(), forms.end(), has_it)) return m;
  }
  return {};
}

std::string modifier_of(const std::string& modifier, const ir::Operation& op) {
  return "the modifier '." + modifier + "' of '" + std::string(spelling(op.opcode)) + "'";
}

// A special register that Kiln does not know, among the operands of a newer text. With a number, a name is of a register
// whose declaration could not be read.
const ir::Operand* unknown_register(const ir::Code& code, const ir::Argument& a) {
  const bool is_name = a.kind == ir::Argument::Kind::raw && a.operand && a.operand->is_name();
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (is_name && a.operand->text.starts_with('%') && !is_digit(a.operand->text.back())) return a.operand;
  for (const ir::Argument& part : code.components(a))
    if (const ir::Operand* found = unknown_register(code, part)) return found;
  return nullptr;
}

std::string unknown_word(const ir::Code& code, const ir::Operation& op, std::span<const Form> forms) {
  if (const std::string modifier = unknown_modifier(op, forms); !modifier.empty()) return modifier_of(modifier, op);
  for (const ir::Argument& a : op.arguments)
    if (const ir::Operand* found = unknown_register(code, a)) return "the register " + quoted(found->text);
  return {};
}

void check_guard(const ir::Code& code, const ir::Operation& op, diag::Sink& sink) {
  if (!op.guard || code.registers[*op.guard].type == isa::ScalarType::pred) return;
  judge(sink, rules::form_operands(false), {code, op},
        "the guard " + quoted(code.registers[*op.guard].name) + " where a predicate belongs");
}

}  // namespace

std::vector<bool> check_forms(const ir::Code& code, diag::Sink& sink, rules::Profile profile) {
  std::vector<bool> malformed(code.operations.size());
  std::unordered_set<std::string> reported;
  std::unordered_set<std::uint64_t> sound;
  const bool is_newer = code.module->version > isa::newest_version;
  const auto once = [&](const ir::Operation& op, const std::string& what, rules::Limit limit) {
    if (reported.insert(what).second) incomplete(sink, code.where(op), what, limit);
  };
  const auto unknown = is_newer ? rules::Limit::newer : rules::Limit::unmodelled;
  for (std::size_t i = 0; i < code.operations.size(); ++i) {
    const ir::Operation& op = code.operations[i];
    if (op.opcode == Opcode::unknown) {
      once(op, "the instruction '" + op.instruction->unknown_name + "'", unknown);
      continue;
    }
    check_guard(code, op, sink);
    if (const std::uint64_t signature = Signature(code, op).value(); !sound.contains(signature)) {
      const auto forms = find_forms(op.opcode);
      const std::string newer = is_newer ? unknown_word(code, op, forms) : std::string();
      FormCheck check(code, op, forms, profile, sink);
      malformed[i] = !newer.empty() || !check.run();
      if (!newer.empty())
        once(op, newer, unknown);
      else if (!check.new_combination().empty())
        once(op, check.new_combination() + " '" + std::string(spelling(op.opcode)) + "'", unknown);
      if (malformed[i]) continue;
      sound.insert(signature);
    }
    if (const std::string part = ops::without_model(op); !part.empty()) {
      // The other checks would judge its descriptors as what they are not. What else lacks a model still signals,
      // copies.
      malformed[i] = ops::family(op.opcode) == ops::Family::mma;
      once(op, part + " of '" + std::string(spelling(op.opcode)) + "'", rules::Limit::no_model);
    }
  }
  return malformed;
}

}  // namespace kiln::verifier

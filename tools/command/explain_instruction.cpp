// kiln explain "PTX": one instruction in plain words.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "ptx/diag/error.hpp"
#include "ptx/isa/modifiers.hpp"
#include "ptx/rules/catalogue.hpp"
#include "tools/command/decoded.hpp"
#include "tools/command/explain.hpp"
#include "tools/command/form_words.hpp"
#include "tools/command/instruction_words.hpp"
#include "tools/command/json.hpp"
#include "tools/command/lone_instruction.hpp"
#include "tools/command/modifier_words.hpp"
#include "verifier/checks/forms.hpp"

namespace kiln::command {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array targets{isa::sm_100a, isa::sm_100f, isa::sm_103a, isa::sm_103f, isa::sm_107a,
                             isa::sm_107f, isa::sm_110a, isa::sm_110f, isa::sm_90a,  isa::sm_120a};

/// One operand: as written, what it is, and what an immediate says.
struct OperandWords {
  std::string text, role;
  std::optional<Decoded> decoded{};
};

/// All facts about an instruction, before they become text or JSON.
struct Explanation {
  std::string text, opcode, does;
  std::vector<OperandWords> operands{};
  std::vector<std::pair<std::string, std::string>> modifiers{};
  std::optional<isa::MmaForm> form{};
  std::vector<TargetAnswer> answers{};
  bool judges_targets = false;
};

// What each modifier answers, as (question, answer).
std::vector<std::pair<std::string, std::string>> answers(isa::Opcode opcode, const isa::Modifiers& m) {
  std::vector<std::pair<std::string, std::string>> out;
#define FIELD(Type, member) \
  if (m.member != isa::Type::none) out.emplace_back(#member, spelling(m.member));
#define FLAG(member, text) \
  if (m.member) out.emplace_back("flag", text);
#include "ptx/isa/modifiers.def"
  for (int i = 0; i < m.spaces.count; ++i) out.emplace_back("space", isa::spelling(m.spaces[i]));
  for (int i = 0; i < m.types.count; ++i)
    out.emplace_back("type", fmt::format("{} ({} bits)", isa::spelling(m.types[i]), isa::bits(m.types[i])));
  for (const std::string& other : m.others) {
    const ModifierWords words = modifier_words(opcode, other).value_or(ModifierWords{"not known", other});
    out.emplace_back(words.question, words.answer);
  }
  for (const std::string& again : m.repeated) out.emplace_back("answered twice", again);
  return out;
}

// The number in an operand, or in the brackets of an address.
const ir::Operand* immediate_of(const ir::Operand& o) {
  if (o.kind == ir::Operand::Kind::address && o.items.size() == 1) return immediate_of(o.items[0]);
  return o.is_integer() ? &o : nullptr;
}

bool is_wgmma(isa::Opcode opcode) {
  return opcode == isa::Opcode::wgmma_mma_async || opcode == isa::Opcode::wgmma_mma_async_sp;
}

// The fields alone: what is wrong with them, the verifier says.
std::optional<Decoded> decode_immediate(const ir::Operand& o, Word word, isa::Opcode opcode, const isa::Modifiers& m) {
  const ir::Operand* number = immediate_of(o);
  if (!number || word == Word::none) return std::nullopt;
  const auto value = std::uint64_t(number->value);
  Decoded d;
  switch (word) {
    case Word::tensor_address: d = decode_tensor_address(std::uint32_t(value)); break;
    case Word::instruction_descriptor:
      if (m.kind == isa::MmaKind::none) return std::nullopt;
      d = decode_instruction_descriptor(std::uint32_t(value), {{.kind = m.kind, .group = m.cta_group}, {}});
      break;
    case Word::shared_descriptor: d = is_wgmma(opcode) ? decode_wgmma_descriptor(value) : decode_shared_descriptor(value); break;
    case Word::zero_mask: d = decode_zero_mask(value); break;
    case Word::none: break;
  }
  d.findings.clear();
  return d;
}

std::vector<OperandWords> operands_of(const LoneInstruction& lone, const InstructionWords* words) {
  const ir::Instruction& i = lone.instruction();
  const isa::Modifiers m = isa::decode_modifiers(i.modifiers);
  std::vector<OperandWords> out;
  if (!words) {
    for (const ir::Operand& o : i.operands) out.push_back({lone.written(o), {}, {}});
    return out;
  }
  const auto slots = slots_of(i, *words);
  for (std::size_t k = 0; k < slots.size(); ++k) {
    const std::string text = lone.written(i.operands[k]);
    if (!slots[k])
      out.push_back({text, "an operand that the PTX ISA does not have here", {}});
    else
      out.push_back({text, std::string(slots[k]->words), decode_immediate(i.operands[k], slots[k]->word, i.opcode, m)});
  }
  return out;
}

// An instruction that is only named gets the operands of its form.
std::vector<OperandWords> operands_of(const InstructionWords& words) {
  std::vector<OperandWords> out;
  for (const Role& r : words.roles)
    for (const Slot& s : r.slots)
      out.push_back({&s != &r.slots[0] ? "or" : r.optional ? "[...]" : "...", std::string(s.words), {}});
  return out;
}

Explanation make_explanation(const LoneInstruction& lone) {
  const ir::Instruction& i = lone.instruction();
  if (i.opcode == isa::Opcode::unknown)
    throw diag::InputError(fmt::format("'{}' is neither a rule nor an instruction that Kiln knows", ir::mnemonic(i)));
  const InstructionWords* words = find_words(i);
  Explanation e{lone.text(), std::string(isa::spelling(i.opcode)), words ? std::string(words->does) : std::string()};
  e.modifiers = answers(i.opcode, isa::decode_modifiers(i.modifiers));
  const bool is_named_only = words && i.operands.empty() && !is_complete(i, *words);
  e.operands = is_named_only ? operands_of(*words) : operands_of(lone, words);
  if (is_named_only) return e;
  e.form = lone.mma_form();
  e.judges_targets = !verifier::find_forms(i.opcode).empty();
  for (isa::Target t : targets) e.answers.push_back(lone.ask(t));
  return e;
}

// Lines of at most 100 columns.
std::string wrapped(std::string_view text) {
  std::string out;
  std::size_t column = 0;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    const bool fits = column + 1 + word.size() <= 100;
    if (column) out += fits ? ' ' : '\n';
    out += word;
    column = column && fits ? column + 1 + word.size() : word.size();
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  return out;
}

// The steps of the ladder that refuse, each with the targets where it does.
std::vector<std::pair<rules::LadderAnswer, std::vector<std::string>>> refusals(const isa::MmaForm& form) {
  std::vector<std::pair<rules::LadderAnswer, std::vector<std::string>>> out;
  for (isa::Target t : targets) {
    if (!isa::has_tcgen05(t)) continue;
    const rules::LadderAnswer a = rules::climb({.form = form, .target = t});
    if (!a.step) continue;
    const auto same = std::find_if(out.begin(), out.end(), [&](const auto& r) { return r.first.step == a.step; });
    if (same == out.end())
      out.push_back({a, {isa::spelling(t)}});
    else
      same->second.push_back(isa::spelling(t));
  }
  return out;
}

std::string answer_text(const TargetAnswer& a) {
  if (a.lowest) return fmt::format("legal from .version {}.{}", a.lowest->major, a.lowest->minor);
  std::string out;
  for (const diag::Diagnostic& d : a.findings) out += (out.empty() ? "" : "\n           ") + line(d);
  return out;
}

std::string targets_text(const Explanation& e) {
  std::string out;
  if (e.judges_targets) {
    for (const TargetAnswer& a : e.answers) out += fmt::format("  {:<8} {}\n", isa::spelling(a.target), answer_text(a));
    return out;
  }
  const TargetAnswer& any = e.answers.front();
  return fmt::format("  not judged: the verifier has no form of this instruction\n{}",
                     any.lowest ? "" : fmt::format("  on any   {}\n", answer_text(any)));
}

std::string mma_text(const isa::MmaForm& form) {
  const isa::VariantInfo v = isa::info(isa::classify(form));
  std::string out = fmt::format("\nvariant\n  {}\n  {}\n\nladder of {} steps\n", variant_text(v),
                                operands_text(v.contract), rules::mma_ladder.size());
  const auto refused = refusals(form);
  if (refused.empty()) return out + "  all steps hold\n";
  for (const auto& [answer, where] : refused)
    out += fmt::format("  {}\n    on {}; the vendor's compiler says \"{}\"\n", ladder_text(answer),
                       fmt::join(where, ", "), vendor_text(answer));
  return out;
}

std::string to_text(const Explanation& e) {
  std::string out = e.text + "\n\n";
  if (!e.does.empty()) out += wrapped(e.does) + "\n\n";
  std::size_t width = 8;
  for (const OperandWords& o : e.operands) width = std::max(width, o.text.size());
  if (!e.operands.empty()) out += "operands\n";
  for (const OperandWords& o : e.operands) {
    out += o.role.empty() ? fmt::format("  {}\n", o.text) : fmt::format("  {:<{}} {}\n", o.text, width, o.role);
    if (o.decoded) out += text(*o.decoded, int(width) + 3);
  }
  out += fmt::format("{}modifiers of {}{}\n", e.operands.empty() ? "" : "\n", e.opcode,
                     e.modifiers.empty() ? ": none" : "");
  for (const auto& [question, answer] : e.modifiers) out += fmt::format("  {:<13} {}\n", question, answer);
  if (e.form) out += mma_text(*e.form);
  if (!e.answers.empty()) out += "\ntargets\n" + targets_text(e);
  return out;
}

Json mma_json(const isa::MmaForm& form) {
  const isa::VariantInfo v = isa::info(isa::classify(form));
  Json ladder = Json::array();
  for (const auto& [answer, where] : refusals(form))
    ladder.push_back({{"step", answer.step},
                      {"slug", rules::info(answer.verdict.rule).slug},
                      {"vendor_text", vendor_text(answer)},
                      {"targets", where}});
  return {{"variant", v.name}, {"contract", operands_text(v.contract)}, {"ladder_refusals", ladder}};
}

std::string to_json(const Explanation& e) {
  Json j = {{"instruction", e.text}, {"opcode", e.opcode}, {"does", e.does}};
  j["operands"] = Json::array();
  for (const OperandWords& o : e.operands) {
    Json operand = {{"text", o.text}, {"role", o.role}};
    if (o.decoded) operand["fields"] = o.decoded->fields;
    j["operands"].push_back(operand);
  }
  j["modifiers"] = Json::array();
  for (const auto& [question, answer] : e.modifiers)
    j["modifiers"].push_back({{"question", question}, {"answer", answer}});
  if (e.form) j["mma"] = mma_json(*e.form);
  if (!e.judges_targets && !e.answers.empty()) j["findings"] = json(e.answers.front().findings);
  j["targets"] = Json::array();
  for (const TargetAnswer& a : e.judges_targets ? e.answers : std::vector<TargetAnswer>()) {
    Json target = {{"target", isa::spelling(a.target)}, {"findings", json(a.findings)}};
    target["lowest_version"] = a.lowest ? Json(fmt::format("{}.{}", a.lowest->major, a.lowest->minor)) : Json();
    j["targets"].push_back(target);
  }
  return versioned(j);
}

}  // namespace

std::string explain_instruction(const std::string& text, bool as_json, const RegisterTypes& declared) {
  const Explanation e = make_explanation(LoneInstruction(text, declared));
  return as_json ? to_json(e) : to_text(e);
}

}  // namespace kiln::command

// kiln explain --json: what PTX has, as Kiln knows it: instructions with their forms, modifiers, targets.
#include <array>
#include <nlohmann/json.hpp>

#include "ptx/isa/modifiers.hpp"
#include "ptx/isa/opcode_list.hpp"
#include "ptx/isa/ptx_versions.hpp"
#include "ptx/isa/targets.hpp"
#include "tools/command/explain.hpp"
#include "tools/command/instruction_words.hpp"
#include "verifier/checks/forms.hpp"

namespace kiln::command {
namespace {

using Json = nlohmann::ordered_json;

std::string_view spelling(isa::Unit unit) {
  using isa::Unit;
  switch (unit) {
    case Unit::unknown: return "unknown";
    case Unit::alu: return "alu";
    case Unit::video: return "video";
    case Unit::control: return "control";
    case Unit::memory: return "memory";
    case Unit::warp: return "warp";
    case Unit::barrier: return "barrier";
    case Unit::mbarrier: return "mbarrier";
    case Unit::async_copy: return "async_copy";
    case Unit::matrix: return "matrix";
    case Unit::tcgen05: return "tcgen05";
    case Unit::texture: return "texture";
  }
  return "";
}

// One operand: what may stand there, and when it does.
Json role_json(const Role& role) {
  Json words = Json::array();
  for (const Slot& slot : role.slots) words.push_back(slot.words);
  return {{"words", words}, {"optional", role.optional}, {"with", role.modifier}};
}

Json words_json(const InstructionWords& words) {
  Json operands = Json::array();
  for (const Role& role : words.roles) operands.push_back(role_json(role));
  return {{"with", words.when}, {"does", words.does}, {"operands", operands}};
}

Json form_json(const verifier::Form& form) {
  Json modifiers = Json::array(), operands = Json::array();
  for (const verifier::Form::Slot& slot : form.slots)
    modifiers.push_back({{"one_of", slot.alternatives()}, {"optional", slot.optional}});
  for (const verifier::OperandList& list : form.operands) {
    Json slots = Json::array();
    for (const verifier::OperandSlot& slot : list.slots) slots.push_back(verifier::describe(slot));
    operands.push_back(slots);
  }
  return {{"modifiers", modifiers}, {"operands", operands}};
}

Json instruction_json(isa::Opcode opcode) {
  Json words = Json::array(), forms = Json::array();
  for (const InstructionWords& w : all_words())
    if (w.opcode == opcode) words.push_back(words_json(w));
  for (const verifier::Form& form : verifier::find_forms(opcode)) forms.push_back(form_json(form));
  return {{"name", isa::spelling(opcode)},
          {"unit", spelling(isa::unit(opcode))},
          {"results", isa::results(isa::writes(opcode))},
          {"words", words},
          {"forms", forms}};
}

}  // namespace

Json instructions_json() {
  Json out = Json::array();
  for (const isa::Opcode opcode : isa::all_opcodes) out.push_back(instruction_json(opcode));
  return out;
}

Json modifiers_json() {
  Json out = Json::array();
#define FIELD(Type, member) out.push_back({{"question", #member}, {"answers", Json::array()}});
#define VALUE(id, text) out.back()["answers"].push_back(text);
#include "ptx/isa/modifiers.def"
#define FIELD(Type, member)
#define FLAG(member, text) out.push_back({{"question", #member}, {"answers", Json::array({text})}});
#include "ptx/isa/modifiers.def"
  Json types = Json::array(), spaces = Json::array();
#define TYPE(id, text, bits, kind) types.push_back(text);
#include "ptx/isa/types.def"
#undef TYPE
  for (auto i = int(isa::Space::reg); i <= int(isa::Space::tex); ++i) spaces.push_back(isa::spelling(isa::Space(i)));
  out.push_back({{"question", "type"}, {"answers", types}});
  out.push_back({{"question", "space"}, {"answers", spaces}});
#define MODIFIER(opcode, modifier, question, answer) \
  out.push_back({{"question", question}, {"answers", Json::array({modifier})}, {"of", opcode}, {"says", answer}});
#include "tools/command/modifier_words.def"
#undef MODIFIER
  return out;
}

Json targets_json() {
  using isa::TargetSuffix;
  Json out = Json::array();
  for (int sm = 80; sm < 200; ++sm)
    for (const TargetSuffix suffix : {TargetSuffix::none, TargetSuffix::f, TargetSuffix::a}) {
      const isa::Target t{sm, suffix};
      if (!isa::is_known(t)) continue;
      out.push_back({{"name", isa::spelling(t)},
                     {"lowest_version", isa::spelling(isa::lowest_version(t))},
                     {"tcgen05", isa::has_tcgen05(t)},
                     {"clusters", isa::has_clusters(t)},
                     {"shared_bytes", isa::max_shared_bytes(t)},
                     {"static_shared_bytes", isa::max_static_shared_bytes(t)}});
    }
  return out;
}

}  // namespace kiln::command

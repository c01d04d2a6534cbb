// kiln explain: a rule by its slug, or one instruction taken apart.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "ptx/diag/error.hpp"
#include "ptx/ir/module.hpp"
#include "ptx/isa/modifiers.hpp"
#include "ptx/parse/parse.hpp"
#include "ptx/rules/catalogue.hpp"
#include "tools/command/console.hpp"
#include "tools/command/rule_pages.hpp"
#include "tools/command/subcommands.hpp"

namespace kiln::command {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* examples =
    "  kiln explain tcgen05-alloc-columns\n"
    "  kiln explain \"tcgen05.mma.cta_group::1.kind::f16 [d], a, b, idesc, p;\"";

std::string_view spelling(rules::Seen seen) {
  switch (seen) {
    case rules::Seen::both: return "the DSL's types and the verifier";
    case rules::Seen::ptx: return "the verifier";
    case rules::Seen::types: return "the DSL's types";
    case rules::Seen::build: return "the kernel builder";
    case rules::Seen::launch: return "`kiln check --launch`, `kiln sim` and the DSL's types";
    case rules::Seen::contract: return "`kiln check --launch` and `kiln sim`";
    case rules::Seen::run: return "the simulator, on the path that it executes";
  }
  return "";
}

std::string rule_text(const rules::RuleInfo& rule) {
  const std::string_view page = rule_page(rule.slug);
  return fmt::format("{} ({})\n  {}\n  found by {}; see {}\n{}{}", rule.slug, diag::spelling(rule.severity), rule.must,
                     spelling(rule.seen), rule.reference, page.empty() ? "" : "\n", page);
}

std::string rule_json(const rules::RuleInfo& rule) {
  const Json j = {{"slug", rule.slug},           {"severity", diag::spelling(rule.severity)},
                  {"must", rule.must},           {"found_by", spelling(rule.seen)},
                  {"reference", rule.reference}, {"page", rule_page(rule.slug)}};
  return j.dump(2) + "\n";
}

std::string limit_text(const rules::LimitInfo& limit) {
  return fmt::format("{} ({})\n  {}\n  a limit of Kiln, not a rule: nothing is known to be wrong\n", limit.slug,
                     diag::spelling(limit.severity), limit.says);
}

Json limit_json(const rules::LimitInfo& limit) {
  return {{"slug", limit.slug}, {"severity", diag::spelling(limit.severity)}, {"says", limit.says}};
}

// One instruction needs a module around it; names in it need not be declared for parsing.
ir::Instruction parse_instruction(std::string text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == ';')) text.pop_back();
  const std::string module_text = ".version 9.0\n.target sm_100a\n.address_size 64\n.entry k()\n{\n" + text + ";\n}\n";
  const auto source = std::make_shared<const diag::Source>("instruction", module_text);
  diag::Sink sink;
  const ir::Module module = parse::parse(source, sink);
  for (const diag::Diagnostic& d : sink.all())
    if (d.severity == diag::Severity::error) throw diag::InputError(fmt::format("'{}': {}", text, d.message));
  for (const ir::Item& item : module.items)
    if (const auto* f = std::get_if<ir::Function>(&item); f && f->body)
      for (const ir::Statement& s : f->body->statements)
        if (const auto* i = std::get_if<ir::Instruction>(&s.node)) return *i;
  throw diag::InputError(fmt::format("'{}' is no instruction", text));
}

// What each modifier answers, as (question, answer).
std::vector<std::pair<std::string, std::string>> answers(const isa::Modifiers& m) {
  std::vector<std::pair<std::string, std::string>> out;
#define FIELD(Type, member) \
  if (m.member != isa::Type::none) out.emplace_back(#member, spelling(m.member));
#define VALUE(id, text)
#define END()
#define FLAG(member, text) \
  if (m.member) out.emplace_back("flag", text);
#include "ptx/isa/modifiers.def"
#undef FIELD
#undef VALUE
#undef END
#undef FLAG
  for (int i = 0; i < m.spaces.count; ++i) out.emplace_back("space", isa::spelling(m.spaces[i]));
  for (int i = 0; i < m.types.count; ++i)
    out.emplace_back("type", fmt::format("{} ({} bits)", isa::spelling(m.types[i]), isa::bits(m.types[i])));
  for (const std::string& other : m.others) out.emplace_back("not decoded", other);
  for (const std::string& again : m.repeated) out.emplace_back("answered twice", again);
  return out;
}

std::string_view spelling(isa::Writes w) {
  switch (w) {
    case isa::Writes::none: return "nothing";
    case isa::Writes::first: return "its first operand";
    case isa::Writes::two: return "its first two operands";
    case isa::Writes::maybe: return "its first operand, unless that is an address";
  }
  return "";
}

std::string instruction_text(const ir::Instruction& i) {
  if (i.opcode == isa::Opcode::unknown)
    throw diag::InputError(fmt::format("'{}' is neither a rule nor an instruction that Kiln knows", ir::mnemonic(i)));
  const isa::Modifiers m = isa::decode_modifiers(i.modifiers);
  std::string out = fmt::format("{}\n  opcode      {}\n  writes      {}\n  operands    {}\n", ir::mnemonic(i),
                                isa::spelling(i.opcode), spelling(isa::writes(i.opcode)), i.operands.size());
  for (const auto& [question, answer] : answers(m)) out += fmt::format("  {:<11} {}\n", question, answer);
  return out;
}

std::string instruction_json(const ir::Instruction& i) {
  Json modifiers = Json::array();
  for (const auto& [question, answer] : answers(isa::decode_modifiers(i.modifiers)))
    modifiers.push_back({{"question", question}, {"answer", answer}});
  const Json j = {{"mnemonic", ir::mnemonic(i)},
                  {"opcode", isa::spelling(i.opcode)},
                  {"writes", spelling(isa::writes(i.opcode))},
                  {"operands", i.operands.size()},
                  {"modifiers", modifiers}};
  return j.dump(2) + "\n";
}

[[noreturn]] void unknown_slug(const std::string& word) {
  std::vector<std::string_view> slugs;
  for (const rules::RuleInfo& r : rules::catalogue) slugs.push_back(r.slug);
  for (const rules::LimitInfo& l : rules::limits) slugs.push_back(l.slug);
  const std::string_view near = nearest(word, slugs);
  throw diag::InputError(fmt::format("no rule is named '{}'{}; `kiln explain` lists them", word,
                                     near.empty() ? "" : fmt::format(" (did you mean {}?)", near)));
}

std::string all_rules(bool json) {
  Json list = Json::array();
  std::string text;
  for (const rules::RuleInfo& r : rules::catalogue) {
    list.push_back({{"slug", r.slug}, {"severity", diag::spelling(r.severity)}, {"must", r.must}});
    text += fmt::format("{:<28} {}\n", r.slug, r.must);
  }
  Json limits = Json::array();
  text += "\nNot rules: limits of Kiln\n";
  for (const rules::LimitInfo& l : rules::limits) {
    limits.push_back(limit_json(l));
    text += fmt::format("{:<28} {}\n", l.slug, l.says);
  }
  return json ? Json{{"rules", list}, {"limits", limits}}.dump(2) + "\n" : text;
}

int explain(const std::string& subject, bool json) {
  if (subject.empty()) return print(all_rules(json)), Exit::clean;
  if (const auto rule = rules::find_rule(subject)) {
    print(json ? rule_json(rules::info(*rule)) : rule_text(rules::info(*rule)));
    return Exit::clean;
  }
  if (const auto limit = rules::find_limit(subject)) {
    const rules::LimitInfo& l = rules::info(*limit);
    print(json ? limit_json(l).dump(2) + "\n" : limit_text(l));
    return Exit::clean;
  }
  // Slugs have hyphens and no dots; a bare "mov" or "ret" is an instruction all the same.
  if (subject.find_first_of(". @;[") == std::string::npos && isa::match_opcode(subject).opcode == isa::Opcode::unknown)
    unknown_slug(subject);
  const ir::Instruction instruction = parse_instruction(subject);
  const std::string text = instruction_text(instruction);
  print(json ? instruction_json(instruction) : text);
  return Exit::clean;
}

}  // namespace

void add_explain(const Builder& builder) {
  CLI::App* sub = builder.add("explain", "Explain a rule, or take an instruction apart", examples);
  auto subject = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  sub->add_option("SUBJECT", *subject, "a rule's slug, or an instruction in quotes; left out: the list of rules");
  sub->add_flag("--json", *json, "print it as JSON");
  sub->callback([=, &action = builder.action] { action = [=] { return explain(*subject, *json); }; });
}

}  // namespace kiln::command

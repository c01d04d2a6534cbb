// kiln explain: a rule by its slug, a table by its name, or one instruction in plain words.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "ptx/diag/error.hpp"
#include "ptx/isa/opcodes.hpp"
#include "ptx/rules/catalogue.hpp"
#include "tools/command/explain.hpp"
#include "tools/command/json.hpp"
#include "tools/command/report/console.hpp"
#include "tools/command/rule_pages.hpp"
#include "tools/command/subcommands.hpp"

namespace kiln::command {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* explain_examples =
    "  kiln explain tcgen05-alloc-columns                                        a rule\n"
    "  kiln explain \"tcgen05.mma.cta_group::1.kind::f16 [d], a, b, idesc, p;\"    an instruction; names need no "
    "declaration\n"
    "  kiln explain \"tcgen05.mma.ws.cta_group::1.kind::i8 [d], a, b, 0x081004A0, p\"   immediates are taken apart\n"
    "  kiln explain --json                                                       all of it, for a program: rules, "
    "instructions,\n"
    "                                                                            modifiers, targets and tables\n"
    "  kiln explain variants                                                     the ten variants of tcgen05.mma\n"
    "  kiln explain ladder                                                       what a vendor's compiler asks of it\n"
    "  kiln explain kind-word                                                    the word that it asks about\n"
    "  kiln explain \"SharedTile<bf16, 128, 64, K_major, swizzle_128B>\"          a tile, as `kiln layout` prints it";

std::string_view spelling(rules::Seen seen) {
  switch (seen) {
    case rules::Seen::both: return "the DSL's types and the verifier";
    case rules::Seen::ptx: return "the verifier";
    case rules::Seen::types: return "the DSL's types";
    case rules::Seen::build: return "the kernel builder";
    case rules::Seen::launch: return "`kiln check --launch`, `kiln sim` and the DSL's types";
    case rules::Seen::contract: return "`kiln check --launch` and `kiln sim`";
    case rules::Seen::run: return "the simulator, on the path that it executes";
    case rules::Seen::explore: return "`kiln check --lint`, from what exploring finds without it";
    case rules::Seen::ptxas: return "`kiln check --lint`, from what ptxas says";
  }
  return "";
}

// A page begins with the title and what must hold, which stand above it here.
std::string_view page_body(std::string_view page) {
  const std::size_t why = page.find("\n**");
  return why == page.npos ? page : page.substr(why);
}

std::string rule_text(const rules::RuleInfo& rule) {
  return fmt::format("{} ({})\n  {}\n  found by {}; see {}\n{}", rule.slug, diag::spelling(rule.severity), rule.must,
                     spelling(rule.seen), rule.reference, page_body(rule_page(rule.slug)));
}

Json rule_json(const rules::RuleInfo& rule) {
  return {{"slug", rule.slug},           {"severity", diag::spelling(rule.severity)},
          {"must", rule.must},           {"found_by", spelling(rule.seen)},
          {"reference", rule.reference}, {"page", rule_page(rule.slug)}};
}

std::string limit_text(const rules::LimitInfo& limit) {
  return fmt::format("{} ({})\n  {}\n  a limit of Kiln, not a rule: nothing is known to be wrong\n", limit.slug,
                     diag::spelling(limit.severity), limit.says);
}

Json limit_json(const rules::LimitInfo& limit) {
  return {{"slug", limit.slug}, {"severity", diag::spelling(limit.severity)}, {"says", limit.says}};
}

// The tables that have a name of their own.
struct Table {
  std::string_view name, says;
};
constexpr Table tables[] = {
    {"variants", "the ten variants of tcgen05.mma, and what the ISA has of them"},
    {"ladder", "what the vendor's compiler asks of every tcgen05.mma, in its order"},
    {"kind-word", "the word that it asks about, in both printed layouts"},
};

[[noreturn]] void unknown_slug(const std::string& word) {
  std::vector<std::string_view> slugs;
  for (const rules::RuleInfo& r : rules::catalogue) slugs.push_back(r.slug);
  for (const rules::LimitInfo& l : rules::limits) slugs.push_back(l.slug);
  for (const Table& t : tables) slugs.push_back(t.name);
  const std::string_view near = nearest(word, slugs);
  throw diag::InputError(fmt::format("no rule or table is named '{}'{}; `kiln explain` lists them", word,
                                     near.empty() ? "" : fmt::format(" (did you mean {}?)", near)));
}

std::string all_subjects(bool json) {
  Json list = Json::array();
  std::string text;
  for (const rules::RuleInfo& r : rules::catalogue) {
    if (json) list.push_back(rule_json(r));
    text += fmt::format("{:<28} {}\n", r.slug, r.must);
  }
  Json limits = Json::array();
  text += "\nNot rules: limits of Kiln\n";
  for (const rules::LimitInfo& l : rules::limits) {
    limits.push_back(limit_json(l));
    text += fmt::format("{:<28} {}\n", l.slug, l.says);
  }
  Json named = Json::array();
  text += "\nTables\n";
  for (const Table& t : tables) {
    if (json) named.push_back({{"name", t.name}, {"says", t.says}, {"holds", table_json(t.name)}});
    text += fmt::format("{:<28} {}\n", t.name, t.says);
  }
  if (!json) return text;
  return versioned(Json{{"rules", list},
                        {"limits", limits},
                        {"tables", named},
                        {"instructions", instructions_json()},
                        {"modifiers", modifiers_json()},
                        {"targets", targets_json()}});
}

int explain(const std::string& subject, bool json) {
  if (subject.empty()) return print(all_subjects(json)), Exit::clean;
  if (subject.starts_with("SharedTile")) return print(layout_text(subject, json)), Exit::clean;
  if (const auto table = explain_table(subject, json)) return print(*table), Exit::clean;
  if (const auto rule = rules::find_rule(subject)) {
    print(json ? versioned(rule_json(rules::info(*rule))) : rule_text(rules::info(*rule)));
    return Exit::clean;
  }
  if (const auto limit = rules::find_limit(subject)) {
    const rules::LimitInfo& l = rules::info(*limit);
    print(json ? versioned(limit_json(l)) : limit_text(l));
    return Exit::clean;
  }
  // Slugs have hyphens and no dots; a bare "mov" or "ret" is an instruction all the same.
  if (subject.find_first_of(". @;[") == std::string::npos && isa::match_opcode(subject).opcode == isa::Opcode::unknown)
    unknown_slug(subject);
  print(explain_instruction(subject, json));
  return Exit::clean;
}

}  // namespace

void add_explain(const Builder& builder) {
  CLI::App* sub = builder.add("explain", "Explain a rule, an instruction, or a table of tcgen05.mma", explain_examples);
  auto subject = std::make_shared<std::string>();
  auto json = std::make_shared<bool>(false);
  sub->add_option("SUBJECT", *subject,
                  "a rule's slug, an instruction or a SharedTile in quotes, variants, ladder or kind-word; left out: "
                  "the list of rules");
  sub->add_flag("--json", *json, "print it as JSON");
  sub->callback([=, &action = builder.action] { action = [=] { return explain(*subject, *json); }; });
}

}  // namespace kiln::command

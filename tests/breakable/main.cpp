// The part of `kiln check` that lit/verify needs, made of the verifier compiled with KILN_RULE_SWITCH: with a slug in
// KILN_BREAK_RULE that rule always holds. For tools/break_rules.
//
//   kiln_breakable check [--strict] [--lint] [--profile P] [--json | --format text|json|sarif] FILE...
//   kiln_breakable rule       prints the slug of the rule that is switched off
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/diag/render.hpp"
#include "ptx/diag/render_json.hpp"
#include "ptx/diag/source.hpp"
#include "ptx/parse/parse.hpp"
#include "ptx/rules/catalogue.hpp"
#include "verifier/lints.hpp"
#include "verifier/verify.hpp"

namespace {

using namespace kiln;

constexpr int unusable = 2;

int complain(const std::string& text) {
  std::fprintf(stderr, "error: %s\n", text.c_str());
  return unusable;
}

diag::Sink check_file(const std::string& path, rules::Profile profile, bool lint) {
  diag::Sink sink;
  const ir::Module module = parse::parse(diag::Source::read(path), sink);
  if (!sink.has_errors()) verifier::check(module, sink, profile);
  if (lint && !sink.has_errors()) verifier::check_lints(module, sink);
  return sink;
}

int check(const std::vector<std::string>& words) {
  bool strict = false, lint = false;
  std::string format = "text";
  rules::Profile profile = rules::Profile::isa;
  diag::Sink all;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--strict") strict = true;
    else if (words[i] == "--quick" || words[i] == "--all") continue;  // nothing is explored or grouped here
    else if (words[i] == "--lint") lint = true;
    else if (words[i] == "--json") format = "json";
    else if (words[i] == "--format" && i + 1 < words.size()) format = words[++i];
    else if (words[i] == "--profile" && i + 1 < words.size())
      profile = rules::parse_profile(words[++i]).value_or(rules::Profile::isa);
    else if (words[i].starts_with("-")) return complain("kiln_breakable does not know " + words[i]);
    else all.append(check_file(words[i], profile, lint));
  }
  if (format == "json") std::fputs(diag::render_json(all).c_str(), stdout);
  else if (format == "sarif") std::fputs(diag::render_sarif(all).c_str(), stdout);
  else if (format == "text") std::fputs(diag::render_text(all).c_str(), stderr);
  else return complain("no format is named " + format);
  std::fprintf(stderr, "%s\n", diag::summary(all).c_str());
  return diag::exit_code(all, strict);
}

// False when the environment names a rule that does not exist.
bool switch_rule_off() {
  const char* slug = std::getenv("KILN_BREAK_RULE");
  if (!slug || !*slug) return true;
  const auto rule = rules::find_rule(slug);
  rules::switched_off = rule.value_or(rules::Rule::none);
  return rule.has_value();
}

}  // namespace

int main(int argc, char** argv) {
  if (!switch_rule_off()) return complain("no rule is named as KILN_BREAK_RULE says");
  const std::vector<std::string> words(argv + 1, argv + argc);
  try {
    if (!words.empty() && words[0] == "check") return check({words.begin() + 1, words.end()});
  } catch (const std::exception& error) {
    return complain(error.what());
  }
  if (words.size() != 1 || words[0] != "rule") return complain("kiln_breakable check FILE... | kiln_breakable rule");
  const rules::Rule off = rules::switched_off;
  std::puts(off == rules::Rule::none ? "none" : std::string(rules::info(off).slug).c_str());
  return 0;
}

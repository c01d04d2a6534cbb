// The part of `kiln check` that lit/verify needs, made of the verifier compiled with KILN_RULE_SWITCH: with a slug in
// KILN_BREAK_RULE that rule always holds. For tools/break_rules.
//
//   kiln_breakable check [--strict] [--lint] [--profile P] [--ptxas V] [--assume FACT]
//                        [--json | --format text|json|sarif] FILE...
//   kiln_breakable rule       prints the slug of the rule that is switched off
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/diag/render.hpp"
#include "ptx/diag/render_json.hpp"
#include "ptx/diag/source.hpp"
#include "ptx/isa/ptxas_version.hpp"
#include "ptx/parse/parse.hpp"
#include "ptx/rules/catalogue.hpp"
#include "tools/command/assume.hpp"
#include "verifier/lints.hpp"
#include "verifier/verify.hpp"

namespace {

using namespace kiln;

constexpr int unusable = 2;

int complain(const std::string& text) {
  std::fprintf(stderr, "error: %s\n", text.c_str());
  return unusable;
}

// What the command line asks beside the files.
struct Asked {
  rules::Profile profile = rules::Profile::isa;
  std::optional<isa::PtxasVersion> ptxas{};
  std::vector<std::string> assumed{};
  bool lint = false;
};

diag::Sink check_file(const std::string& path, const Asked& asked) {
  diag::Sink sink;
  const ir::Module module = parse::parse(diag::Source::read(path), sink);
  if (!sink.has_errors()) verifier::check(module, sink, asked.profile, command::read_facts(asked.assumed), asked.ptxas);
  if (asked.lint && !sink.has_errors()) verifier::check_lints(module, sink);
  return sink;
}

int check(const std::vector<std::string>& words) {
  bool strict = false;
  std::string format = "text";
  Asked asked;
  diag::Sink all;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--strict")
      strict = true;
    else if (words[i] == "--quick" || words[i] == "--all")
      continue;  // nothing is explored or grouped here
    else if (words[i] == "--lint")
      asked.lint = true;
    else if (words[i] == "--json")
      format = "json";
    else if (words[i] == "--format" && i + 1 < words.size())
      format = words[++i];
    else if (words[i] == "--profile" && i + 1 < words.size())
      asked.profile = rules::parse_profile(words[++i]).value_or(rules::Profile::isa);
    else if (words[i] == "--assume" && i + 1 < words.size())
      asked.assumed.push_back(words[++i]);
    else if (words[i] == "--ptxas" && i + 1 < words.size()) {
      asked.ptxas = isa::parse_ptxas_version(words[++i]);
      if (!asked.ptxas)
        return complain(words[i] + " is no version of ptxas that Kiln knows; those are " +
                        isa::spelling(isa::oldest_ptxas) + " to " + isa::spelling(isa::newest_ptxas));
    } else if (words[i].starts_with("-"))
      return complain("kiln_breakable does not know " + words[i]);
    else
      all.append(check_file(words[i], asked));
  }
  if (format == "json")
    std::fputs(diag::render_json(all).c_str(), stdout);
  else if (format == "sarif")
    std::fputs(diag::render_sarif(all).c_str(), stdout);
  else if (format == "text")
    std::fputs(diag::render_text(all).c_str(), stderr);
  else
    return complain("no format is named " + format);
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

// Generated instructions of the tcgen05 family that Kiln accepts have a model in the simulator: a sample, since each is
// judged alone.
#include <doctest/doctest.h>

#include <memory>
#include <variant>

#include "ptx/parse/parse.hpp"
#include "sim/core/link.hpp"
#include "sim/ops/binder.hpp"
#include "tests/differential/forms_compare.hpp"
#include "tests/differential/forms_grammar.hpp"
#include "tests/differential/forms_judges.hpp"

using namespace kiln;
using namespace kiln::test;

namespace {

std::vector<std::string> accepted(const Setting& setting) {
  std::vector<std::string> family;
  for (std::string& text : instructions(read_grammar(KILN_TEST_DATA "/forms/grammar")))
    if (text.starts_with("tcgen05.")) family.push_back(std::move(text));
  family = thinned(family, 900);
  const std::vector<Refusal> refusals = ask_kiln(setting, family);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < family.size(); ++i)
    if (refusals[i].empty()) out.push_back(std::move(family[i]));
  return out;
}

// What the simulator lacks for each instruction; empty for those that run.
std::vector<std::string> gaps(const Setting& setting, const std::vector<std::string>& instructions) {
  const auto source = std::make_shared<const diag::Source>("forms.ptx", module_of(setting, instructions));
  diag::Sink sink;
  const ir::Module module = parse::parse(source, sink);
  REQUIRE_FALSE(sink.has_errors());
  std::vector<std::string> out;
  for (const ir::Item& item : module.items) {
    const auto* function = std::get_if<ir::Function>(&item);
    if (!function || function->name == "empty") continue;
    const sim::Linked linked = sim::link(module, *function, sink);
    sim::Layout layout;
    layout.addresses.resize(linked.code.symbols.size());
    const sim::Program program = sim::Binder(linked, layout).run();
    out.push_back(program.gaps.empty() ? "" : program.gaps.front());
  }
  return out;
}

}  // namespace

TEST_CASE("a sample of the forms of the tcgen05 family that Kiln accepts runs in the simulator") {
  for (const Setting& setting : {Setting{isa::sm_100a, {9, 0}}, Setting{isa::sm_103a, {9, 0}}}) {
    const std::vector<std::string> forms = accepted(setting);
    CHECK(forms.size() > 50);
    const std::vector<std::string> lacking = gaps(setting, forms);
    REQUIRE(lacking.size() == forms.size());
    for (std::size_t i = 0; i < forms.size(); ++i) {
      const bool undocumented = lacking[i].ends_with("a second predicate, which the ISA does not describe");
      CHECK_MESSAGE((lacking[i].empty() || undocumented), forms[i] << " lacks " << lacking[i]);
    }
  }
}

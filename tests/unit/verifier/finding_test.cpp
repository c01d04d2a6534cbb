#include "verifier/finding.hpp"

#include "tests/unit/verifier/checked.hpp"

namespace verifier_finding {

using namespace kiln;

namespace {

diag::Sink check(const std::string& body) {
  return test::check_text(test::preamble + ".shared .align 4 .b32 slot;\n.visible .entry k() { .reg .b32 %r<9>;\n" +
                          body + "\nret; }");
}

}  // namespace

TEST_CASE("a finding is the rule's sentence, the value, the place of the operand and a repair") {
  const auto sink = check("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 48;");
  REQUIRE(sink.all().size() == 1);
  const diag::Diagnostic& d = sink.all()[0];
  const rules::RuleInfo& rule = rules::info(rules::Rule::alloc_columns);
  CHECK(d.message == std::string(rule.must) + "; got 48");
  CHECK(d.slug == rule.slug);
  CHECK(d.severity == rule.severity);
  CHECK(d.reference == rule.reference);
  CHECK(d.where.source->text(d.where.place) == "48");
  REQUIRE(d.fixits.size() == 1);
  CHECK(d.fixits[0].text == "64");
  CHECK(d.notes.back().message == "see PTX ISA, \"tcgen05.alloc\"");
}

TEST_CASE("a value that stands in a register is not repaired where it is used") {
  const auto sink = check("mov.u32 %r1, 48; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], %r1;");
  REQUIRE(sink.all().size() == 1);
  CHECK(sink.all()[0].fixits.empty());
  CHECK(sink.all()[0].message.ends_with("; got 48"));
}

TEST_CASE("a module that was built has findings without a place in a text") {
  ir::Module module;
  module.version = {9, 0};
  module.targets = {"sm_100a"};
  ir::Function f;
  f.entry = true;
  f.name = "k";
  f.body.emplace();
  ir::Instruction i;
  i.opcode = isa::Opcode::mbarrier_init;
  i.modifiers = {"shared::cta", "b64"};
  i.operands = {ir::Operand::address(ir::Operand::named("bar")), ir::Operand::number(0)};
  f.body->statements.push_back({ir::Loc{1, 7, 0, "", {}}});
  f.body->statements.push_back({i});
  ir::Variable bar;
  bar.space = isa::Space::shared;
  bar.type = isa::ScalarType::b64;
  bar.name = "bar";
  module.items.push_back(bar);
  module.items.push_back(ir::Directive{".file 1 \"kernel.cpp\"", {}});
  module.items.push_back(f);
  diag::Sink sink;
  verifier::check(module, sink);
  REQUIRE(sink.all().size() == 1);
  CHECK(sink.all()[0].slug == "mbarrier-count");
  CHECK(sink.all()[0].where.file == "kernel.cpp");
  CHECK(sink.all()[0].where.line == 7);
  CHECK(sink.all()[0].fixits.empty());
}

}  // namespace verifier_finding

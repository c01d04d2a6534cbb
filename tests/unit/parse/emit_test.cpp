// What emit writes, and that parsing it gives back modules that no parser made.
#include "emit/emit.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "tests/unit/parse/text.hpp"

using namespace kiln;
using namespace kiln::test;
using ir::Operand;

namespace {

ir::Module module_of(std::vector<ir::Item> items) {
  ir::Module m;
  m.version = {9, 0};
  m.targets = {"sm_100a"};
  m.items = std::move(items);
  return m;
}

ir::Instruction instruction(isa::Opcode opcode, std::vector<std::string> modifiers, std::vector<Operand> operands) {
  ir::Instruction i;
  i.opcode = opcode;
  i.modifiers = std::move(modifiers);
  i.operands = std::move(operands);
  return i;
}

ir::Function kernel(std::vector<ir::Statement> statements) {
  ir::Function f;
  f.entry = true;
  f.name = "k";
  f.body = ir::Block{std::move(statements), {}};
  return f;
}

void check_roundtrip(const ir::Module& m) {
  const auto p = parse_module(emit::emit_unverified(m));
  CHECK(p.findings() == std::vector<std::string>{});
  CHECK(p.module == m);
}

}  // namespace

TEST_CASE("the canonical text reads like PTX") {
  const auto p = parse_module(
      ".version 9.0 .target sm_100a,debug .address_size 64 .visible .entry k(.param .u64 .ptr .align 8 a,"
      ".param .u32 n).reqntid 128{.reg .b32 %r<4>;L:@!%p1 ld.global.u32 %r1,[%rd1+-4];{ret;}}");
  CHECK(emit::emit_unverified(p.module) == R"(.version 9.0
.target sm_100a, debug
.address_size 64

.visible .entry k(
  .param .u64 .ptr .align 8 a,
  .param .u32 n
)
.reqntid 128
{
  .reg .b32 %r<4>;
L:
  @!%p1 ld.global.u32 %r1, [%rd1+-4];
  {
    ret;
  }
}
)");
}

TEST_CASE("integers come back with their sign and width") {
  std::vector<Operand> values;
  for (const std::int64_t v : {std::int64_t(0), std::int64_t(-1), std::numeric_limits<std::int64_t>::min(),
                               std::numeric_limits<std::int64_t>::max()}) {
    values.push_back(Operand::number(v));
    values.push_back(Operand::unsigned_number(std::uint64_t(v)));
    values.push_back(Operand::named("symbol", v));
    values.push_back(Operand::address(Operand::named("%rd1"), v));
    values.push_back(Operand::address(Operand::number(v)));
  }
  values.push_back(Operand::f32_bits(0x7FC00001));
  check_roundtrip(module_of({kernel({{instruction(isa::Opcode::mov, {"b64"}, values)}})}));
}

TEST_CASE("a built function comes back whole") {
  ir::Variable parameter;
  parameter.space = isa::Space::param;
  parameter.type = isa::ScalarType::u64;
  parameter.name = "p";
  parameter.is_pointer = true;
  ir::Variable registers;
  registers.type = isa::ScalarType::b32;
  registers.name = "%r";
  registers.count = 0;
  Operand map = Operand::address(Operand::named("map"));
  map.items.push_back(Operand::vector({Operand::named("%r1"), Operand::number(-1)}));
  Operand list;
  list.kind = Operand::Kind::list;
  ir::Table prototype{"P", ir::Table::Kind::call_prototype, {}, {}, "_ (.param .b64 _)"};
  ir::Function f = kernel({{registers},
                           {ir::Label{"L", {}}},
                           {ir::Loc{1, 2, 3, ", function_name F, inlined_at 1 1 1", {}}},
                           {instruction(isa::Opcode::prefetch, {"tensormap"}, {map, list})},
                           {ir::Table{"T", ir::Table::Kind::branch_targets, {"L", "L"}, {}}},
                           {prototype},
                           {ir::Directive{".pragma \"nounroll\";", {}}},
                           {ir::Block{{}, {}}}});
  f.parameters = {parameter};
  f.performance = {{"maxntid", {128, 1, 1}, "", {}}, {"explicitcluster", {}, "", {}}, {"pragma", {}, "\"a\"", {}}};
  std::get<ir::Instruction>(f.body->statements[3].node).operands.pop_back();
  check_roundtrip(module_of({f, ir::Directive{".file 1 \"a.cu\"", {}}}));
}

TEST_CASE("a module for several architectures has a directive for each") {
  ir::Module m = module_of({});
  m.targets = {"sm_80", "debug", "sm_90a"};
  m.address_size = 32;
  CHECK(emit::emit_unverified(m) == ".version 9.0\n.target sm_80, debug\n.target sm_90a\n.address_size 32\n");
  check_roundtrip(m);
}

TEST_CASE("a long table goes over many lines") {
  ir::Variable v;
  v.space = isa::Space::global;
  v.name = "table";
  v.dims = {1000};
  v.initializer = Operand::vector(std::vector<Operand>(1000, Operand::number(-1)));
  const ir::Module m = module_of({v});
  check_roundtrip(m);
  std::string line;
  for (const char c : emit::emit_unverified(m)) {
    line = c == '\n' ? "" : line + c;
    REQUIRE(line.size() <= 120);
  }
}

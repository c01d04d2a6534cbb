#include <doctest/doctest.h>

#include "tests/unit/parse/text.hpp"

using namespace kiln;
using namespace kiln::test;
using ir::Function;
using ir::Variable;

TEST_CASE("the head of a module is read") {
  const auto p = parse_module("// comment\n.version 8.7\n.target sm_90a, debug\n.target sm_100a\n.address_size 32\n");
  CHECK(p.module.version == isa::PtxVersion{8, 7});
  CHECK(p.module.targets == std::vector<std::string>{"sm_90a", "debug", "sm_100a"});
  CHECK(p.module.address_size == 32);
  CHECK(p.text(p.module.version_at) == ".version 8.7");
}

TEST_CASE("a variable carries everything before and after its name") {
  const auto p = parse_module(
      header + ".visible .global .attribute(.managed) .align 16 .v2 .f32 name[4][] = {1.0, 0f40000000};");
  const auto& v = item<Variable>(p);
  CHECK(v.linkage == ir::Linkage::visible);
  CHECK(v.space == isa::Space::global);
  CHECK(v.attributes == std::vector<std::string>{".managed"});
  CHECK(v.align == 16);
  CHECK(v.vector == 2);
  CHECK(v.type == isa::ScalarType::f32);
  CHECK(v.dims == std::vector<std::optional<std::uint64_t>>{4, std::nullopt});
  CHECK(v.initializer->items.size() == 2);
  CHECK(p.text(v.at) == "name");
}

TEST_CASE("a variable has its natural alignment, or a larger one that is written") {
  const auto p = parse_module(header + ".global .u64 a; .global .align 4 .u64 b; .global .align 16 .u64 c;\n"
                                       ".global .align 8 .v4 .f32 d; .global .align 1 .b8 e[64]; .global .b8 f[64];");
  const std::uint64_t want[] = {8, 8, 16, 16, 1, 1};
  for (std::size_t i = 0; i < std::size(want); ++i) CHECK(item<Variable>(p, i).alignment() == want[i]);
}

TEST_CASE("one declaration may declare many names") {
  const auto p = parse_module(header + ".global .b32 a, b[2], c = 5;");
  REQUIRE(p.module.items.size() == 3);
  CHECK(item<Variable>(p, 1).dims.size() == 1);
  CHECK(item<Variable>(p, 2).initializer == ir::Operand::number(5));
}

TEST_CASE("registers are declared in ranges") {
  const auto p = parse_body(".reg .pred p, %q<4>;");
  CHECK(!statement<Variable>(p, 0).count);
  CHECK(statement<Variable>(p, 1).count == 4u);
  CHECK(statement<Variable>(p, 1).name == "%q");
}

TEST_CASE("initialisers hold addresses, generic addresses and their bytes") {
  const auto p = parse_module(header + ".global .u64 x[4] = {a, b+4, generic(c)+-8, 0xff00(generic(d))};");
  const auto& items = item<Variable>(p).initializer->items;
  CHECK(items.at(1) == ir::Operand::named("b", 4));
  CHECK(items.at(2).kind == ir::Operand::Kind::function);
  CHECK(items.at(2).text == "generic");
  CHECK(items.at(2).value == -8);
  CHECK(items.at(3).text == "0xFF00");
  CHECK(items.at(3).items.at(0).items.at(0).text == "d");
  CHECK(!p.sink.has_errors());
}

TEST_CASE("fields of samplers are kept as written") {
  const auto p = parse_module(header + ".global .samplerref s = { addr_mode_0=wrap, filter_mode = nearest };");
  CHECK(item<Variable>(p).initializer->items.at(0).text == "addr_mode_0 = wrap");
}

TEST_CASE("a parameter that points says where") {
  const auto p = parse_module(header + ".entry k(.param .u64 .ptr .global .align 8 a, .param .align 64 .b8 b[128]);");
  const auto& f = item<Function>(p);
  REQUIRE(f.parameters.size() == 2);
  CHECK(f.parameters[0].is_pointer);
  CHECK(f.parameters[0].pointer_space == isa::Space::global);
  CHECK(f.parameters[0].pointer_align == 8);
  CHECK(f.parameters[0].align == 0);
  CHECK(f.parameters[1].align == 64);
  CHECK(f.parameters[1].bytes() == 128);
  CHECK(!f.body);
}

TEST_CASE("a function has results, parameters and directives in its head") {
  const auto p = parse_module(
      header + ".weak .func .attribute(.unified(1, 2)) (.param .b32 r) f (.param .b64 x) .noreturn .abi_preserve 5\n"
               "{ ret; }\n.visible .entry k() .maxntid 128, 2 .explicitcluster .pragma \"nounroll\"; { }");
  const auto& f = item<Function>(p, 0);
  CHECK(f.linkage == ir::Linkage::weak);
  CHECK(!f.entry);
  CHECK(f.attributes == std::vector<std::string>{".unified(1, 2)"});
  CHECK(f.returns.size() == 1);
  CHECK(f.find("abi_preserve")->values == std::vector<std::int64_t>{5});
  CHECK(f.find("noreturn")->values.empty());
  CHECK(p.text(f.name_at) == "f");
  const auto& k = item<Function>(p, 1);
  CHECK(k.entry);
  CHECK(k.find("maxntid")->values == std::vector<std::int64_t>{128, 2});
  CHECK(p.text(k.find("maxntid")->at) == ".maxntid 128, 2");
  CHECK(k.find("pragma")->text == "\"nounroll\"");
  CHECK(p.text(k.at).starts_with(".visible .entry k()"));
}

TEST_CASE("debug sections are kept to the byte and short directives in one spelling") {
  const auto p = parse_module(header + ".file\t1 \"a b.cu\" , 12,34\n"
                                       ".section .debug_x\n\t{\nL:  .b8 1,2 // c\n.b32 L\n\t}\n.alias a,b ;\n"
                                       "@@DWARF .byte 1, 2 \r\n");
  CHECK(item<ir::Directive>(p, 3).text == "@@DWARF .byte 1, 2");
  CHECK(item<ir::Directive>(p, 0).text == ".file 1 \"a b.cu\" , 12,34");
  CHECK(item<ir::Directive>(p, 1).text == ".section .debug_x\n\t{\nL:  .b8 1,2 // c\n.b32 L\n\t}");
  CHECK(item<ir::Directive>(p, 2).text == ".alias a,b ;");
  CHECK(!p.sink.has_errors());
}

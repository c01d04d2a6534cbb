#include <doctest/doctest.h>

#include "tests/unit/parse/text.hpp"

using namespace kiln;
using namespace kiln::test;
using Kind = ir::Operand::Kind;

TEST_CASE("an instruction is an opcode, modifiers and operands") {
  const auto p = parse_body("ld.global.v2.u32 {%r1, _}, [%rd1+8];");
  const auto& i = statement<ir::Instruction>(p);
  CHECK(i.opcode == isa::Opcode::ld);
  CHECK(i.modifiers == std::vector<std::string>{"global", "v2", "u32"});
  CHECK(i.operands.at(0).kind == Kind::vector);
  CHECK(i.operands.at(0).items.at(1).kind == Kind::sink);
  CHECK(i.operands.at(1).kind == Kind::address);
  CHECK(i.operands.at(1).items.at(0) == ir::Operand::named("%rd1", 8));
  CHECK(!p.sink.has_errors());
}

TEST_CASE("the longest known name is the opcode and a colon does not end a modifier") {
  const auto p = parse_body("tcgen05.mma.ws.cta_group::1.kind::f16.collector::b0::fill [%r1], %rd1, %rd2, %r2, 1;");
  const auto& i = statement<ir::Instruction>(p);
  CHECK(i.opcode == isa::Opcode::tcgen05_mma_ws);
  CHECK(i.modifiers == std::vector<std::string>{"cta_group::1", "kind::f16", "collector::b0::fill"});
}

TEST_CASE("a ratio is part of a modifier") {
  const auto p = parse_body("spcompress.b8.b2.sp::2:4.x1 {%r1}, {%r2}, {%r3, %r4}, %r5;");
  CHECK(statement<ir::Instruction>(p).modifiers == std::vector<std::string>{"b8", "b2", "sp::2:4", "x1"});
}

TEST_CASE("places are exact to the byte") {
  const auto p = parse_body("\t@!%p1 st .global.u32 [ %rd1 + -4 ], { %r1,7 } , sym+ 4 , !%p2|%p3;  ");
  const auto& i = statement<ir::Instruction>(p);
  CHECK(p.text(i.at) == "@!%p1 st .global.u32 [ %rd1 + -4 ], { %r1,7 } , sym+ 4 , !%p2|%p3;");
  CHECK(p.text(i.guard->at) == "@!%p1");
  CHECK(p.text(i.mnemonic) == "st .global.u32");
  CHECK(p.text(i.operands.at(0).at) == "[ %rd1 + -4 ]");
  CHECK(p.text(i.operands.at(0).items.at(0).at) == "%rd1 + -4");
  CHECK(p.text(i.operands.at(1).at) == "{ %r1,7 }");
  CHECK(p.text(i.operands.at(1).items.at(1).at) == "7");
  CHECK(p.text(i.operands.at(2).at) == "sym+ 4");
  CHECK(p.text(i.operands.at(3).at) == "!%p2|%p3");
  CHECK(p.text(i.operands.at(3).items.at(0).at) == "!%p2");
}

TEST_CASE("a guard names its predicate") {
  const auto p = parse_body("@p bra L; @!q bra L; L:");
  CHECK(statement<ir::Instruction>(p, 0).guard == ir::Guard{"p", false, {}});
  CHECK(statement<ir::Instruction>(p, 1).guard == ir::Guard{"q", true, {}});
  CHECK(statement<ir::Label>(p, 2).name == "L");
}

TEST_CASE("a call has lists, and parentheses elsewhere are expressions") {
  const auto p = parse_body("call.uni (r0), f, (a, (1+2)*4), proto; mov.u32 %r1, (1+2)*4; call f, ();");
  CHECK(operand(p, 0).kind == Kind::list);
  CHECK(operand(p, 1).text == "f");
  CHECK(operand(p, 2).items.at(1) == ir::Operand::number(12));
  CHECK(operand(p, 3).text == "proto");
  CHECK(operand(p, 1, 1) == ir::Operand::number(12));
  CHECK(operand(p, 1, 2).items.empty());
}

TEST_CASE("a tensor address holds the coordinates as a vector") {
  const auto p = parse_body("cp.async.bulk.tensor.2d.shared::cta.global [%r1], [map, {%r2, 0}], [%r3], {%rs1, 2};");
  CHECK(statement<ir::Instruction>(p).opcode == isa::Opcode::cp_async_bulk_tensor);
  const auto& address = operand(p, 1);
  CHECK(address.items.size() == 2);
  CHECK(address.items.at(1).kind == Kind::vector);
  CHECK(operand(p, 3).items.at(1) == ir::Operand::number(2));
}

TEST_CASE("components, pairs, sinks and negations are read") {
  const auto p = parse_body("setp.eq.and.u32 p|_, %tid.x, v.y, !q; vadd.u32.u32.u32 a, -b.b0, c.h1, d;");
  CHECK(operand(p, 0).kind == Kind::pair);
  CHECK(operand(p, 0).items.at(1).kind == Kind::sink);
  CHECK(operand(p, 1).text == "%tid.x");
  CHECK(operand(p, 2).text == "v.y");
  CHECK(operand(p, 3).negated);
  CHECK(operand(p, 1, 1).kind == Kind::raw);
  CHECK(operand(p, 1, 1).text == "-b.b0");
  CHECK(operand(p, 2, 1).text == "c.h1");
}

TEST_CASE("an attribute after an address belongs to it") {
  const auto p = parse_body("ld.global.u32 r, [a].unified, policy;");
  CHECK(operand(p, 1).kind == Kind::address);
  CHECK(operand(p, 1).text == "unified");
}

TEST_CASE("an unknown opcode keeps its name, modifiers and operands") {
  const auto p = parse_body("tcgen06.warp.x4 {%r1}, [%r2+4], !p;");
  const auto& i = statement<ir::Instruction>(p);
  CHECK(i.opcode == isa::Opcode::unknown);
  CHECK(i.unknown_name == "tcgen06");
  CHECK(i.modifiers == std::vector<std::string>{"warp", "x4"});
  CHECK(i.operands.size() == 3);
  CHECK(!p.sink.has_errors());
}

TEST_CASE("operands of an unknown opcode that cannot be read are one text") {
  const auto p = parse_body("frob.b32 %r1 ->\t%r2 /* so */ @ 5 ; ret;");
  const auto& i = statement<ir::Instruction>(p);
  REQUIRE(i.operands.size() == 1);
  CHECK(i.operands[0].kind == Kind::raw);
  CHECK(i.operands[0].text == "%r1 -> %r2 @ 5");
  CHECK(statement<ir::Instruction>(p, 1).opcode == isa::Opcode::ret);
  CHECK(!p.sink.has_errors());
  CHECK(parse_body("frob -> a\n@@DWARF .byte 1\nb; ret;").finding() == "5:10: expected ';' after the instruction");
}

TEST_CASE("blocks nest and keep their own names") {
  const auto p = parse_body("{ .reg .b32 t; L: { L: bra L; } }");
  const auto& outer = statement<ir::Block>(p);
  CHECK(outer.statements.size() == 3);
  CHECK(std::get<ir::Block>(outer.statements[2].node).statements.size() == 2);
}

TEST_CASE("tables of targets are named") {
  const auto p = parse_body(
      "T: .branchtargets A,\n B; C: .calltargets f, g;\n"
      "P: .callprototype (.param .b32 _)\n_ (.param .align 8 .b8 _[16], .param .b32 x) .noreturn; A: B:");
  CHECK(statement<ir::Table>(p, 0).targets == std::vector<std::string>{"A", "B"});
  CHECK(statement<ir::Table>(parse_body("T: .branchtargets A<2>, B; A0: A1: B:")).targets ==
        std::vector<std::string>{"A0", "A1", "B"});
  CHECK(statement<ir::Table>(p, 1).kind == ir::Table::Kind::call_targets);
  CHECK(statement<ir::Table>(p, 2).kind == ir::Table::Kind::call_prototype);
  CHECK(statement<ir::Table>(p, 2).text == "(.param .b32 _) _ (.param .align 8 .b8 _[16], .param .b32 x) .noreturn");
  CHECK(p.text(statement<ir::Table>(p, 2).at) == "P");
}

TEST_CASE("lines of debug information are kept") {
  const auto p = parse_body(".loc 1 12 3\n.loc\t2 5 6, function_name $L__s+4,inlined_at 1 12 3\nret;");
  CHECK(statement<ir::Loc>(p, 0) == ir::Loc{1, 12, 3, "", {}});
  CHECK(statement<ir::Loc>(p, 1) == ir::Loc{2, 5, 6, ", function_name $L__s+4, inlined_at 1 12 3", {}});
  CHECK(!p.sink.has_errors());
}

TEST_CASE("comments and lines of cpp may stand anywhere") {
  const auto p = parse_body("add/**/.u32 // one\n%r1, /* two\n*/ %r2,\n# 3 \"x\"\n%r3;");
  CHECK(!p.sink.has_errors());
  CHECK(statement<ir::Instruction>(p).operands.size() == 3);
}

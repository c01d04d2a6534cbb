// What the parser says about text that is not PTX, and how much of the rest it still reads.
#include <doctest/doctest.h>

#include "emit/emit.hpp"
#include "tests/unit/parse/text.hpp"

using namespace kiln;
using namespace kiln::test;
using Findings = std::vector<std::string>;

TEST_CASE("a missing semicolon is missed where it belongs, with a fix-it") {
  const auto p = parse_body("add.u32 %r1, %r2, %r3\nmov.u32 %r1, %r2;");
  CHECK(p.findings() == Findings{"5:22: expected ';' after the instruction"});
  REQUIRE(p.sink.all().at(0).fixits.size() == 1);
  CHECK(p.sink.all()[0].fixits[0].text == ";");
  CHECK(body(p).statements.size() == 1);
  CHECK(parse_body("ret\n.loc 1 2 3\nret;").findings() == Findings{"5:4: expected ';' after the instruction"});
  CHECK(parse_body("frob a\n.x, b; ret;").findings() == Findings{"5:7: expected ';' after the instruction"});
  CHECK(parse_body("add\n.u32 %r1, %r2, %r3;").findings() == Findings{});
}

TEST_CASE("a broken statement costs itself alone") {
  const auto p = parse_body("add.u32 %r1, , %r2;\n.reg .u33 x;\nld.global.v2.u32 {%r1, %r2, [%rd1];\nret;");
  CHECK(p.findings() == Findings{"5:14: expected an operand; got ','",
                                 "6:6: unknown type or directive '.u33' in a declaration",
                                 "7:35: expected '}' after the elements of the vector; got ';'"});
  CHECK(statement<ir::Instruction>(p).opcode == isa::Opcode::ret);
  CHECK(std::get<ir::Function>(p.module.items.at(0)).unread);
  CHECK_FALSE(p.module.unread);
}

TEST_CASE("an instruction of a newer PTX may have operands of any form, one that Kiln knows may not") {
  const auto p =
      parse_module(".version 9.6\n.target sm_100a\n.entry k()\n{\nmov.newer.b32 a <- b;\nmov.b32 a <- b;\nret;\n}\n");
  CHECK(p.findings().size() == 1);
  CHECK(p.finding().starts_with("6:"));
}

TEST_CASE("a broken head of a function costs the function alone") {
  const auto p = parse_module(header + ".entry k(.param .u64 a\n{ ret; }\n.foo 5;\n"
                                       ".entry l() .maxntidd 5 { { ret; } }\n.entry m() { ret; }");
  CHECK(p.findings() == Findings{"4:23: expected ')' after the parameters", "6:1: unknown directive '.foo'",
                                 "7:12: unknown directive '.maxntidd' in the head of a function"});
  REQUIRE(p.module.items.size() == 1);
  CHECK(item<ir::Function>(p).name == "m");
}

TEST_CASE("a negative offset needs a plus") {
  const auto p = parse_body("ld.global.u32 %r1, [%rd1-4];");
  CHECK(p.finding() == "5:25: expected '+' before a negative offset; PTX writes it as '+-'");
  CHECK(p.sink.all().at(0).fixits.at(0).text == "+");
}

TEST_CASE("one sentence says what is wrong") {
  CHECK(parse_body(";").finding() == "5:1: a ';' without an instruction");
  CHECK(parse_body("@p { ret; }").findings() == Findings{"5:4: expected an instruction after the guard; got '{'"});
  CHECK(parse_body(".loc 1 2\nret;").finding() == "5:9: expected the column number before the end of the line");
  CHECK(parse_body(".file 1 \"x\"").finding() == "5:1: unknown directive '.file' in the body of a function");
  CHECK(parse_body("mov.u32 %r1, \x80;").finding() == "5:14: expected an operand; got '\\x80'");
  CHECK(parse_module(header + ".global .align 3 .b32 x;").finding() ==
        "4:16: the alignment must be a power of two; got 3");
  CHECK(parse_module(header + ".global .b32 .f32 x;").finding() ==
        "4:14: a variable has one type; got '.f32' as well");
  CHECK(parse_module(header + ".global x;").finding() ==
        "4:9: expected a type such as '.u32' before the name; got 'x'");
  CHECK(parse_module(header + ".entry k() .maxntid { }").finding() ==
        "4:21: expected the value of the directive; got '{'");
  CHECK(parse_body("T: .branchtargets A<0>;").finding() == "5:19: this table has no targets");
  CHECK(parse_module(header + "}").finding() == "4:1: expected a directive such as '.entry' or '.global'; got '}'");
  CHECK(parse_module(".target sm_80").finding() ==
        "1:1: expected '.version' at the start of the module; got '.target'");
  CHECK(parse_module("").finding() ==
        "1:1: expected '.version' at the start of the module before the end of the file");
  CHECK(parse_module(".version 9.0\n").finding() ==
        "1:13: expected '.target' after '.version' before the end of the file");
  CHECK(parse_module(".version nine").finding() == "1:10: expected a version such as 8.7; got 'nine'");
}

TEST_CASE("text that never ends is reported where it begins") {
  CHECK(parse_module(header + "/* a").findings() == Findings{"4:1: this comment has no end; expected '*/'"});
  CHECK(parse_module(header + ".file 1 \"a\n").finding() ==
        "4:9: this string has no end; expected '\"' before the end of the line");
  CHECK(parse_module(header + ".entry k() { ret;").findings() == Findings{"4:12: this block has no end; expected '}'"});
  CHECK(parse_module(header + ".section .debug { {").finding() == "4:17: this section has no end; expected '}'");
}

TEST_CASE("a file of nothing but errors stops after a hundred") {
  std::string text;
  for (int i = 0; i < 500; ++i) text += "add.u32 ,;\n";
  const auto p = parse_body(text);
  CHECK(p.sink.all().size() == 101);
  CHECK(p.sink.all().back().message == "too many errors; the rest of the file is not read");
}

TEST_CASE("depth has a limit and does not cost the stack") {
  const std::string open(100000, '{'), close(100000, '}');
  CHECK(parse_body(open + close).findings() == Findings{"5:257: nested deeper than 256 levels"});
  CHECK(parse_body("mov.b32 %r1, " + open + ";").finding().ends_with("nested deeper than 256 levels"));
  CHECK(parse_module(header + ".global .b32 x = " + open + ";").finding().ends_with("nested deeper than 256 levels"));
  CHECK(parse_body(std::string(250, '{') + std::string(250, '}')).findings() == Findings{});
}

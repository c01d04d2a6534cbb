// The builder of PTX: names, scopes, and what its control flow becomes.
#include <doctest/doctest.h>

#include "ptx/diag/error.hpp"
#include "ptx/ir/builder.hpp"

using namespace kiln;
using ir::at;
using ir::Builder;
using ir::Register;
using isa::ScalarType;

namespace {

const ir::Instruction& instruction(const std::vector<ir::Statement>& s, std::size_t i) {
  return std::get<ir::Instruction>(s.at(i).node);
}

}  // namespace

TEST_CASE("registers have a name each, and are declared once for each class before all else") {
  Builder b("t_");
  const Register lane = b.b32("mov.u32", "%laneid");
  b.op("st.shared.v2.b32", at("queue", 8), ir::vec(lane, b.b32("add.u32", lane, 1)));
  const auto s = b.take();
  REQUIRE(s.size() == 4);
  const auto& declared = std::get<ir::Variable>(s[0].node);
  CHECK(declared.name == "%t_r");
  CHECK(declared.count == 2u);
  CHECK(instruction(s, 1).operands[0].text == "%t_r0");
  const ir::Instruction& store = instruction(s, 3);
  CHECK(ir::mnemonic(store) == "st.shared.v2.b32");
  CHECK(store.operands[0] == ir::Operand::address(ir::Operand::named("queue"), 8));
  CHECK(store.operands[1].items.at(1).text == "%t_r1");
}

TEST_CASE("what is written under a condition is jumped over where it does not hold, and nothing leaves no jump") {
  Builder b("t_");
  const Register p = b.pred("setp.eq.u32", 1, 2);
  b.when(p, [] {});
  b.when(!p, [&] { b.op("trap"); });
  const auto s = b.take();
  REQUIRE(s.size() == 5);
  REQUIRE(instruction(s, 2).guard);
  CHECK_FALSE(instruction(s, 2).guard->negated);
  CHECK(instruction(s, 2).operands[0].text == std::get<ir::Label>(s[4].node).name);
}

TEST_CASE("a loop goes back to its begin, and labels of one stem have names of their own") {
  Builder b("t_");
  for (int i = 0; i < 2; ++i) b.loop([&] { return b.pred("setp.eq.u32", 1, 2); });
  const auto s = b.take();
  CHECK(std::get<ir::Label>(s.at(1).node).name == "t_again");
  CHECK(std::get<ir::Label>(s.at(4).node).name == "t_again_2");
  CHECK(instruction(s, 6).operands[0].text == "t_again_2");
}

TEST_CASE("a register is not used after the scope that made it, and every opcode is known") {
  Builder b("t_");
  Register inner;
  b.scope([&] { inner = b.b32("mov.b32", 1); });
  CHECK_THROWS_AS(b.op("mov.b32", inner, 2), diag::InternalError);
  CHECK_THROWS_AS(b.op("no_such.b32", 1), diag::InternalError);
}

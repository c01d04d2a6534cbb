#include "ptx/flow/webs.hpp"

#include "ptx/flow/division.hpp"
#include "ptx/flow/sums.hpp"
#include "tests/unit/flow/analysed.hpp"

namespace flow_webs {

using namespace kiln;
using test::Analysed;

struct Split : Analysed {
  explicit Split(const std::string& body) : Analysed(body), split(flow::with_webs(code)) {}
  // Registers of this name that some instruction writes.
  int count(const std::string& name) const {
    const flow::Definitions written(split);
    int n = 0;
    for (ir::RegisterId r = 0; r < split.registers.size(); ++r)
      n += split.registers[r].name == name && !written.writers(r).empty();
    return n;
  }
  ir::Code split;
};

TEST_CASE("a register that is changed in place is one for each of its values") {
  const Split s(
      "mov.u64 %rd1, 5; or.b64 %rd1, %rd1, 64; add.u64 %rd2, %rd1, 1; mov.u64 %rd1, 9; add.u64 %rd3, %rd1, 1;");
  CHECK(s.count("%rd1") == 3);
  const flow::Definitions definitions(s.split);
  const flow::KnownBits known(s.split, definitions);
  CHECK(known.of(s.split.operations[2].arg(0), 64).value() == 70u);
  CHECK(known.of(s.split.operations[4].arg(0), 64).value() == 10u);
}

TEST_CASE("values that meet stay one register: in loops, after branches, under guards") {
  const Split s(R"(ld.param.u32 %r7, [n]; mov.u32 %r1, 0;
    L: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, %r7; @%p1 bra L;
    mov.u32 %r2, 1; @%p1 mov.u32 %r2, 2; add.u32 %r3, %r2, %r1;
    mov.u32 %r4, 1; @%p1 bra M; mov.u32 %r4, 2; M: add.u32 %r5, %r4, 0;)");
  for (const char* r : {"%r1", "%r2", "%r4"}) CHECK(s.count(r) == 1);
}

TEST_CASE("a number that one write alone brings is read as the number") {
  const Split s(R"(ld.param.u32 %r7, [n]; mov.u32 %r1, 0; shfl.sync.idx.b32 %r2, %r7, %r1, 31, -1; add.u32 %r5, %r1, 3;
    setp.lt.u32 %p1, %r7, 1; @%p1 bra M; L: add.u32 %r1, %r1, %r7; setp.lt.u32 %p1, %r1, 100; @%p1 bra L;
    M: add.u32 %r3, %r1, 3;)");
  const auto& ops = s.split.operations;
  CHECK(ops[2].arg(2).kind == ir::Argument::Kind::immediate);
  CHECK(ops[3].arg(1).kind == ir::Argument::Kind::immediate);
  CHECK(ops[ops.size() - 1].arg(1).kind == ir::Argument::Kind::reg);
}

TEST_CASE("what a load from tensor memory writes later stays one register") {
  const Split s("mov.u32 %r1, 7; add.u32 %r2, %r1, 1; tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [%r9];");
  CHECK(s.count("%r1") == 1);
}

// The divisor of the quotient or the remainder that the last instruction makes; 0 when none is seen.
std::uint64_t divisor(const std::string& body, bool rest = false) {
  const Analysed a(body);
  const ir::Operation& op = a.code.operations.back();
  const auto d =
      rest ? flow::remainder(a.code, a.definitions, a.known, op) : flow::quotient(a.code, a.definitions, a.known, op);
  return d && d->dividend->kind == ir::Argument::Kind::reg && d->dividend->id == a.reg("%r1") ? d->divisor : 0;
}

const std::string quotient7 = R"(mul.wide.u32 %rd1, %r1, 613566757; shr.u64 %rd2, %rd1, 32; cvt.u32.u64 %r2, %rd2;
  sub.s32 %r3, %r1, %r2; shr.u32 %r4, %r3, 1; add.s32 %r5, %r4, %r2; shr.u32 %r6, %r5, 2;)";

TEST_CASE("divisions are seen as nvcc and LLVM write them") {
  const std::string word = "ld.param.u32 %r1, [n]; ";
  CHECK(divisor(word + quotient7) == 7);
  CHECK(divisor(word + quotient7 + "mul.lo.s32 %r7, %r6, 7; sub.s32 %r8, %r1, %r7;", true) == 7);
  CHECK(divisor(word + quotient7 + "mad.lo.s32 %r8, %r6, -7, %r1;", true) == 7);
  CHECK(divisor(word + quotient7 + "shl.b32 %r7, %r6, 3; sub.s32 %r8, %r7, %r6; sub.s32 %r9, %r1, %r8;", true) == 7);
  CHECK(divisor(word + "mul.wide.u32 %rd1, %r1, -1431655765; shr.u64 %rd2, %rd1, 33; cvt.u32.u64 %r2, %rd2;") == 3);
  // Signed: the sign of the dividend, or of the product, is taken away or added.
  CHECK(divisor(word + R"(mul.hi.s32 %r2, %r1, 1717986919; shr.u32 %r3, %r2, 31; shr.s32 %r4, %r2, 1;
    add.s32 %r5, %r4, %r3;)") == 5);
  CHECK(divisor(word + R"(mul.hi.s32 %r2, %r1, -1840700269; add.s32 %r3, %r2, %r1; shr.u32 %r4, %r3, 31;
    shr.s32 %r5, %r3, 2; add.s32 %r6, %r5, %r4;)") == 7);
  CHECK(divisor(word + R"(mul.hi.s32 %r2, %r1, 715827883; shr.u32 %r3, %r2, 31; add.s32 %r4, %r2, %r3;
    mul.lo.s32 %r5, %r4, 6; sub.s32 %r6, %r1, %r5;)",
                true) == 6);
  // An even divisor's twos first.
  CHECK(divisor(word + "shr.u32 %r2, %r1, 1; mul.hi.u32 %r3, %r2, -1840700269; shr.u32 %r4, %r3, 2;") == 14);
  CHECK(divisor(word + "rem.s32 %r2, %r1, 7;", true) == 7);
}

TEST_CASE("a product that is not exact for every word is no division") {
  const std::string word = "ld.param.u32 %r1, [n]; ";
  CHECK(divisor(word + "mul.hi.u32 %r2, %r1, 613566757;") == 0);
  CHECK(divisor(word + "mul.wide.u32 %rd1, %r1, -1431655766; shr.u64 %rd2, %rd1, 33; cvt.u32.u64 %r2, %rd2;") == 0);
  CHECK(divisor(word + quotient7 + "mad.lo.s32 %r8, %r6, -6, %r1;", true) == 0);
}

// What a sum hangs on: base + 8 * (i % 3), strength-reduced.
std::vector<flow::Division> rests(const std::string& step, const std::string& before = "mov.u32 %r2, 0;") {
  const Analysed a("ld.param.u32 %r9, [n]; mov.u32 %r7, tile; mov.u32 %r1, 0;" + before +
                   R"(L: mul.hi.u32 %r3, %r1, -1431655765; shr.u32 %r4, %r3, 1; mul.lo.s32 %r5, %r4, -24;
    add.s32 %r6, %r7, %r5; W: setp.lt.u32 %p2, %r9, 5; @%p2 bra W; R: add.s32 %r8, %r6, %r2; add.s32 %r1, %r1, 1;)" +
                   step + "setp.lt.u32 %p1, %r1, %r9; @%p1 bra L; ret;");
  flow::Sums sums(a.code, a.cfg, a.definitions, a.known);
  return sums.rests(a.code.operations[a.at("R")]);
}

TEST_CASE("a strength-reduced remainder in an address is one, if what is added keeps up with the quotient") {
  const auto found = rests("add.s32 %r2, %r2, 8;");
  REQUIRE(found.size() == 1);
  CHECK(found[0].divisor == 3);
  CHECK(rests("add.s32 %r2, %r2, 9;").empty());
  CHECK(rests("").empty());
  CHECK(rests("@%p2 add.s32 %r2, %r2, 8;").empty());
  CHECK(rests("add.s32 %r2, %r2, 8;", "mov.u32 %r2, %r9;").size() == 1);       // from another place, the same always
  CHECK(rests("add.s32 %r2, %r2, 8;", "ld.global.u32 %r2, [%rd1];").empty());  // from a place out of memory
}

}  // namespace flow_webs

#include "ptx/flow/demand.hpp"

#include "tests/unit/flow/analysed.hpp"

using kiln::test::Analysed;
using namespace kiln;

namespace {

// What the parities of waits hang on.
struct Sliced : Analysed {
  explicit Sliced(const std::string& body) : Analysed(body) {}
  flow::Demands demands{code, cfg, definitions, known, [](const ir::Operation& op, flow::Demands::Wanted& out) {
                          if (op.opcode != isa::Opcode::mbarrier_try_wait) return;
                          out.arguments.push_back(&op.arg(1));
                          out.arguments.push_back(&op.arg(2));
                        }};
  flow::Demand of(const std::string& name) const { return demands.of(reg(name)); }
};

const char* const wait = "mbarrier.try_wait.parity.shared::cta.b64 %p9, [%r9], %r8;";

}  // namespace

TEST_CASE("what no root hangs on is not in the slice") {
  const Sliced s("mov.u32 %r9, bars; mov.u32 %r8, 0; mov.u32 %r1, 7; add.u32 %r2, %r1, 1;" + std::string(wait));
  CHECK(s.of("%r8").bits == ~std::uint64_t{0});
  CHECK(s.of("%r9").any());
  CHECK_FALSE(s.of("%r1").any());
  CHECK_FALSE(s.of("%r2").any());
}

TEST_CASE("of a counter that chooses stage and parity by its low bits those bits matter") {
  const Sliced s(R"(ld.param.u32 %r7, [n]; mov.u32 %r1, 0;
    L: and.b32 %r2, %r1, 3; shl.b32 %r3, %r2, 3; mov.u32 %r4, bars; add.u32 %r9, %r4, %r3;
    shr.u32 %r5, %r1, 2; and.b32 %r8, %r5, 1;)" +
                 std::string(wait) + "add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, %r7; @%p1 bra L; ret;");
  CHECK(s.of("%r1") == flow::Demand{7, false});
  CHECK(s.of("%r2").bits != 0);
  CHECK_FALSE(s.of("%r7").any());
}

TEST_CASE("what a predicate of the slice compares is compared, through sums and copies") {
  const Sliced s(R"(ld.param.u32 %r7, [n]; mov.u32 %r9, bars; mov.u32 %r1, 0; add.u32 %r2, %r1, 1; mov.u32 %r3, %r2;
    setp.lt.u32 %p1, %r3, %r7; selp.u32 %r8, 1, 0, %p1;)" +
                 std::string(wait));
  for (const char* r : {"%r1", "%r2", "%r3", "%r7"}) CHECK(s.of(r) == flow::Demand{0, true});
  CHECK(s.of("%p1").any());
}

TEST_CASE("a register that is compared and looked at by its bits matters in all of them") {
  const Sliced s(R"(ld.param.u32 %r7, [n]; mov.u32 %r9, bars; and.b32 %r3, %r7, 12; setp.lt.u32 %p1, %r3, 8;
    selp.u32 %r8, 1, 0, %p1;)" +
                 std::string(wait));
  CHECK(s.of("%r3").compared);
  CHECK(s.of("%r7").bits == 12);
}

TEST_CASE("a carry that matters makes every sum with a carry matter") {
  const Sliced s("mov.u32 %r9, bars; add.cc.u32 %r2, %r1, %r3; addc.u32 %r8, 0, 0;" + std::string(wait));
  CHECK(s.of("%r1").any());
  CHECK(s.of("%r3").any());
}

TEST_CASE("of a counter that chooses a stage by its rest, and a parity by its quotient, a rest matters") {
  for (const char* division : {"mul.hi.u32 %r2, %r1, 0xAAAAAAAB; shr.u32 %r3, %r2, 1;", "div.u32 %r3, %r1, 3;"}) {
    const Sliced s("ld.param.u32 %r7, [n]; mov.u32 %r1, 0; L:" + std::string(division) +
                   R"(mul.lo.u32 %r4, %r3, 3; sub.u32 %r5, %r1, %r4; shl.b32 %r5, %r5, 3;
    mov.u32 %r6, bars; add.u32 %r9, %r6, %r5; and.b32 %r8, %r3, 1;)" +
                   wait + "add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, %r7; @%p1 bra L; ret;");
    CHECK(s.of("%r1").bits == 0);
    CHECK(s.of("%r1").modulus == 6);
    CHECK(s.of("%r3").any());
  }
}

TEST_CASE(
    "of a number whose rest modulo a power of two chooses a stage, signed and with low bits set, a rest matters") {
  // (4 * i | 1) % 16, of signed words: the sign is that of 4 * i.
  const std::string rest = R"(ld.param.u32 %r7, [n]; mov.u32 %r1, 0; L: shl.b32 %r2, %r1, 2; or.b32 %r3, %r2, 1;
    shr.s32 %r4, SIGN, 31; shr.u32 %r10, %r4, 28; add.s32 %r11, %r3, %r10; and.b32 %r12, %r11, -16; sub.s32 %r5, %r3, %r12;
    shl.b32 %r13, %r5, 3; mov.u32 %r6, bars; add.u32 %r9, %r6, %r13; mov.u32 %r8, 0;)" +
                           std::string(wait) + "add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, %r7; @%p1 bra L; ret;";
  const auto with_sign_of = [&](const std::string& r) {
    return Sliced(std::string(rest).replace(rest.find("SIGN"), 4, r)).of("%r1");
  };
  CHECK(with_sign_of("%r2") == flow::Demand{0, false, 4, true});
  CHECK(with_sign_of("%r3") == flow::Demand{0, false, 4, true});
  CHECK(with_sign_of("%r7").bits != 0);
}

TEST_CASE("a product with a reciprocal that is not exact for every word is no division") {
  const Sliced s("mov.u32 %r9, bars; mul.hi.u32 %r2, %r1, 0xAAAAAAA9; shr.u32 %r3, %r2, 1; and.b32 %r8, %r3, 1;" +
                 std::string(wait));
  CHECK(s.of("%r1").modulus == 1);
  CHECK(s.of("%r1").bits != 0);
}

TEST_CASE("of a rough address the addend that is small does not matter, unless something else wants the sum") {
  const std::string body = R"(ld.param.u32 %r7, [n]; and.b32 %r5, %r7, 2; mov.u32 %r1, bars; add.u32 %r2, %r1, %r5;
    add.u32 %r3, %r2, 16; and.b32 %r6, %r7, 4; add.u32 %r4, %r1, %r6; ld.shared.u32 %r8, [%r3]; ld.shared.u32 %r9, [%r4];)";
  const Analysed a(body);
  const auto demands = [&](bool wants_sum) {
    return flow::Demands(a.code, a.cfg, a.definitions, a.known,
                         [&](const ir::Operation& op, flow::Demands::Wanted& out) {
                           if (op.opcode != isa::Opcode::ld || !isa::is_shared(op.modifiers.space())) return;
                           out.rough.push_back(&op.arg(1));
                           if (wants_sum) out.registers.push_back(a.reg("%r2"));
                         });
  };
  const flow::Demands rough = demands(false), exact = demands(true);
  for (const char* r : {"%r1", "%r2", "%r3"}) CHECK(rough.of(a.reg(r)).bits == ~std::uint64_t{0});
  CHECK_FALSE(rough.of(a.reg("%r5")).any());
  CHECK(rough.is_rough(a.reg("%r2")));
  CHECK(rough.is_rough(a.reg("%r3")));
  CHECK(rough.of(a.reg("%r6")).any());  // up to 4 is not small
  CHECK_FALSE(rough.is_rough(a.reg("%r4")));
  CHECK(exact.of(a.reg("%r5")).any());
  CHECK_FALSE(exact.is_rough(a.reg("%r3")));
}

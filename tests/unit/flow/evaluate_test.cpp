#include "ptx/flow/evaluate.hpp"

#include "tests/unit/flow/analysed.hpp"

using kiln::test::Analysed;
using namespace kiln;
using flow::TermId;

namespace {

// A straight run of operations; registers that were never written are atoms of their own.
struct Evaluated : Analysed, flow::OperandTerms {
  explicit Evaluated(const std::string& body) : Analysed(body) {
    for (std::uint32_t i = 0; i < code.operations.size(); ++i) {
      const auto written = definitions.written(i);
      const std::vector<TermId> results = evaluator.results(i, *this);
      REQUIRE(results.size() >= written.size());
      for (std::size_t k = 0; k < written.size(); ++k) words[written[k]] = results[k];
    }
  }

  TermId word(ir::RegisterId r) {
    const auto found = words.find(r);
    if (found != words.end()) return found->second;
    return words[r] =
               terms.atom(evaluator.name(code.registers[r].name), {}, std::min(64, isa::bits(code.registers[r].type)));
  }
  TermId term(const ir::Argument& a, int width) override {
    if (a.kind == ir::Argument::Kind::immediate || a.kind == ir::Argument::Kind::real)
      return terms.constant(std::uint64_t(a.value), width);
    const TermId t = word(a.id);
    return terms.truncate(a.negated ? terms.add(t, terms.constant(1, 1)) : t, width);
  }
  TermId operator[](const char* name) { return word(reg(name)); }
  std::optional<std::uint64_t> value(const char* name) { return terms.value((*this)[name]); }

  flow::Terms terms;
  flow::Evaluator evaluator{code, definitions, terms};
  std::unordered_map<ir::RegisterId, TermId> words;
};

}  // namespace

TEST_CASE("operations on numbers give numbers") {
  Evaluated e(R"(mov.u32 %r1, 12; add.u32 %r2, %r1, -13; shr.u32 %r3, %r2, 28; xor.b32 %r4, %r3, 5;
    setp.lt.s32 %p1, %r2, 0; setp.lt.u32 %p2, %r2, 0; selp.u32 %r5, 3, 4, %p1; mul.wide.u32 %rd1, %r1, 8;
    cvt.u64.u32 %rd2, %r2; lop3.b32 %r6, %r1, %r3, 0, 0xC0; not.pred %p3, %p1;)");
  CHECK(e.value("%r2") == 0xFFFFFFFFu);
  CHECK(e.value("%r3") == 15u);
  CHECK(e.value("%r4") == 10u);
  CHECK(e.value("%p1") == 1u);
  CHECK(e.value("%p2") == 0u);
  CHECK(e.value("%p3") == 0u);
  CHECK(e.value("%r5") == 3u);
  CHECK(e.value("%rd1") == 96u);
  CHECK(e.value("%rd2") == 0xFFFFFFFFu);
  CHECK(e.value("%r6") == 12u);
}

TEST_CASE("a generic address of shared memory is rounded up, offset and taken back, in 64 and in 32 bits") {
  Evaluated e(R"(mov.u64 %rd1, 48; cvta.shared.u64 %rd2, %rd1; add.s64 %rd3, %rd2, 1023; and.b64 %rd4, %rd3, -1024;
    cvta.to.shared.u64 %rd5, %rd4; cvt.u32.u64 %r2, %rd5; cvt.u32.u64 %r3, %rd4; cvt.u64.u32 %rd6, %r1;
    and.b64 %rd7, %rd6, 124; or.b64 %rd8, %rd4, %rd7; sub.s64 %rd9, %rd8, %rd4;)");
  CHECK(e.value("%rd5") == 1024u);
  CHECK(e.value("%r2") == 1024u);
  CHECK(e.value("%r3") == 1024u);
  CHECK(e["%rd9"] == e["%rd7"]);
}

TEST_CASE("bits that come from one operand each make a sum, others do not") {
  Evaluated e(R"(and.b32 %r2, %r1, 15; shl.b32 %r3, %r4, 4; or.b32 %r5, %r2, %r3; add.u32 %r6, %r2, %r3;
    xor.b32 %r7, %r2, 15; sub.u32 %r8, 15, %r2; lop3.b32 %r9, %r1, 15, %r3, 0xEA; or.b32 %r10, %r1, %r4;
    add.u32 %r11, %r1, %r4;)");
  CHECK(e["%r5"] == e["%r6"]);
  CHECK(e["%r7"] == e["%r8"]);
  CHECK(e["%r9"] == e["%r6"]);
  CHECK(e["%r10"] != e["%r11"]);
}

TEST_CASE("sums of unknown words are equal whichever way they were made") {
  Evaluated e(R"(mad.lo.u32 %r3, %r1, 4, %r2; shl.b32 %r4, %r1, 2; add.u32 %r5, %r2, %r4; sub.u32 %r6, %r3, %r2;
    add.u32 %r7, %r3, 8; setp.eq.u32 %p1, %r3, %r5; setp.ne.u32 %p2, %r7, %r5;)");
  CHECK(e["%r3"] == e["%r5"]);
  CHECK(e["%r6"] == e["%r4"]);
  CHECK(e.value("%p1") == 1u);
  CHECK(e.value("%p2") == 1u);
}

TEST_CASE("a comparison and its opposite are known as such, however they are spelled") {
  Evaluated e(R"(setp.lt.u32 %p1, %r1, %r2; setp.ge.u32 %p2, %r1, %r2; setp.gt.u32 %p3, %r2, %r1; not.pred %p4, %p2;
    setp.lt.s32 %p5, %r1, %r2; and.pred %p6, %p1, %p2; or.pred %p7, %p1, %p2; xor.pred %p8, %p1, %p3;)");
  CHECK(e["%p1"] == e["%p3"]);
  CHECK(e["%p1"] == e["%p4"]);
  CHECK(e["%p1"] != e["%p2"]);
  CHECK(e["%p1"] != e["%p5"]);
  CHECK(e.value("%p6") == 0u);
  CHECK(e.value("%p7") == 1u);
  CHECK(e.value("%p8") == 0u);
}

TEST_CASE("equal operations on equal unknown words are equal, others are not") {
  Evaluated e(R"(shr.u32 %r3, %r1, 5; shr.u32 %r4, %r1, 5; shr.s32 %r5, %r1, 5; shr.u32 %r6, %r2, 5;
    mul.lo.u32 %r7, %r1, %r2; mul.lo.u32 %r8, %r2, %r1; min.u32 %r9, %r1, 5;)");
  CHECK(e["%r3"] == e["%r4"]);
  CHECK(e["%r3"] != e["%r5"]);
  CHECK(e["%r3"] != e["%r6"]);
  CHECK(e["%r7"] == e["%r8"]);
  CHECK(e["%r9"] != e["%r1"]);
}

TEST_CASE("known bits of unknown words decide what they can") {
  Evaluated e(R"(and.b32 %r2, %r1, 3; setp.lt.u32 %p1, %r2, 4; setp.eq.u32 %p2, %r2, 8; shl.b32 %r3, %r1, 4;
    and.b32 %r4, %r3, 15; or.b32 %r5, %r3, 1; and.b32 %r6, %r5, 1;)");
  CHECK(e.value("%p1") == 1u);
  CHECK(e.value("%p2") == 0u);
  CHECK(e.value("%r4") == 0u);
  CHECK(e.value("%r6") == 1u);
}

TEST_CASE("numbers in place of unknown words give numbers, through every kind of operation") {
  Evaluated e(R"(add.u32 %r3, %r1, 63; shr.u32 %r4, %r3, 6; and.b32 %r5, %r4, 3; setp.lt.s32 %p1, %r4, %r2;
    selp.u32 %r6, %r5, 9, %p1; mul.lo.u32 %r7, %r6, %r2; xor.b32 %r8, %r7, 1;)");
  const auto at = [&](std::uint64_t a, std::uint64_t b) {
    return e.terms.value(e.evaluator.with(e["%r8"], {{e["%r1"], a}, {e["%r2"], b}}));
  };
  CHECK(at(100, 5) == ((163 / 64 % 4 * 5) ^ 1u));
  CHECK(at(1000, 5) == (45u ^ 1u));
  CHECK_FALSE(e.terms.value(e.evaluator.with(e["%r8"], {{e["%r1"], 100}})));
  CHECK(e.evaluator.pieces(e["%r8"]).contains(e["%r1"]));
  CHECK(e.evaluator.pieces(e["%r8"]).contains(e["%r2"]));
}

TEST_CASE("masks cut words into their low bits and the rest") {
  Evaluated e(R"(and.b32 %r2, %r1, 3; and.b32 %r3, %r1, -4; add.u32 %r4, %r2, %r3; shl.b32 %r5, %r1, 3;
    and.b32 %r6, %r5, 24; shl.b32 %r7, %r2, 3; not.b32 %r8, %r1; add.u32 %r9, %r8, %r1;)");
  CHECK(e["%r4"] == e["%r1"]);
  CHECK(e["%r6"] == e["%r7"]);
  CHECK(e.value("%r9") == 0xFFFFFFFFu);
}

TEST_CASE("a generic address of shared memory comes back as the address that it was") {
  Evaluated e(R"(cvta.shared.u64 %rd2, %rd1; add.u64 %rd3, %rd2, 8; cvta.to.shared.u64 %rd4, %rd3;
    sub.u64 %rd5, %rd4, %rd1;)");
  CHECK(e["%rd2"] != e["%rd1"]);
  CHECK(e.value("%rd5") == 8u);
}

TEST_CASE("signed fields and upper halves of numbers are numbers") {
  Evaluated e(R"(mov.u32 %r1, 0xF4; bfe.s32 %r2, %r1, 4, 4; bfe.s32 %r3, %r1, 0, 3; bfe.s32 %r4, %r1, 2, 1;
    mov.u64 %rd1, 0xFFFFFFFFFFFFFFFF; mul.hi.u64 %rd2, %rd1, %rd1;)");
  CHECK(e.value("%r2") == 0xFFFFFFFFu);
  CHECK(e.value("%r3") == 0xFFFFFFFCu);
  CHECK(e.value("%r4") == 0xFFFFFFFFu);
  CHECK(e.value("%rd2") == 0xFFFFFFFFFFFFFFFEu);
}

TEST_CASE("floats that are numbers are computed, and compared") {
  Evaluated e(R"(
    .reg .f32 %f<6>;
    mov.u32 %r0, 96; cvt.rn.f32.u32 %f0, %r0; mul.f32 %f1, %f0, 0f3D000000;
    cvt.rzi.s32.f32 %r1, %f1; setp.leu.f32 %p0, %f1, 0f40400000; setp.gt.f32 %p1, %f1, 0f40400000;
    mul.rz.f32 %f2, %f0, 0f3D000000; mul.f32 %f3, %f0, 0f00000001; mul.f32 %f4, %f5, 0f3D000000;
  )");
  CHECK(e.value("%f1") == 0x40400000);
  CHECK(e.value("%r1") == 3);
  CHECK(e.value("%p0") == 1);
  CHECK(e.value("%p1") == 0);
  CHECK_FALSE(e.value("%f2"));  // another rounding
  CHECK_FALSE(e.value("%f3"));  // subnormal
  CHECK_FALSE(e.value("%f4"));
}

TEST_CASE("a predicate that was kept as a number is that predicate") {
  Evaluated e(R"(
    .reg .b32 %a, %b; .reg .pred %q<4>;
    setp.lt.s32 %p4, %a, %b; selp.b32 %r0, 16, 0, %p4; selp.b32 %r1, %a, 0, %p4;
    setp.ne.s32 %q0, %r0, 0; setp.lt.u32 %q1, %r0, 8; setp.eq.s32 %q2, %r0, 3; setp.ne.s32 %q3, %r1, 0;
  )");
  const TermId one = e.terms.constant(1, 1);
  CHECK(e["%q0"] == e["%p4"]);
  CHECK(e["%q1"] == e.terms.add(e["%p4"], one));
  CHECK(e.value("%q2") == 0);
  CHECK(e["%q3"] != e["%p4"]);
}

TEST_CASE("a narrow word in a wide sum is filled up by zeros before a number takes its place") {
  Evaluated e("cvt.u64.u32 %rd1, %r1; mov.u64 %rd2, 5; sub.s64 %rd3, %rd2, %rd1;");
  CHECK(e.terms.value(e.evaluator.with(e["%rd3"], {{e["%r1"], 3}})) == 2u);
  CHECK(e.terms.value(e.evaluator.with(e["%rd3"], {{e["%r1"], 6}})) == ~std::uint64_t{0});
}

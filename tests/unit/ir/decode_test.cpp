#include <doctest/doctest.h>

#include <chrono>

#include "ptx/diag/render.hpp"
#include "ptx/ir/code.hpp"
#include "ptx/parse/parse.hpp"

using namespace kiln;
using Kind = ir::Argument::Kind;

namespace {

// A kernel `k` with a body, decoded.
struct Decoded {
  explicit Decoded(const std::string& body, const std::string& before = {}) {
    const std::string text = ".version 9.0\n.target sm_100a\n.address_size 64\n" + before +
                             "\n.visible .entry k(.param .u64 k_a, .param .u32 k_n)\n{\n" + body + "\n}\n";
    module = parse::parse(std::make_shared<diag::Source>("t.ptx", text), sink);
    code = ir::decode(module, *module.find_function("k"), sink);
  }
  const ir::Operation& op(std::size_t i) const { return code.operations.at(i); }
  const ir::RegisterInfo& reg(const ir::Argument& a) const { return code.registers.at(a.id); }

  diag::Sink sink;
  ir::Module module;
  ir::Code code;
};

}  // namespace

TEST_CASE("members of a parameterised set become registers when they are named") {
  const Decoded d(".reg .b32 %r<100>; .reg .b64 %rd<3>; mov.u32 %r7, %r99; mov.u64 %rd2, 1;");
  REQUIRE(d.sink.all().empty());
  CHECK(d.code.registers.size() == 3);
  CHECK(d.reg(d.op(0).arg(0)).name == "%r7");
  CHECK(d.reg(d.op(0).arg(1)).name == "%r99");
  CHECK(d.reg(d.op(1).arg(0)).type == isa::ScalarType::b64);
}

TEST_CASE("a set as large as a number can be costs nothing") {
  const Decoded d(".reg .b32 %r<1000000000>; mov.u32 %r999999999, 0;");
  CHECK(d.sink.all().empty());
  CHECK(d.code.registers.size() == 1);
}

TEST_CASE("a member beyond the set, or with a leading zero, is not declared") {
  const Decoded d(".reg .b32 %r<10>; mov.u32 %r10, 0; mov.u32 %r03, 0; mov.u32 %r9, 0;");
  CHECK(d.sink.count(diag::Severity::error) == 2);
  CHECK(d.sink.all()[0].slug == "undeclared-name");
}

TEST_CASE("a register hides special registers that its name begins, and a set does not") {
  const Decoded hidden(".reg .b32 %tid; .reg .b32 %r1; mov.u32 %r1, %tid.x;");
  CHECK(hidden.sink.count(diag::Severity::error) == 1);
  CHECK(hidden.sink.all()[0].slug == "undeclared-name");
  CHECK(Decoded(".reg .b32 %tid<3>; .reg .b32 %laneid; mov.u32 %tid1, %tid.x; mov.u32 %laneid, 1;").sink.all().empty());
}

TEST_CASE("the base of a set may end in digits") {
  const Decoded d(".reg .b32 %r1<5>; .reg .b64 %r<3>; mov.u32 %r14, 0; mov.u64 %r2, 0;");
  CHECK(d.sink.all().empty());
  CHECK(d.reg(d.op(0).arg(0)).type == isa::ScalarType::b32);
  CHECK(d.reg(d.op(1).arg(0)).type == isa::ScalarType::b64);
}

TEST_CASE("an inner declaration hides an outer one until its block ends") {
  const Decoded d(R"(.reg .b32 %r<4>; .reg .pred p; mov.u32 %r1, 0;
    { .reg .b64 %r<4>; .reg .b32 p; mov.u64 %r1, 0; mov.u32 p, 0; }
    mov.u32 %r1, 1; @p mov.u32 %r2, 0;)");
  CHECK(d.sink.all().empty());
  CHECK(d.op(0).arg(0).id == d.op(3).arg(0).id);
  CHECK(d.op(1).arg(0).id != d.op(0).arg(0).id);
  CHECK(d.reg(d.op(1).arg(0)).type == isa::ScalarType::b64);
  CHECK(d.code.registers[*d.op(4).guard].type == isa::ScalarType::pred);
}

TEST_CASE("an exact name in an inner block hides a set, and a set there hides an exact name") {
  const Decoded d(R"(.reg .b32 %r<4>; .reg .b32 %q1; mov.u32 %r1, %q1;
    { .reg .b64 %r1; .reg .b64 %q<3>; mov.u64 %r1, %q1; } mov.u32 %r1, %q1;)");
  CHECK(d.sink.all().empty());
  CHECK(d.reg(d.op(1).arg(0)).type == isa::ScalarType::b64);
  CHECK(d.reg(d.op(1).arg(1)).type == isa::ScalarType::b64);
  CHECK(d.op(2).arg(0).id == d.op(0).arg(0).id);
  CHECK(d.op(2).arg(1).id == d.op(0).arg(1).id);
}

TEST_CASE("blocks may repeat labels, and branches find the nearest") {
  const Decoded d(R"(.reg .pred p;
    { WAIT: @p bra DONE; bra WAIT; DONE: }
    { WAIT: @p bra DONE; bra WAIT; DONE: }
    ret;)");
  CHECK(d.sink.all().empty());
  CHECK(d.op(0).arg(0).id == 2);
  CHECK(d.op(1).arg(0).id == 0);
  CHECK(d.op(2).arg(0).id == 4);
  CHECK(d.op(3).arg(0).id == 2);
  CHECK(d.code.label_before(3, "WAI") == "WAIT");
  CHECK(d.code.label_before(0, "DONE").empty());
}

TEST_CASE("a label at the end of a function follows its last operation") {
  const Decoded d("bra END; END:");
  CHECK(d.op(0).arg(0).kind == Kind::label);
  CHECK(d.op(0).arg(0).id == 1);
}

TEST_CASE("labels without a definition and labels defined twice are errors") {
  const Decoded d("bra NOWHERE; bra NOWHERE; L: L: ret;");
  REQUIRE(d.sink.all().size() == 2);
  CHECK(d.sink.all()[0].slug == "duplicate-name");
  CHECK(d.sink.all()[1].message == "a label must be declared before it is used; got 'NOWHERE'");
  CHECK(d.op(0).arg(0).kind == Kind::raw);
}

TEST_CASE("names declared twice in one scope are errors, each at its place") {
  const Decoded d(".reg .b32 a; .reg .b32 a; .reg .b32 %r<3>; .reg .b32 %r2; .reg .b64 %r<5>; .shared .b32 k_a;");
  CHECK(d.sink.count(diag::Severity::error) == 3);
  for (const auto& found : d.sink.all()) CHECK(found.slug == "duplicate-name");
}

TEST_CASE("variables of the module are symbols when they are named, those of the function always") {
  const Decoded d(".shared .align 8 .b64 mine; .reg .b64 %rd<3>; mov.u64 %rd1, theirs+8; ld.param.u64 %rd2, [k_a];",
                  ".shared .align 16 .b8 theirs[64];\n.global .b32 unused;");
  CHECK(d.sink.all().empty());
  REQUIRE(d.code.symbols.size() == 4);  // k_a, k_n, mine, theirs
  const ir::Argument& theirs = d.op(0).arg(1);
  CHECK(theirs.kind == Kind::symbol);
  CHECK(theirs.value == 8);
  CHECK(d.code.symbols[theirs.id].is_module_scope);
  const ir::Argument& a = d.code.components(d.op(1).arg(1))[0];
  CHECK(d.code.symbols[a.id].is_parameter);
  CHECK(d.code.symbols[a.id].parameter_index == 0);
}

TEST_CASE("vector registers are as many registers as they have components") {
  const Decoded d(
      ".reg .v2 .f32 %v; .reg .f32 %f<4>; mov.v2.f32 %v, {%f1, %f2}; add.f32 %f3, %v.x, %v.y; mov.f32 %f1, %v.r;");
  CHECK(d.sink.all().empty());
  REQUIRE(d.op(0).arg(0).kind == Kind::vector);
  const auto parts = d.code.components(d.op(0).arg(0));
  CHECK(d.op(1).arg(1).id == parts[0].id);
  CHECK(d.op(1).arg(2).id == parts[1].id);
  CHECK(d.op(2).arg(1).id == parts[0].id);
  CHECK(d.code.registers[parts[1].id].name == "%v.y");
}

TEST_CASE("parts of registers are registers in video instructions alone") {
  const Decoded d(".reg .b32 %r<4>; vadd.u32.u32.u32 %r1, %r2.h1, %r3.b3; add.u32 %r1, %r2.h1, 0;");
  CHECK(d.reg(d.op(0).arg(1)).name == "%r2");
  CHECK(d.reg(d.op(0).arg(2)).name == "%r3");
  REQUIRE(d.sink.all().size() == 1);
  CHECK(d.sink.all()[0].slug == "undeclared-name");
}

TEST_CASE("vmad may negate a register, whole or in part") {
  const Decoded d(".reg .b32 %r<5>; vmad.s32.s32.s32 %r1, -%r2.h1, %r3, -%r4; vmad.s32.s32.s32 %r1, -%x, %r3, %r4;");
  CHECK(d.reg(d.op(0).arg(1)).name == "%r2");
  CHECK(d.op(0).arg(1).negated);
  CHECK(!d.op(0).arg(2).negated);
  CHECK(d.reg(d.op(0).arg(3)).name == "%r4");
  CHECK(d.op(0).arg(3).negated);
  CHECK(d.op(1).arg(1).kind == Kind::raw);
}

TEST_CASE("special registers keep their number") {
  const Decoded d(".reg .b32 %r<3>; mov.u32 %r1, %tid.x; mov.u32 %r2, %envreg7;");
  CHECK(d.sink.all().empty());
  CHECK(ir::Special(d.op(0).arg(1).id) == ir::Special::tid_x);
  CHECK(ir::Special(d.op(1).arg(1).id) == ir::Special::envreg);
  CHECK(d.op(1).arg(1).value == 7);
  CHECK(ir::special_register("WARP_SZ") == ir::Special::warp_size);
  // PTX ISA "%tid": the fourth element of a vector is unused and zero; ptxas takes that of each of them.
  for (const char* name : {"%tid.w", "%ctaid.w", "%clusterid.w", "%nclusterid.w"})
    CHECK(ir::special_register(name) == ir::Special::fourth);
  CHECK(ir::special_register("%laneid.w") == ir::Special::none);
  CHECK(ir::spelling(ir::Special::cluster_ctarank) == "%cluster_ctarank");
}

TEST_CASE("what is written and read follows the opcode") {
  const Decoded d(R"(.reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .pred p, q; .shared .b64 bar;
    setp.eq.u32 p|q, %r1, %r2;
    ld.global.v2.u32 {%r3, %r4}, [%rd1+8];
    @!p st.shared.u32 [%r5], %r6;
    mbarrier.arrive.shared::cta.b64 %rd2, [bar];
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], %r7;
    tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1, %r2}, [%r8];)");
  const auto names = [&](const std::vector<ir::RegisterId>& ids) {
    std::string out;
    for (ir::RegisterId r : ids) out += d.code.registers[r].name + " ";
    return out;
  };
  CHECK(d.sink.all().empty());
  CHECK(names(d.code.written(d.op(0))) == "p q ");
  CHECK(names(d.code.read(d.op(0))) == "%r1 %r2 ");
  CHECK(names(d.code.written(d.op(1))) == "%r3 %r4 ");
  CHECK(names(d.code.read(d.op(1))) == "%rd1 ");
  CHECK(names(d.code.read(d.op(2))) == "p %r5 %r6 ");
  CHECK(d.op(2).guard_negated);
  CHECK(names(d.code.written(d.op(3))) == "%rd2 ");
  CHECK(names(d.code.written(d.op(4))).empty());
  CHECK(names(d.code.read(d.op(4))) == "%r7 ");
  CHECK(names(d.code.written(d.op(5))) == "%r1 %r2 ");
}

TEST_CASE("calls know their results, their callee and their arguments") {
  const Decoded d(R"(.reg .b32 %r<4>; .reg .b64 %rd<2>; .param .b32 out; .param .b64 in;
    call.uni (out), f, (in);
    call (%r1), %rd1, (%r2), proto;
    proto: .callprototype (.reg .b32 _) _ (.reg .b32 _);)",
                  ".func (.param .b32 r) f(.param .b64 a);");
  CHECK(d.op(0).arg(1).kind == Kind::function);
  CHECK(d.code.components(d.op(0).arg(0))[0].kind == Kind::symbol);
  CHECK(d.code.written(d.op(1)) == std::vector<ir::RegisterId>{d.code.components(d.op(1).arg(0))[0].id});
  CHECK(d.code.read(d.op(1)).size() == 2);
}

TEST_CASE("branch tables hold the positions of their labels") {
  const Decoded d(R"(.reg .b32 %r<2>; ts: .branchtargets A, B, A; brx.idx %r1, ts; A: ret; B: trap;)");
  CHECK(d.sink.all().empty());
  REQUIRE(d.op(0).arg(1).kind == Kind::table);
  CHECK(d.code.tables[d.op(0).arg(1).id] == std::vector<std::uint32_t>{1, 2, 1});
}

TEST_CASE("the source line of an instruction is that of the last .loc") {
  const Decoded d(".loc 1 42 0\nret;", ".file 1 \"kernel.cu\"");
  const diag::Where w = d.code.where(d.op(0));
  CHECK(w.file == "kernel.cu");
  CHECK(w.line == 42);
  CHECK(ir::file_name(d.module, 2).empty());
}

TEST_CASE("a megabyte of PTX decodes in much less than a second") {
  std::string body = ".reg .b32 %r<30000>;\n";
  while (body.size() < 1 << 20) {
    const std::string n = std::to_string(body.size() / 40 % 29998 + 1);
    body += "add.s32 %r" + n + ", %r0, %r" + n + ";\nL" + std::to_string(body.size()) + ":\n";
  }
  diag::Sink sink;
  const std::string text = ".version 9.0\n.target sm_100a\n.address_size 64\n.entry k() {\n" + body + "}\n";
  const ir::Module module = parse::parse(std::make_shared<diag::Source>("t.ptx", text), sink);
  const auto start = std::chrono::steady_clock::now();
  const ir::Code code = ir::decode(module, *module.find_function("k"), sink);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  CHECK(sink.all().empty());
  MESSAGE("decoded ", code.operations.size(), " operations in ", took.count() * 1e3, " ms");
  CHECK(took.count() < 1.0);
}

#include "ptx/flow/loaded.hpp"

#include "tests/unit/flow/analysed.hpp"

using kiln::test::Analysed;
using namespace kiln;
using flow::Lanes;

namespace {

Lanes lanes(const std::string& body, const std::string& name, const std::string& head = ".reqntid 128") {
  const Analysed k("ld.param.u64 %rd1, [a]; mov.u32 %r1, %tid.x; " + body + " ret;", head);
  return flow::Loaded(k.code, k.definitions, k.uniformity).lanes(k.reg(name));
}

const std::string own = "mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2; ld.global.b32 %r2, [%rd3]; ";

}  // namespace

TEST_CASE("a word that each thread loads from its own place is its own, and so is what is computed from it") {
  CHECK(lanes(own, "%rd3") == Lanes::differs);
  CHECK(lanes(own, "%r2") == Lanes::own);
  CHECK(lanes(own + "and.b32 %r3, %r2, 3; setp.eq.u32 %p1, %r3, 1;", "%p1") == Lanes::own);
  CHECK(lanes(own + "setp.eq.u32 %p1, %r2, 1; mov.b32 %r3, 0; @%p1 mov.b32 %r3, 1;", "%r3") == Lanes::own);
  CHECK(lanes(own + "mad.wide.u32 %rd4, %r2, 4, %rd1; ld.global.b32 %r3, [%rd4];", "%r3") == Lanes::own);
  CHECK(lanes("L: add.u64 %rd1, %rd1, 64; " + own + "setp.ne.u32 %p1, %r2, 0; @%p1 bra L;", "%p1") == Lanes::own);
}

TEST_CASE("a word from one place, or from one for each warp, is the same in all lanes") {
  CHECK(lanes("ld.global.b32 %r2, [%rd1];", "%r2") == Lanes::same);
  CHECK(lanes("ld.param.b32 %r2, [n];", "%r2") == Lanes::same);
  CHECK(lanes("shr.u32 %r2, %r1, 5; mad.wide.u32 %rd2, %r2, 4, %rd1; ld.global.b32 %r3, [%rd2];", "%r3") ==
        Lanes::same);
  CHECK(lanes("mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2; ld.global.b32 %r2, [%rd3];", "%r2", ".reqntid 1") ==
        Lanes::same);
}

TEST_CASE("what lanes tell each other, and differences that may be gone, are unclear") {
  CHECK(lanes(own + "shfl.sync.bfly.b32 %r3, %r2, 1, 31, -1; max.u32 %r4, %r2, %r3;", "%r4") == Lanes::unclear);
  CHECK(lanes(own + "setp.ne.u32 %p1, %r2, 0; vote.sync.any.pred %p2, %p1, -1;", "%p2") == Lanes::unclear);
  CHECK(lanes("cvt.u64.u32 %rd2, %r1; add.u64 %rd3, %rd1, %rd2; shr.u64 %rd4, %rd3, 5; ld.global.b32 %r2, [%rd4];",
              "%r2") == Lanes::unclear);
  CHECK(lanes("ld.local.b32 %r2, [%rd1];", "%r2") == Lanes::unclear);
}

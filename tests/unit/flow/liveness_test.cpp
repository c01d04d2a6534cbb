#include "ptx/flow/liveness.hpp"

#include "tests/unit/flow/analysed.hpp"

using kiln::test::Analysed;
using namespace kiln;

namespace {

struct Measured : Analysed {
  explicit Measured(const std::string& body) : Analysed(body) {}
  flow::Liveness liveness{code, cfg, definitions};
  std::uint32_t at(std::uint32_t operation) const { return liveness.words_at(operation); }
};

}  // namespace

TEST_CASE("a register is live from where it is written to where it is last read") {
  const Measured k("mov.u32 %r1, 1; mov.u32 %r2, 2; add.u32 %r3, %r1, %r2; st.shared.u32 [slot], %r3; ret;");
  CHECK(k.at(0) == 1);
  CHECK(k.at(1) == 2);
  CHECK(k.at(2) == 2);
  CHECK(k.at(3) == 1);
  CHECK(k.at(4) == 0);
}

TEST_CASE(
    "a register of 64 bits is two words, one of 16 one, a predicate none, and an unread value is one at birth") {
  const Measured k(R"(ld.param.u64 %rd1, [a]; mov.u16 %h1, 1; setp.ne.u64 %p1, %rd1, 0; mov.u32 %r9, 1;
    @%p1 st.global.u16 [%rd1], %h1; ret;)");
  CHECK(k.at(0) == 2);
  CHECK(k.at(1) == 3);
  CHECK(k.at(2) == 3);
  CHECK(k.at(3) == 4);
  CHECK(k.at(4) == 3);
}

TEST_CASE("what a loop reads again is live all around it, and what a branch alone needs is not live on the other") {
  const Measured k(R"(ld.param.u32 %r1, [n]; mov.u32 %r2, 0;
    L: add.u32 %r2, %r2, 1; mov.u32 %r3, 7; setp.lt.u32 %p1, %r2, %r1; @%p1 bra L;
    mov.u32 %r4, 1; mov.u32 %r5, 2; setp.eq.u32 %p2, %r4, %r5; @%p2 bra M; st.shared.u32 [slot], %r5; bra N;
    M: st.shared.u32 [slot], %r4; N: ret;)");
  CHECK(k.at(3) == 3);  // n, the counter, the new one
  CHECK(k.at(5) == 2);
  CHECK(k.at(8) == 2);
  CHECK(k.at(10) == 1);
}

TEST_CASE("a guarded write leaves the value alive that was there before") {
  const Measured k(R"(mov.u32 %r1, 1; ld.param.u32 %r2, [n]; setp.eq.u32 %p1, %r2, 0;
    @%p1 mov.u32 %r1, 2; st.shared.u32 [slot], %r1; ret;)");
  CHECK(k.at(1) == 2);
  CHECK(k.at(3) == 1);
  const Measured all(R"(mov.u32 %r1, 1; ld.param.u32 %r2, [n]; setp.eq.u32 %p1, %r2, 0;
    mov.u32 %r1, 2; st.shared.u32 [slot], %r1; ret;)");
  CHECK(all.at(1) == 1);
}

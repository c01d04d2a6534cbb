// How many ways exploring follows where words are not known.
#include "tests/unit/verifier/explored.hpp"

namespace verifier_ways {

using namespace kiln;
using namespace kiln::test;

namespace {

// One warp: `declared`, and then `body` with two parameters and an mbarrier for one arrival.
std::string one_warp(const std::string& body) {
  return ".version 8.7\n.target sm_100a\n.address_size 64\n"
         ".visible .entry k(.param .u32 n, .param .u32 m, .param .u64 in) .reqntid 32 {\n"
         "  .reg .pred %p, %q; .reg .b32 %t, %n, %m, %x, %i, %start; .reg .b64 %in;\n"
         "  .shared .align 8 .b64 bar; .shared .align 8 .b64 never;\n"
         "  ld.param.u32 %n, [n];\n  ld.param.u32 %m, [m];\n  ld.param.u64 %in, [in];\n"
         "  mov.u32 %t, %tid.x;\n  setp.ne.u32 %p, %t, 0;\n  mov.u32 %x, 0;\n"
         "  @%p bra READY;\n  mbarrier.init.shared::cta.b64 [bar], 1;\n  mbarrier.init.shared::cta.b64 [never], 1;\n"
         "READY:\n  bar.warp.sync -1;\n" +
         body + "DONE:\n  ret;\n}\n";
}

const std::string turn =
    "  mbarrier.arrive.shared::cta.b64 _, [bar];\nAGAIN:\n"
    "  mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], %x;\n  @!%q bra AGAIN;\n  xor.b32 %x, %x, 1;\n";

}  // namespace

TEST_CASE("a loop that begins anew with what is left of a bound counts towards it in each round") {
  const std::string right = one_warp(
      "  @%p bra DONE;\n  setp.lt.s32 %p, %n, 1;\n  @%p bra DONE;\n"
      "  neg.s32 %start, %n;\n  mov.u32 %t, 0;\nOUTER:\n"
      "  setp.ge.s32 %p, %t, %m;\n  @%p bra DONE;\n  mov.u32 %i, %start;\nINNER:\n" +
      turn +
      "  add.s32 %i, %i, 1;\n  setp.ne.s32 %p, %i, 0;\n  @%p bra INNER;\n"
      "  add.s32 %t, %t, 1;\n  bra OUTER;\n");
  const Protocol p = protocol(right);
  CHECK_MESSAGE(p.is_right(), p.incomplete);
  CHECK_FALSE(protocol(replaced(right, "xor.b32 %x, %x, 1;", "")).is_right());
  // The parity of the second round is right only if the first one had an even count.
  CHECK_FALSE(protocol(replaced(right, "mov.u32 %i, %start;", "mov.u32 %i, %start;\n  mov.u32 %x, 0;")).is_right());
}

TEST_CASE("what is assumed of a word made of a parameter decides what the parameter is not") {
  const std::string right = one_warp(
      "  shr.u32 %i, %n, 7;\n  setp.lt.u32 %p, %i, 3;\n  @%p bra DONE;\n"
      "  setp.ne.u32 %p, %n, 0;\n  @%p bra DONE;\nSTUCK:\n"
      "  mbarrier.try_wait.parity.shared::cta.b64 %q, [never], 0;\n  @!%q bra STUCK;\n");
  const Protocol p = protocol(right);
  CHECK_MESSAGE(p.is_right(), p.incomplete);
  CHECK(protocol(replaced(right, "setp.ne.u32 %p, %n, 0;", "setp.ne.u32 %p, %n, 400;")).stands_still);
}

TEST_CASE("what the lanes of a warp vote is one word for all of them") {
  // Each lane has a word of its own. All of the warp wait, or none do.
  const std::string right = one_warp(
      "  mad.wide.u32 %in, %t, 4, %in;\n  ld.relaxed.gpu.global.u32 %i, [%in];\n"
      "  setp.lt.u32 %q, %i, 5;\n  vote.sync.ballot.b32 %i, %q, -1;\n"
      "  setp.eq.u32 %q, %i, 0;\n  @%q bra DONE;\n  @%p bra WAIT;\n"
      "  mbarrier.arrive.shared::cta.b64 _, [bar];\nWAIT:\n"
      "  mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0;\n  @!%q bra WAIT;\n");
  const Protocol p = protocol(right);
  CHECK_MESSAGE(p.is_right(), p.incomplete);
  // A lane that goes by its own word may wait for lane 0, which does not arrive.
  CHECK_FALSE(protocol(replaced(right, "setp.eq.u32 %q, %i, 0;", "setp.eq.u32 %q, %t, %i;")).is_right());
}

TEST_CASE("a vote on a parameter is what the parameter says") {
  const std::string right = one_warp(
      "  setp.lt.u32 %q, %n, 5;\n  vote.sync.any.pred %q, %q, -1;\n  @!%q bra DONE;\n"
      "  setp.ge.u32 %q, %n, 5;\n  @!%q bra DONE;\nSTUCK:\n"
      "  mbarrier.try_wait.parity.shared::cta.b64 %q, [never], 0;\n  @!%q bra STUCK;\n");
  const Protocol p = protocol(right);
  CHECK_MESSAGE(p.is_right(), p.incomplete);
  CHECK(protocol(replaced(right, "setp.ge.u32 %q, %n, 5;", "setp.ge.u32 %q, %n, 4;")).stands_still);
}

TEST_CASE("what threads do on one way alone is not ordered by what they do there") {
  // Tensor memory is stored to before the branch; the wait for that stands on one way alone. Warp 4 reads it.
  const std::string right =
      ".version 8.7\n.target sm_100a\n.address_size 64\n.visible .entry k(.param .u64 in) .reqntid 160 {\n"
      "  .reg .pred %p, %q; .reg .b32 %t, %warp, %x, %tm, %v; .reg .b64 %in;\n"
      "  .shared .align 4 .b32 cell; .shared .align 8 .b64 full;\n  ld.param.u64 %in, [in];\n"
      "  mov.u32 %t, %tid.x;\n  shr.u32 %warp, %t, 5;\n  setp.ne.u32 %p, %t, 0;\n  @%p bra ALLOC;\n"
      "  mbarrier.init.shared::cta.b64 [full], 32;\nALLOC:\n  setp.ne.u32 %p, %warp, 0;\n  @%p bra READY;\n"
      "  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [cell], 32;\nREADY:\n"
      "  tcgen05.fence::before_thread_sync;\n  bar.sync 0;\n  tcgen05.fence::after_thread_sync;\n"
      "  ld.shared.u32 %tm, [cell];\n  setp.eq.u32 %p, %warp, 4;\n  @%p bra READ;\n"
      "  setp.ne.u32 %p, %warp, 0;\n  @%p bra LAST;\n"
      "  tcgen05.st.sync.aligned.32x32b.x1.b32 [%tm], {%t};\n  tcgen05.wait::st.sync.aligned; // before\n"
      "  ld.relaxed.gpu.global.u32 %x, [%in];\n  setp.eq.u32 %q, %x, 0;\n  vote.sync.any.pred %q, %q, -1;\n"
      "  @%q bra ON;\n  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%v}, [%tm];\n  tcgen05.wait::ld.sync.aligned;\n"
      "  tcgen05.st.sync.aligned.32x32b.x1.b32 [%tm], {%v};\n  tcgen05.wait::st.sync.aligned; // inside\nON:\n"
      "  tcgen05.fence::before_thread_sync;\n  mbarrier.arrive.shared::cta.b64 _, [full];\n  bra LAST;\nREAD:\n"
      "  mbarrier.try_wait.parity.shared::cta.b64 %q, [full], 0;\n  @!%q bra READ;\n"
      "  tcgen05.fence::after_thread_sync;\n  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%v}, [%tm];\n"
      "  tcgen05.wait::ld.sync.aligned;\nLAST:\n  tcgen05.fence::before_thread_sync;\n  bar.sync 0;\n"
      "  tcgen05.fence::after_thread_sync;\n  setp.ne.u32 %p, %warp, 0;\n  @%p bra DONE;\n"
      "  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tm, 32;\nDONE:\n  ret;\n}\n";
  const Protocol p = protocol(right);
  CHECK_MESSAGE(p.is_right(), p.incomplete);
  CHECK_FALSE(protocol(replaced(right, "  tcgen05.wait::st.sync.aligned; // before\n", "")).is_right());
  CHECK_FALSE(protocol(replaced(right, "  tcgen05.wait::st.sync.aligned; // inside\n", "")).is_right());
}

}  // namespace verifier_ways

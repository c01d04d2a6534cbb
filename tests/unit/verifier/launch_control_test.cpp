// Work that is taken over from clusters that have not started: every thread that reads an answer takes the same branch.
#include <doctest/doctest.h>

#include "tests/unit/verifier/explored.hpp"

namespace verifier_launch_control {

using namespace kiln;
using test::Protocol;
using test::protocol;
using test::with;

namespace {

// A thread asks for another tile for as long as there is one; a thread of another warp works on it. Both read the
// answer.
std::string asks_for_more() {
  const std::string read =
      "  mbarrier.try_wait.parity.shared::cta.b64 %q, [full], %phase;\n  @!%q bra WAIT_ROLE;\n"
      "  ld.shared.b128 %answer, [answers];\n"
      "  clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p, %answer;\n"
      "  fence.proxy.async.shared::cta;\n"
      "  mbarrier.arrive.shared::cta.b64 _, [empty];\n"
      "  xor.b32 %phase, %phase, 1;\n";
  const auto read_by = [&](const std::string& role) {
    std::string text = "WAIT_ROLE:\n" + read;
    for (std::size_t at; (at = text.find("_ROLE")) != std::string::npos;) text.replace(at, 5, role);
    return text;
  };
  return ".version 8.7\n.target sm_100a\n.address_size 64\n.visible .entry k() .reqntid 64 {\n"
         "  .reg .pred %p, %q;\n  .reg .b32 %t, %phase, %other;\n  .reg .b128 %answer;\n"
         "  .shared .align 16 .b8 answers[16];\n  .shared .align 8 .b64 full;\n  .shared .align 8 .b64 empty;\n"
         "  mov.u32 %t, %tid.x;\n  mov.u32 %phase, 0;\n  setp.ne.u32 %p, %t, 0;\n  @%p bra READY;\n"
         "  mbarrier.init.shared::cta.b64 [full], 1;\n  mbarrier.init.shared::cta.b64 [empty], 2;\n"
         "  fence.mbarrier_init.release.cluster;\nREADY:\n  barrier.cta.sync.aligned 0;\n"
         "  setp.eq.u32 %p, %t, 32;\n  @%p bra work;\n  setp.ne.u32 %p, %t, 0;\n  @%p bra DONE;\n"
         "ask:\n  xor.b32 %other, %phase, 1;\nFREE:\n"
         "  mbarrier.try_wait.parity.shared::cta.b64 %q, [empty], %other;\n  @!%q bra FREE;\n"
         "  mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 16;\n"
         "  clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [answers], [full];\n" +
         read_by("_ASK") + "  @%p bra ask;\n  bra DONE;\nwork:\n" + read_by("_WORK") +
         "  @%p bra work;\nDONE:\n  ret;\n}\n";
}

}  // namespace

TEST_CASE("a loop over cancelled launches is proven for any number of them, as all readers of an answer agree") {
  const Protocol p = protocol(asks_for_more());
  CHECK_MESSAGE(p.is_right(), p.incomplete);
}

TEST_CASE("an answer that is overwritten while it is read, or never comes, is not proven") {
  const std::string right = asks_for_more();
  CHECK_FALSE(
      protocol(with(right, "mbarrier.init.shared::cta.b64 [empty], 2", "mbarrier.init.shared::cta.b64 [empty], 1;"))
          .is_right());
  CHECK_FALSE(protocol(with(right, "mbarrier.arrive.shared::cta.b64 _, [empty]", "", 2)).is_right());
  CHECK(protocol(with(right, "mbarrier.arrive.expect_tx", "mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 32;"))
            .stands_still);
  CHECK(protocol(with(right, "clusterlaunchcontrol.try_cancel", "")).stands_still);
  // A wait less: the answer is read before it is there.
  CHECK_FALSE(protocol(with(right, "mbarrier.try_wait.parity.shared::cta.b64 %q, [full]", "setp.eq.u32 %q, 0, 0;", 2))
                  .is_right());
}

}  // namespace verifier_launch_control

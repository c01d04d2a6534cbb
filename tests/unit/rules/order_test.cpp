#include "tests/unit/rules/switch.hpp"

#include "ptx/rules/tcgen05_order.hpp"

using namespace kiln::rules;
using kiln::test::is_broken;

TEST_CASE("tcgen05-mma-issuer: one thread, or none") {
  CHECK(mma_issuer(0).ok());
  CHECK(mma_issuer(1).ok());
  CHECK(is_broken(mma_issuer(2), Rule::mma_issuer, 1));
  CHECK(is_broken(mma_issuer(32), Rule::mma_issuer, 1));
}

TEST_CASE("tcgen05-mma-wait: commit behind the MMA, wait behind the commit") {
  const MmaState issued = step(MmaState::settled, MmaEvent::mma).next;
  const MmaState committed = step(issued, MmaEvent::commit).next;
  CHECK(step(MmaState::settled, MmaEvent::read).verdict.ok());
  CHECK(is_broken(step(issued, MmaEvent::read).verdict, Rule::mma_wait));
  CHECK(is_broken(step(committed, MmaEvent::read).verdict, Rule::mma_wait));
  CHECK(step(step(committed, MmaEvent::wait).next, MmaEvent::read).verdict.ok());
  // The wait without the commit, the commit without the MMA, and an MMA behind the commit.
  CHECK(step(issued, MmaEvent::wait).next == MmaState::issued);
  CHECK(step(MmaState::settled, MmaEvent::commit).next == MmaState::settled);
  CHECK(step(committed, MmaEvent::mma).next == MmaState::issued);
}

TEST_CASE("tcgen05-fence-after: the wait asks for the fence, the fence settles it") {
  const FenceState waited = step(FenceState::ordered, FenceEvent::wait).next;
  CHECK(waited == FenceState::waited);
  CHECK(step(FenceState::ordered, FenceEvent::read).verdict.ok());
  CHECK(is_broken(step(waited, FenceEvent::read).verdict, Rule::fence_after));
  CHECK(step(waited, FenceEvent::read).next == FenceState::waited);
  CHECK(step(step(waited, FenceEvent::fence).next, FenceEvent::read).verdict.ok());
}

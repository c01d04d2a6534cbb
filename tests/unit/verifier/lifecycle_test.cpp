// The life of CTAs and mbarriers as exploring sees it: what is not there yet, and what is gone, for each thread.
#include <doctest/doctest.h>

#include "tests/unit/verifier/explored.hpp"

namespace verifier_lifecycle {

using namespace kiln;
using namespace kiln::test;

namespace {

// Each CTA of a pair stores a word in the other, arrives there, and waits for what comes.
const std::string pair = preamble + R"(
.visible .entry pair(.param .u64 D) .reqntid 32 .reqnctapercluster 2
{
  .reg .pred %q, %first; .reg .b32 %t, %rank, %peer, %at, %v; .reg .b64 %D;
  .shared .align 16 .b8 word[128];
  .shared .align 8 .b64 bar;
  ld.param.u64 %D, [D];
  mov.u32 %t, %tid.x;
  mov.u32 %rank, %cluster_ctarank;
  xor.b32 %peer, %rank, 1;
  setp.eq.u32 %first, %t, 0;
  @%first mbarrier.init.shared::cta.b64 [bar], 32;
  @%first fence.mbarrier_init.release.cluster;
  bar.warp.sync 0xffffffff;
  barrier.cluster.arrive.relaxed.aligned;
  barrier.cluster.wait.acquire.aligned;
  mov.u32 %at, word;
  mad.lo.u32 %at, %t, 4, %at;
  mapa.shared::cluster.u32 %at, %at, %peer;
  st.shared::cluster.u32 [%at], %rank;
  mov.u32 %at, bar;
  mapa.shared::cluster.u32 %at, %at, %peer;
  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%at];
WAIT:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [bar], 0;
  @!%q bra WAIT;
  mov.u32 %at, word;
  mad.lo.u32 %at, %t, 4, %at;
  ld.shared.u32 %v, [%at];
  mad.wide.u32 %D, %t, 4, %D;
  st.global.u32 [%D], %v;
  ret;
}
)";

std::string without(const std::string& instruction) { return replaced(pair, instruction, ""); }

const std::string barrier = "  barrier.cluster.arrive.relaxed.aligned;\n  barrier.cluster.wait.acquire.aligned;\n";
const std::string wait =
    "WAIT:\n  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [bar], 0;\n  @!%q bra WAIT;\n";
const std::string alloc =
    "  tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [word], 32;\n"
    "  ld.shared.u32 %v, [word];\n";
const std::string dealloc = "  tcgen05.dealloc.cta_group::2.sync.aligned.b32 %v, 32;\n  ret;\n";

}  // namespace

TEST_CASE("a pair that meets before it begins and waits before it ends is right") { CHECK(explored(pair) == ""); }

TEST_CASE("cluster-start: the memory of a peer before it is known to have started") {
  CHECK(explored(without(barrier)).starts_with("cluster-start "));
  const std::string allocates = replaced(replaced(pair, "  ret;\n", dealloc), barrier, alloc);
  CHECK(explored(allocates).find("tcgen05-alloc-peer ") != std::string::npos);
  CHECK(explored(replaced(allocates, "  tcgen05.alloc", barrier + "  tcgen05.alloc")).find("tcgen05-alloc-peer") ==
        std::string::npos);
}

TEST_CASE("cta-exit: a CTA that does not wait for its peer") {
  CHECK(explored(without(wait)).starts_with("cta-exit "));
  // A wait for the phase makes only its own arrivals known, not later ones.
  const std::string again =
      "  ld.shared.u32 %v, [%at];\n  mapa.shared::cluster.u32 %at, %at, %peer;\n"
      "  st.shared::cluster.u32 [%at+128], %v;\n";
  const std::string late = replaced(pair, "  ld.shared.u32 %v, [%at];\n", again);
  CHECK(explored(replaced(late, "word[128]", "word[256]")) == "cta-exit ");
  CHECK(explored(replaced(replaced(late, "word[128]", "word[256]"), "  ret;\n", barrier + "  ret;\n")) == "cta-exit ");
  const std::string released = "  barrier.cluster.arrive.aligned;\n  barrier.cluster.wait.aligned;\n  ret;\n";
  CHECK(explored(replaced(replaced(late, "word[128]", "word[256]"), "  ret;\n", released)) == "");
}

TEST_CASE("mbarrier-init-fence: a relaxed cluster barrier publishes what the fence has") {
  const std::string fence = "  @%first fence.mbarrier_init.release.cluster;\n";
  CHECK(explored(without(fence)) == "mbarrier-init-fence ");
  CHECK(explored(replaced(without(fence), "arrive.relaxed", "arrive.release")) == "");
  // A fence by a thread that has initialised nothing publishes nothing.
  CHECK(explored(replaced(pair, "  @%first fence", "  @!%first fence")) == "mbarrier-init-fence ");
}

TEST_CASE("mbarrier-init-order: nothing says that the mbarrier is there yet") {
  const std::string own = replaced(without(barrier), "xor.b32 %peer, %rank, 1", "mov.u32 %peer, %rank");
  CHECK(explored(own) == "");
  CHECK(explored(replaced(own, "  bar.warp.sync 0xffffffff;\n", "")).find("mbarrier-init-order") == std::string::npos);
  const std::string two_warps = replaced(replaced(own, ".reqntid 32", ".reqntid 64"), "[bar], 32", "[bar], 64");
  CHECK(explored(replaced(two_warps, "word[128]", "word[256]")) == "mbarrier-init-order ");
  CHECK(explored(replaced(replaced(two_warps, "word[128]", "word[256]"), "bar.warp.sync 0xffffffff", "bar.sync 0")) ==
        "");
}

TEST_CASE("mbarrier-scope: an arrival at a peer that releases to the own CTA alone") {
  CHECK(explored(replaced(pair, "arrive.release.cluster.shared", "arrive.release.cta.shared")) == "mbarrier-scope ");
  CHECK(explored(replaced(pair, "arrive.release.cluster.shared", "arrive.shared")) == "mbarrier-scope ");
}

TEST_CASE("a relaxed arrival hands on what a fence before it releases, and nothing else") {
  const std::string relaxed = replaced(pair, "mbarrier.arrive.release", "mbarrier.arrive.relaxed");
  CHECK(explored(relaxed).find("race ") != std::string::npos);
  CHECK(explored(replaced(relaxed, "  mbarrier.arrive", "  fence.acq_rel.cluster;\n  mbarrier.arrive")) == "");
}

TEST_CASE("atomic operations do not race with each other") {
  const std::string store = "st.shared::cluster.u32 [%at], %rank;";
  const std::string both = replaced(pair, store, "atom.shared::cluster.add.u32 %v, [%at], %rank;");
  CHECK(explored(replaced(both, "ld.shared.u32 %v, [%at];", "atom.shared.add.u32 %v, [%at], 0;")) == "");
}

}  // namespace verifier_lifecycle

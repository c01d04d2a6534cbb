// What threads write into the shared memory of another CTA without waiting for it: stores, reductions and copies whose
// bytes an mbarrier counts there, and commits that arrive there.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/unit/verifier/explored.hpp"

namespace verifier_async_store {

using namespace kiln;
using namespace kiln::test;

namespace {

// CTA 0 of a pair tells CTA 1 four words: whether another round follows is the last of them.
const std::string told = preamble + R"(
.visible .entry told(.param .u64 D, .param .u32 rounds) .reqntid 32 .reqnctapercluster 2
{
  .reg .pred %q, %first, %more; .reg .b32 %rank, %t, %k, %rounds, %flag, %read, %phase, %before; .reg .b32 %to, %full, %free;
  .shared .align 16 .b8 word[16];
  .shared .align 8 .b64 full;
  .shared .align 8 .b64 free;
  ld.param.u32 %rounds, [rounds];
  mov.u32 %t, %tid.x;
  mov.u32 %rank, %cluster_ctarank;
  setp.eq.u32 %first, %t, 0;
  @%first mbarrier.init.shared::cta.b64 [full], 1;
  @%first mbarrier.init.shared::cta.b64 [free], 32;
  @%first fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  mapa.shared::cluster.u32 %to, word, 1;
  mapa.shared::cluster.u32 %full, full, 1;
  mapa.shared::cluster.u32 %free, free, 0;
  mov.u32 %k, 0;
  mov.u32 %phase, 0;
  setp.ne.u32 %q, %rank, 0;
  @%q bra HEAR;
TELL:
  xor.b32 %before, %phase, 1;
FREE:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [free], %before;
  @!%q bra FREE;
  add.u32 %k, %k, 1;
  setp.lt.u32 %more, %k, %rounds;
  selp.u32 %flag, 1, 0, %more;
  @%first st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%to], {%k, %k, %t, %flag}, [%full];
  xor.b32 %phase, %phase, 1;
  @%more bra TELL;
  bra DONE;
HEAR:
  @%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 16;
FULL:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [full], %phase;
  @!%q bra FULL;
  ld.shared.u32 %read, [word+12];
  bar.warp.sync 0xffffffff;
  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%free];
  xor.b32 %phase, %phase, 1;
  setp.ne.u32 %q, %read, 0;
  @%q bra HEAR;
DONE:
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ret;
}
)";

// Both CTAs of a pair add to a word of each; lane n goes to CTA n.
const std::string added = preamble + R"(
.visible .entry added(.param .u64 D) .reqntid 32 .reqnctapercluster 2
{
  .reg .pred %q, %first, %adds; .reg .b32 %t, %at, %sum, %bar, %x; .reg .b64 %D;
  .shared .align 8 .b64 sum;
  .shared .align 8 .b64 bar;
  ld.param.u64 %D, [D];
  mov.u32 %t, %tid.x;
  setp.eq.u32 %first, %t, 0;
  setp.lt.u32 %adds, %t, 2;
  @%first st.shared.u32 [sum], 0;
  @%first mbarrier.init.shared::cta.b64 [bar], 1;
  @%first fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  @%first mbarrier.arrive.expect_tx.shared::cta.b64 _, [bar], 8;
  mov.u32 %at, sum;
  mapa.shared::cluster.u32 %sum, %at, %t;
  mov.u32 %at, bar;
  mapa.shared::cluster.u32 %bar, %at, %t;
  @%adds red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%sum], 5, [%bar];
WAIT:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [bar], 0;
  @!%q bra WAIT;
  ld.shared.u32 %x, [sum];
  st.global.u32 [%D], %x;
  ret;
}
)";

// CTA 0 commits an MMA, waits, and commits once more to both CTAs. CTA 1 is told of that, and does not wait for it.
const std::string committed = preamble + R"(
.visible .entry committed(.param .u32 idesc) .reqntid 32 .reqnctapercluster 2
{
  .reg .pred %q, %first, %leads; .reg .b16 %both; .reg .b32 %t, %rank, %tm, %at, %told, %idesc; .reg .b64 %da, %db;
  .shared .align 4 .b32 slot;
  .shared .align 128 .b8 a[4096];
  .shared .align 128 .b8 b[512];
  .shared .align 8 .b64 over;
  .shared .align 8 .b64 last;
  .shared .align 8 .b64 told;
  mov.u32 %t, %tid.x;
  mov.u32 %rank, %cluster_ctarank;
  ld.param.u32 %idesc, [idesc];
  mov.u16 %both, 3;
  setp.eq.u32 %first, %t, 0;
  setp.eq.and.u32 %leads, %rank, 0, %first;
  @%first mbarrier.init.shared::cta.b64 [over], 1;
  @%first mbarrier.init.shared::cta.b64 [last], 1;
  @%first mbarrier.init.shared::cta.b64 [told], 1;
  @%first fence.mbarrier_init.release.cluster;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ld.shared.b32 %tm, [slot];
  mov.u32 %at, a;
  shr.u32 %at, %at, 4;
  cvt.u64.u32 %da, %at;
  or.b64 %da, %da, 70437464178688;
  mov.u32 %at, b;
  shr.u32 %at, %at, 4;
  cvt.u64.u32 %db, %at;
  or.b64 %db, %db, 70437464178688;
  mapa.shared::cluster.u32 %told, told, 1;
  @%leads tcgen05.mma.cta_group::1.kind::f16 [%tm], %da, %db, %idesc, 0;
  @%leads tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [over];
  setp.ne.u32 %q, %rank, 0;
  @%q bra TOLD;
OVER:
  mbarrier.try_wait.parity.shared::cta.b64 %q, [over], 0;
  @!%q bra OVER;
  @%leads tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [last], %both;
  @%leads mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%told];
LAST:
  mbarrier.try_wait.parity.shared::cta.b64 %q, [last], 0;
  @!%q bra LAST;
  bra FREE;
TOLD:
  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [told], 0;
  @!%q bra TOLD;
FREE:
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tm, 32;
  ret;
}
)";

}  // namespace

TEST_CASE("what st.async stores in another CTA decides how long that goes on, for every count of rounds") {
  const Protocol p = protocol(told);
  CHECK_MESSAGE(p.is_right(), p.incomplete << p.at);
  // It hears of one round more than there are; the word is another one.
  CHECK(protocol(replaced(told, "selp.u32 %flag, 1, 0, %more", "mov.u32 %flag, 1")).stands_still);
  CHECK(protocol(replaced(told, "[word+12]", "[word]")).stands_still);
}

TEST_CASE("bytes of st.async that may come before the phase before is over may count for that") {
  const std::string free =
      "FREE:\n  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [free], %before;\n"
      "  @!%q bra FREE;\n";
  const Protocol p = protocol(replaced(told, free, ""));
  CHECK(std::count(p.broken.begin(), p.broken.end(), rules::Rule::mbarrier_bytes));
  CHECK(std::count(p.broken.begin(), p.broken.end(), rules::Rule::race_async));
  CHECK(p.at.starts_with("@%first st.async"));
}

TEST_CASE("bytes that a thread itself counts with mbarrier.complete_tx hand on what a fence has released") {
  const auto by_hand = [](const std::string& fence) {
    return replaced(added,
                    "@%adds red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%sum], 5, "
                    "[%bar];",
                    "@%adds red.relaxed.cluster.shared::cluster.add.u32 [%sum], 5;\n  " + fence +
                        "\n  @%adds mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%bar], 4;");
  };
  CHECK(explored(by_hand("fence.acq_rel.cluster;")) == "");
  CHECK(explored(by_hand("fence.acq_rel.cta;")).find("race") != std::string::npos);
  CHECK(explored(by_hand("")).find("race") != std::string::npos);
}

TEST_CASE("bytes that a thread itself counts may come too early as well") {
  const std::string counted = replaced(
      told, "@%first st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%to], {%k, %k, %t, %flag}, [%full];",
      "@%first mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%full], 16;");
  const auto too_early = [](const Protocol& p) {
    return std::count(p.broken.begin(), p.broken.end(), rules::Rule::mbarrier_bytes) != 0;
  };
  CHECK(!too_early(protocol(counted)));
  const std::string free =
      "FREE:\n  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [free], %before;\n"
      "  @!%q bra FREE;\n";
  CHECK(too_early(protocol(replaced(counted, free, ""))));
}

TEST_CASE("reductions with red.async do not race with each other, and are there when their bytes are") {
  CHECK(explored(added) == "");
  CHECK(explored(replaced(added, "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32",
                          "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32")) == "race-async ");
  CHECK(explored(replaced(added, "[bar], 8;", "[bar], 12;")) == "mbarrier-bytes ");
  const std::string wait =
      "WAIT:\n  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [bar], 0;\n  @!%q bra WAIT;\n";
  CHECK(explored(replaced(added, wait, "")).find("race") != std::string::npos);
}

TEST_CASE("a cluster of which nothing says the size has as many CTAs as addresses name") {
  const std::string any = replaced(added, " .reqnctapercluster 2", "");
  const std::string four = replaced(replaced(any, "%adds, %t, 2", "%adds, %t, 4"), "[bar], 8;", "[bar], 16;");
  CHECK(explored(four) == "launch-assumed ");
  CHECK(explored(replaced(four, "[bar], 16;", "[bar], 20;")).find("mbarrier-bytes") != std::string::npos);
  // With a size that is said, or with none that is large enough, it is not followed.
  CHECK(explored(replaced(four, ".reqntid 32", ".reqntid 32 .reqnctapercluster 2")) == "unfollowed ");
  CHECK(explored(replaced(four, ".reqntid 32", ".reqntid 32 .maxclusterrank 2")) == "unfollowed ");
}

TEST_CASE("st.async writes through the generic proxy: a bulk copy of what it has brought needs the fence") {
  const std::string store =
      "cp.async.bulk.global.shared::cta.bulk_group [%D], [sum], 16;\n  cp.async.bulk.commit_group;\n"
      "  cp.async.bulk.wait_group 0;\n";
  const std::string copied =
      replaced(replaced(added, "ld.shared.u32 %x, [sum];", store), "  st.global.u32 [%D], %x;\n", "");
  const std::string wide = replaced(copied, ".align 8 .b64 sum", ".align 16 .b8 sum[16]");
  CHECK(explored(wide) == "proxy-fence ");
  CHECK(explored(replaced(wide, "cp.async.bulk.global", "fence.proxy.async.shared::cta;\n  cp.async.bulk.global")) ==
        "");
}

TEST_CASE("a store with st.async to global memory is none to shared memory") {
  CHECK(explored(replaced(added,
                          "red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%sum], 5, "
                          "[%bar];",
                          "st.async.mmio.release.sys.global.b32 [%D], %t;")) == "mbarrier-bytes ");
}

TEST_CASE("a commit that is known to be issued, with all that it waits for over, may still be on its way at an exit") {
  CHECK(explored(committed) == "cta-exit-arrival ");
  const std::string wait = "OVER:\n  mbarrier.try_wait.parity.shared::cta.b64 %q, [over], 0;\n  @!%q bra OVER;\n";
  CHECK(explored(replaced(committed, wait, "")) == "cta-exit ");
  const std::string hear = "TOLD:\n  mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %q, [told], 0;\n";
  CHECK(explored(replaced(committed, hear, replaced(hear, "[told]", "[last]"))).find("cta-exit-arrival") ==
        std::string::npos);
}

}  // namespace verifier_async_store

// Loops within loops: the persistent GEMM, right and with one mistake each, for every number of tiles and of steps.
#include <doctest/doctest.h>

#include <algorithm>
#include <tuple>

#include "dsl/dsl.hpp"
#include "tests/unit/verifier/explored.hpp"

namespace verifier_persistent {

using namespace kiln;
using namespace kiln::dsl;
using kiln::test::emitted;
using kiln::test::file;
using kiln::test::Protocol;
using kiln::test::protocol;
using kiln::test::with;

namespace {

constexpr int M = 128, N = 64, K = 64, stages = 4, accumulators = 2;

using ATile = SharedTile<bf16, M, K, K_major, swizzle_128B>;
using BTile = SharedTile<bf16, N, K, K_major, swizzle_128B>;
using DTile = SharedTile<bf16, M, N, K_major, swizzle_128B>;

// An accumulator of two and its barriers, taken in turn.
struct Accumulator {
  Tmem<f32, M, N> values;
  Mbarrier full, empty;
  U32 phase;
};

// D = A * B^T. Each CTA takes the tiles ctaid.x, ctaid.x + nctaid.x and so on, whose rows of A and D they are. Warp 4
// loads, warp 5 multiplies into two accumulators in turn, warps 0-3 store one while the other is computed.
Kernel gemm_persistent(Target target, const Sizes&) {
  KernelBuilder gemm("gemm_persistent", target, warps<6>);
  const auto A = gemm.param<TensorMap<ATile>>("A");
  const auto B = gemm.param<TensorMap<BTile>>("B");
  const auto D = gemm.param<TensorMap<DTile>>("D");
  const U32 tiles = gemm.param<u32>("tiles"), k = gemm.param<u32>("k");

  auto in = gemm.ring<stages, ATile, BTile>("in");
  auto out = gemm.store_ring<2, DTile>("out");
  const Mbarrier full[] = {gemm.mbarrier("full_0"), gemm.mbarrier("full_1")};
  const Mbarrier empty[] = {gemm.mbarrier<128>("empty_0"), gemm.mbarrier<128>("empty_1")};
  const auto sums = gemm.tmem<f32, M, accumulators * N>("sums");

  const U32 k_tiles = gemm.ceil_div(k, K);
  const U32 trips = select(gemm.ctaid.x < tiles, (tiles - gemm.ctaid.x + gemm.nctaid.x - 1) / gemm.nctaid.x, 0);
  const auto accumulator = [&](const U32& i) {
    const Pred second = (i & 1) == 1;
    return Accumulator{{sums.rec, (sums.address() + (i & 1) * N).operand(), 0},
                       {select(second, full[1].address, full[0].address), "full"},
                       {select(second, empty[1].address, empty[0].address), "empty"},
                       (i >> 1) & 1};
  };
  const auto row = [&](const U32& i) { return (gemm.ctaid.x + i * gemm.nctaid.x) * M; };

  gemm.role("load", warp<4>.elect(), [&](Thread t) {
    t.loop(trips, [&](U32 i) {
      t.loop(k_tiles, [&](U32 j) {
        auto slot = in.acquire(t);
        t.tma_load(slot.get<ATile>(), A.at(row(i), j * K), slot.full);
        t.tma_load(slot.get<BTile>(), B.at(gemm.constant(0), j * K), slot.full);
      });
    });
  });
  gemm.role("mma", warp<5>.elect(), [&](Thread t) {
    t.loop(trips, [&](U32 i) {
      const Accumulator acc = accumulator(i);
      t.wait(acc.empty, Phase(acc.phase ^ 1));
      t.loop(k_tiles, [&](U32 j) {
        auto slot = in.wait(t);
        for (int step = 0; step < K; step += 16)
          t.mma(acc.values, slot.get<ATile>().k_slice(step), slot.get<BTile>().k_slice(step),
                accumulate(j != 0 || step != 0));
        t.commit(slot.empty);
      });
      t.commit(acc.full);
    });
  });
  gemm.role("store", warpgroup<0>, [&](Warpgroup& g) {
    g.loop(trips, [&](U32 i) {
      const Accumulator acc = accumulator(i);
      g.wait(acc.full, Phase(acc.phase));
      auto values = g.wait(g.load(acc.values));
      g.tcgen05_fence_before_thread_sync();
      g.mbarrier_arrive(acc.empty);
      auto tile = out.acquire(g);
      g.store(tile, cvt<bf16>(values));
      out.publish(g, tile, D.at(row(i), gemm.constant(0)));
    });
  });
  return gemm.build();
}

}  // namespace

TEST_CASE("a persistent GEMM is right for every number of tiles and of steps along K") {
  const Protocol p = protocol(emitted(gemm_persistent));
  CHECK_MESSAGE(p.is_right(), p.incomplete);
}

TEST_CASE("so is one that does not name its registers anew, in a loop that goes round at least once") {
  const Protocol p = protocol(file("persistent"));
  CHECK_MESSAGE(p.is_right(), p.incomplete);
}

TEST_CASE("what comes to a standstill in a later tile, or in the first, is found with numbers") {
  const std::string right = emitted(gemm_persistent);
  // Neither a slot nor an accumulator is given back; nothing is expected; a ring wraps too early; one more step.
  for (const auto& [begin, to, nth] : std::initializer_list<std::tuple<const char*, const char*, int>>{
           {"tcgen05.commit", "", 1},
           {"tcgen05.commit", "", 2},
           {"mbarrier.arrive.shared::cta", "", 1},
           {"mbarrier.arrive.expect_tx", "", 1},
           {"setp.eq.u32 %p3", "setp.eq.u32 %p3, %r29, 3;", 1},
           {"setp.lt.u32 %p5", "setp.le.u32 %p5, %r28, %r21;", 1},
           {"setp.lt.u32 %p14", "setp.le.u32 %p14, %r52, %r21;", 1},
           {"setp.lt.u32 %p23", "setp.le.u32 %p23, %r66, %r26;", 1}}) {
    const std::string changed = begin;
    CAPTURE(changed);
    const Protocol p = protocol(with(right, begin, to, nth));
    CHECK(p.stands_still);
    CHECK_FALSE(p.example.empty());
  }
}

TEST_CASE("an accumulator that the next tile but one overwrites while it is read is a race") {
  const std::string right = emitted(gemm_persistent);
  const Protocol early =
      protocol(with(right, "mbarrier.try_wait.parity.shared::cta.b64 %p9", "setp.eq.u32 %p9, 0, 0;"));
  CHECK(std::count(early.broken.begin(), early.broken.end(), rules::Rule::race_tmem));
  const Protocol unread = protocol(with(right, "tcgen05.wait::ld", ""));
  CHECK(std::count(unread.broken.begin(), unread.broken.end(), rules::Rule::race_tmem));
}

TEST_CASE("a mistake in the persistent GEMM is never proven right") {
  const std::string right = emitted(gemm_persistent);
  for (const auto& [begin, to] : std::initializer_list<std::pair<const char*, const char*>>{
           {"xor.b32 %r30", ""},
           {"xor.b32 %r37", "mov.b32 %r37, %r32;"},
           {"xor.b32 %r51", "mov.b32 %r51, %r50;"},
           {"xor.b32 %r54", ""},
           {"shr.u32 %r49", "shr.u32 %r49, %r43, 0;"},
           {"shr.u32 %r72", "shr.u32 %r72, %r66, 0;"},
           {"mbarrier.try_wait.parity.shared::cta.b64 %p4", "setp.eq.u32 %p4, 0, 0;"},
           {"mbarrier.try_wait.parity.shared::cta.b64 %p12", "setp.eq.u32 %p12, 0, 0;"},
           {"mbarrier.try_wait.parity.shared::cta.b64 %p18", "setp.eq.u32 %p18, 0, 0;"},
           {"setp.lt.u32 %p15", "setp.lt.u32 %p15, %r43, %r43;"}}) {
    const std::string changed = begin;
    CAPTURE(changed);
    CHECK_FALSE(protocol(with(right, begin, to)).is_right());
  }
}

namespace {

// One thread that goes round `loop` n times and then through `rest`.
std::string loop_and(const std::string& loop, const std::string& rest) {
  return ".version 8.7\n.target sm_100a\n.address_size 64\n"
         ".visible .entry k(.param .u32 n) .reqntid 32 {\n"
         "  .reg .pred %p, %q; .reg .b32 %k, %n, %x, %at;\n"
         "  .shared .align 8 .b64 bar; .shared .align 8 .b64 more[6];\n"
         "  ld.param.u32 %n, [n];\n  mov.u32 %k, %tid.x;\n  setp.ne.u32 %p, %k, 0;\n  @%p bra DONE;\n"
         "  mbarrier.init.shared::cta.b64 [bar], 1;\n"
         "  mbarrier.init.shared::cta.b64 [more], 1;\n  mbarrier.init.shared::cta.b64 [more+8], 1;\n"
         "  mbarrier.init.shared::cta.b64 [more+16], 1;\n  mbarrier.init.shared::cta.b64 [more+24], 1;\n"
         "  mov.u32 %k, 0;\n  mov.u32 %x, 0;\nFIRST:\n  setp.ge.s32 %p, %k, %n;\n  @%p bra THEN;\n" +
         loop + "  add.u32 %k, %k, 1;\n  bra FIRST;\nTHEN:\n" + rest + "DONE:\n  ret;\n}\n";
}

const std::string fills_more =
    "  mov.u32 %k, 0;\n  mov.u32 %at, more;\nSECOND:\n  setp.ge.s32 %p, %k, %n;\n  @%p bra DONE;\n"
    "  mbarrier.arrive.shared::cta.b64 _, [%at];\n  add.u32 %at, %at, 8;\n  add.u32 %k, %k, 1;\n  bra SECOND;\n";

}  // namespace

TEST_CASE("a second loop over the same bound is followed beyond where the first one repeats itself") {
  const std::string turn =
      "  mbarrier.arrive.shared::cta.b64 _, [bar];\nAGAIN:\n"
      "  mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], %x;\n  @!%q bra AGAIN;\n  xor.b32 %x, %x, 1;\n";
  const Protocol p = protocol(loop_and(turn, fills_more));
  CHECK_FALSE(p.complete);  // the fifth barrier is not initialised
  CHECK(std::count(p.broken.begin(), p.broken.end(), rules::Rule::mbarrier_uninitialised));
  const std::string wait =
      "  and.b32 %x, %n, 15;\n  setp.ne.u32 %p, %x, 12;\n  @%p bra DONE;\nLAST:\n"
      "  mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], %x;\n  @!%q bra LAST;\n";
  CHECK(protocol(loop_and("  mbarrier.arrive.shared::cta.b64 _, [bar];\n  bar.warp.sync 1;\n"
                          "  mbarrier.inval.shared::cta.b64 [bar];\n  mbarrier.init.shared::cta.b64 [bar], 1;\n",
                          wait))
            .stands_still);  // for 12, 28, ...
  const std::string counts =
      "  mov.u32 %k, 0;\nSECOND:\n  setp.ge.s32 %p, %k, %n;\n  @%p bra DONE;\n"
      "  add.u32 %k, %k, 1;\n  add.u32 %x, %x, 1;\n  setp.ne.u32 %p, %x, 20;\n  @%p bra SECOND;\n"
      "LAST:\n  mbarrier.try_wait.parity.shared::cta.b64 %q, [bar], 0;\n  @!%q bra LAST;\n";
  CHECK_FALSE(protocol(loop_and("  bar.warp.sync 1;\n", counts)).is_right());
}

}  // namespace verifier_persistent

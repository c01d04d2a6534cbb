// CTAs that share an SM and the 512 columns of its tensor memory: which allocations can wait for each other for ever.
#include <doctest/doctest.h>

#include "tests/unit/sim/run.hpp"

namespace sim_residents {

using namespace kiln;
using namespace kiln::test;
using sim::Outcome;

namespace {

const std::string group = ".cta_group::1.sync.aligned";

std::string take(const std::string& slot, int columns) {
  return "tcgen05.alloc" + group + ".shared::cta.b32 [" + slot + "], " + std::to_string(columns) + ";\n";
}
std::string give(const std::string& slot, int columns) {
  return "bar.warp.sync 0xFFFFFFFF; ld.shared.u32 %r9, [" + slot + "]; tcgen05.dealloc" + group + ".b32 %r9, " +
         std::to_string(columns) + ";\n";
}
const std::string relinquish = "tcgen05.relinquish_alloc_permit" + group + ";\n";

// A kernel that counts its threads in out[0].
std::string text(const std::string& body, const std::string& directives = "") {
  return head + ".visible .entry k(.param .u64 out) " + directives +
         " {\n.reg .pred %p<4>; .reg .b32 %r<20>; .reg .b64 %out;\n"
         ".shared .align 4 .b32 a; .shared .align 4 .b32 b;\n"
         "ld.param.u64 %out, [out]; mov.u32 %r0, %tid.x; shr.u32 %r1, %r0, 5; setp.ne.u32 %p1, %r1, 0;\n" +
         body + "red.global.add.u32 [%out], 1;\nret;\n}\n";
}

Run run_ctas(const std::string& ptx, std::uint32_t ctas, std::uint32_t per_sm, std::uint32_t threads = 32,
             sim::Options options = {}) {
  launch::Contract c;
  c.buffers.push_back(buffer("out", 16));
  launch::Launch l;
  l.grid = {ctas, 1, 1};
  l.block = {threads, 1, 1};
  l.ctas_per_sm = per_sm;
  l.params = {pointer("out")};
  c.launches.push_back(l);
  return run(ptx, c, options);
}

const std::string two_halves = text(take("a", 256) + take("b", 256) + give("b", 256) + give("a", 256));

void finishes(const std::string& ptx, std::uint32_t ctas = 6, std::uint32_t per_sm = 2, std::uint32_t threads = 32) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    sim::Options options;
    options.seed = seed;
    const Run r = run_ctas(ptx, ctas, per_sm, threads, options);
    CHECK_MESSAGE(r.clean(), r.findings());
    CHECK(r.read<std::uint32_t>("out")[0] == ctas * threads);
  }
}

}  // namespace

TEST_CASE("two CTAs that hold half of tensor memory each and want the other half wait for ever") {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    sim::Options options;
    options.seed = seed;
    const Run r = run_ctas(two_halves, 2, 2, 32, options);
    CHECK(r.result.outcome == Outcome::deadlock);
    REQUIRE(r.sink.all().size() == 1);
    const diag::Diagnostic& d = r.sink.all()[0];
    CHECK(d.where.source->position(d.where.place.begin).line == 9);  // the second alloc
    for (const char* cta : {"(0, 0, 0)", "(1, 0, 0)"}) {
      CHECK_MESSAGE(
          r.has(std::string("warp 0, all lanes of CTA ") + cta +
                " waits for 256 free columns of tensor memory; its CTA holds 256, and 0 of the SM's are free"),
          r.findings());
      CHECK(r.has(std::string("CTA ") + cta + " holds 256 columns of tensor memory"));
    }
    CHECK(r.has("got 2 CTAs that share an SM and its tensor memory [deadlock]"));
  }
}

TEST_CASE("a CTA alone on its SM does not wait, and that is what a launch says that says nothing") {
  finishes(two_halves, 3, 1);
  finishes(two_halves, 3, 0);
  finishes(two_halves, 1, 2);
}

TEST_CASE(".minnctapersm says that CTAs share an SM") {
  const std::string body = take("a", 256) + take("b", 256) + give("b", 256) + give("a", 256);
  CHECK(run_ctas(text(body, ".maxntid 32, 1, 1 .minnctapersm 2"), 2, 0).result.outcome == Outcome::deadlock);
  finishes(text(body, ".maxntid 32, 1, 1 .minnctapersm 1"), 2, 0);
  finishes(text(body, ".maxntid 32, 1, 1 .minnctapersm 2"), 2, 1);
}

TEST_CASE("three CTAs that each hold a quarter and want a half stand, and two of them do not") {
  const std::string quarters = text(take("a", 128) + take("b", 256) + give("b", 256) + give("a", 128));
  finishes(quarters, 6, 2);
  CHECK(run_ctas(quarters, 6, 3).result.outcome == Outcome::deadlock);
}

TEST_CASE("a CTA that waits for columns without holding any gets them in the end") {
  finishes(text(take("a", 512) + relinquish + give("a", 512)));
  finishes(text(take("a", 512) + give("a", 512)), 7, 4);
  finishes(text(take("a", 256) + give("a", 256) + take("b", 512) + relinquish + give("b", 512)));
}

TEST_CASE("allocations that fit side by side do not wait") {
  finishes(text(take("a", 128) + take("b", 128) + relinquish + give("b", 128) + give("a", 128)), 6, 2);
}

TEST_CASE("two warps that allocate for themselves do not wait for each other") {
  finishes(text("@%p1 bra SECOND;\n" + take("a", 256) + give("a", 256) + "bra END;\nSECOND:\n" + take("b", 256) +
                give("b", 256) + "END:\n"),
           6, 2, 64);
}

TEST_CASE("a barrier that a waiting warp does not reach holds the columns of the others") {
  // Warp 0 frees only when warp 1, which wants more, has come to the barrier.
  const std::string body = "@%p1 bra SECOND;\n" + take("a", 256) + "bar.sync 0;\nbar.sync 1;\n" + give("a", 256) +
                           "bra END;\nSECOND:\nbar.sync 0;\n" + take("b", 256) + give("b", 256) + "bar.sync 1;\nEND:\n";
  const Run r = run_ctas(text(body), 2, 2, 64);
  CHECK(r.result.outcome == Outcome::deadlock);
  CHECK_MESSAGE(r.has("warp 1, all lanes of CTA (0, 0, 0) waits for 256 free columns of tensor memory"), r.findings());
  CHECK(r.has("warp 0, all lanes of CTA (0, 0, 0) waits for barrier 1"));
  finishes(text(body), 2, 1, 64);
}

TEST_CASE("columns that a CTA leaves allocated are missing to the next") {
  const Run r = run_ctas(text(take("a", 512)), 4, 2);
  CHECK(r.result.outcome == Outcome::deadlock);
  CHECK_MESSAGE(r.has("[tcgen05-alloc-leak]"), r.findings());
}

TEST_CASE("CTAs share an SM only where there is room, and outside clusters") {
  CHECK_THROWS_WITH(run_ctas(two_halves, 64, 17, 128),
                    "/ctas_per_sm: 17 CTAs of 128 threads and 8 bytes of shared memory do not fit an SM of sm_100a, "
                    "which has room for 16");
  launch::Contract c;
  c.buffers.push_back(buffer("out", 16));
  launch::Launch l;
  l.grid = l.cluster = {2, 1, 1};
  l.block = {32, 1, 1};
  l.ctas_per_sm = 2;
  l.params = {pointer("out")};
  c.launches = {l};
  CHECK_THROWS_WITH(run(two_halves, c), "/ctas_per_sm: must be 1 for a launch with clusters");
}

}  // namespace sim_residents

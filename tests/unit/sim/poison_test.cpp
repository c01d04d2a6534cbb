// Values of memory that was never written: where they go, where they end, and where they decide something.
#include <doctest/doctest.h>

#include <random>
#include <set>

#include "ptx/rules/catalogue.hpp"
#include "tests/unit/sim/eval.hpp"
#include "tests/unit/sim/tensor_kernel.hpp"

namespace sim_poison {

using namespace kiln;
using namespace kiln::test;

namespace {

const std::string variables = R"(
  .shared .align 16 .b8 box[1024]; .shared .align 8 .b64 bar; .local .align 16 .b8 own[64];
  mov.u32 %r90, %tid.x; mov.u32 %r91, box; shl.b32 %r92, %r90, 2; add.u32 %r91, %r91, %r92;
)";

// Each thread's %r1 is poison, %r0 its number.
const std::string reads = "mov.u32 %r0, %r90; ld.shared.u32 %r1, [%r91];\n";

Run runs(const std::string& body, u32 threads = 1) { return run_kernel(kernel(variables + body), threads); }

std::size_t reports(const Run& r) {
  std::size_t n = 0;
  for (const diag::Diagnostic& d : r.sink.all()) n += d.slug == "memory-uninitialised";
  return n;
}
bool decides(const std::string& body, u32 threads = 1) {
  const Run r = runs(body, threads);
  CHECK_MESSAGE(r.result.outcome != sim::Outcome::incomplete, body << "\n" << r.findings());
  return reports(r) != 0;
}
// With the value of %r9 stored by each thread.
bool leaves(const std::string& body, u32 threads = 1) {
  return decides(body + "\nmul.wide.u32 %rd9, %r90, 4; add.u64 %rd9, %rd9, %out; st.global.u32 [%rd9], %r9;", threads);
}

}  // namespace

TEST_CASE("a read of memory that was never written is no finding by itself") {
  CHECK(runs(reads).sink.all().empty());
  CHECK(runs(reads + "add.u32 %r2, %r1, 1; st.shared.u32 [%r91+64], %r2;").sink.all().empty());
}

TEST_CASE("a vector that moves keeps poison in its element, also when elements change places") {
  CHECK(leaves(reads + "mov.v2.b32 {%r9, %r2}, {%r1, 5};"));
  CHECK_FALSE(leaves(reads + "mov.v2.b32 {%r2, %r9}, {%r1, 5};"));
  CHECK(leaves(reads + "mov.u32 %r9, 5; mov.v2.b32 {%r1, %r9}, {%r9, %r1};"));
  CHECK_FALSE(leaves(reads + "mov.u32 %r9, 5; mov.v2.b32 {%r9, %r1}, {%r9, %r1};"));
  CHECK(leaves(reads + "mov.v4.b32 {%r2, _, %r9, _}, {0, 1, %r1, 3};"));
}

TEST_CASE("what leaves the kernel is reported there, with the read") {
  const Run r = runs(reads + "add.u32 %r2, %r1, 1;\nst.global.u32 [%out], %r2;");
  REQUIRE(r.sink.all().size() == 1);
  const diag::Diagnostic& d = r.sink.all().front();
  CHECK(d.message ==
        "memory must be written before anything depends on what it holds; got 4 bytes at offset 0 of `box` as what is "
        "stored in global memory");
  REQUIRE(d.notes.size() == 1);
  CHECK(d.notes[0].message == "it was read here");
  CHECK(d.notes[0].where.place.end < d.where.place.begin);
}

TEST_CASE("each way out of a kernel is one") {
  CHECK(decides(reads + "red.global.add.u32 [%out], %r1;"));
  CHECK(decides(reads + "atom.global.exch.b32 %r2, [%out], %r1;"));
  CHECK(decides(reads + "st.global.v2.u32 [%out], {%r0, %r1};"));
  CHECK(
      decides("cp.async.bulk.global.shared::cta.bulk_group [%out], [box], 16; cp.async.bulk.commit_group; "
              "cp.async.bulk.wait_group 0;"));
  CHECK(
      decides("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%out], [box], 16; "
              "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"));
}

TEST_CASE("it may not decide an address, a condition, or an operand that says what is done") {
  CHECK(decides(reads +
                "cvt.u64.u32 %rd1, %r1; and.b64 %rd1, %rd1, 4; add.u64 %rd1, %rd1, %out; ld.global.u32 %r2, [%rd1];"));
  CHECK(decides(reads + "setp.eq.u32 %p1, %r1, 0; @%p1 st.shared.u32 [%r91], 1;"));
  CHECK(decides(reads + "setp.eq.u32 %p1, %r1, 0; @%p1 bra L; st.shared.u32 [%r91], 1; L:"));
  CHECK(decides(reads + "setp.eq.u32 %p1, %r1, 0; @%p1 exit;"));
  CHECK(decides(reads + "and.b32 %r1, %r1, 0; or.b32 %r1, %r1, 1; bar.sync %r1;") == false);
  CHECK(decides(reads + "and.b32 %r1, %r1, 7; bar.sync %r1;"));
  CHECK(decides(reads + "setp.ne.u32 %p1, %r1, 0; barrier.cta.red.popc.sync.u32 %r2, 0, %p1;"));
  const std::string barrier =
      "mov.u32 %r80, bar; mbarrier.init.shared.b64 [%r80], 1; mbarrier.arrive.shared.b64 _, [%r80];\n";
  CHECK(decides(barrier + reads + "mbarrier.test_wait.parity.shared.b64 %p1, [%r80], %r1;"));
  CHECK(decides(barrier + reads + "or.b32 %r1, %r1, -1; mbarrier.test_wait.parity.shared.b64 %p1, [%r80], %r1;") ==
        false);
  CHECK(decides(reads + "mbarrier.init.shared.b64 [%r91], %r1;"));
  CHECK(decides(reads + "ts: .branchtargets A, B; and.b32 %r1, %r1, 1; brx.idx %r1, ts; A: B:"));
}

TEST_CASE("a branch that goes around registers alone makes them poison") {
  const std::string around = "mov.u32 %r9, 0; setp.eq.u32 %p1, %r1, 0; @%p1 bra L; mov.u32 %r9, 1; L:\n";
  CHECK_FALSE(decides(reads + around));
  CHECK(leaves(reads + around));
  CHECK(leaves(reads + "setp.ne.u32 %p1, %r1, 0; @%p1 bra L; mov.u32 %r9, 1; bra M; L: mov.u32 %r9, 2; M:"));
  CHECK_FALSE(leaves(reads + around + "mov.u32 %r9, 1;"));
  CHECK(decides(reads + "mov.u32 %r9, 0; L: add.u32 %r9, %r9, 1; setp.lt.u32 %p1, %r9, %r1; setp.lt.and.u32 %p1, %r9, "
                        "3, %p1; @%p1 bra L;"));
  CHECK(leaves(reads + "mov.u32 %r9, 0; setp.eq.u32 %p1, %r1, 0; @%p1 mov.u32 %r9, 1;"));
  CHECK(leaves(reads + "setp.eq.u32 %p1, %r1, -1; mov.u32 %r9, 1; @!%p1 mov.u32 %r9, 2;"));
}

TEST_CASE("values that drop it are silent") {
  CHECK_FALSE(leaves(reads + "setp.lt.u32 %p1, %r0, 9; selp.u32 %r9, 5, %r1, %p1;"));
  CHECK(leaves(reads + "setp.gt.u32 %p1, %r0, 9; selp.u32 %r9, 5, %r1, %p1;"));
  CHECK(leaves(reads + "setp.gt.u32 %p1, %r1, 9; selp.u32 %r9, 5, 6, %p1;"));
  CHECK_FALSE(leaves(reads + "slct.u32.s32 %r9, 5, %r1, 3;"));
  CHECK_FALSE(leaves(reads + "and.b32 %r9, %r1, 0;"));
  CHECK_FALSE(leaves(reads + "mul.lo.u32 %r9, %r1, 0;"));
  CHECK(leaves(reads + "mov.b32 %f1, %r1; mul.f32 %f1, %f1, 0f00000000; mov.b32 %r9, %f1;"));
  CHECK_FALSE(leaves(reads + "mov.u32 %r9, %r1; mov.u32 %r9, 4;"));
  CHECK_FALSE(leaves(reads + "setp.ne.u32 %p1, %r1, 0; and.pred %p1, %p1, 0; selp.u32 %r9, 1, 2, %p1;"));
  CHECK_FALSE(leaves(
      reads + "setp.ne.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r0, 0; or.pred %p1, %p1, %p2; selp.u32 %r9, 1, 2, %p1;"));
}

TEST_CASE("bytes and halves are told apart") {
  const std::string half = "mov.u32 %r0, 7; st.shared.u16 [%r91], 7; ld.shared.u32 %r1, [%r91];\n";
  CHECK(leaves(half + "mov.u32 %r9, %r1;"));
  CHECK_FALSE(leaves(half + "and.b32 %r9, %r1, 0xFFFF;"));
  CHECK_FALSE(leaves(half + "mov.b32 {%h1, %h2}, %r1; mov.b32 %r9, {%h1, %h1};"));
  CHECK(leaves(half + "mov.b32 {%h1, %h2}, %r1; mov.b32 %r9, {%h1, %h2};"));
  CHECK_FALSE(leaves(half + "prmt.b32 %r9, %r1, %r0, 0x1010;"));
  CHECK_FALSE(leaves(half + "shl.b32 %r9, %r1, 16;"));
  CHECK(leaves(half + "shl.b32 %r9, %r1, 15;"));
  CHECK_FALSE(leaves(half + "add.rn.bf16x2 %r2, %r1, %r1; and.b32 %r9, %r2, 0xFFFF;"));
  CHECK(leaves(half + "add.rn.bf16x2 %r2, %r1, %r1; shr.u32 %r9, %r2, 16;"));
  CHECK_FALSE(
      leaves(half + "mov.b32 %f1, %r0; mov.b32 %f2, %r1; cvt.rn.bf16x2.f32 %r2, %f2, %f1; and.b32 %r9, %r2, 0xFFFF;"));
  CHECK_FALSE(leaves("st.shared.u8 [%r91], 7; ld.shared.s8 %r9, [%r91];"));
  CHECK(leaves("st.shared.u8 [%r91], 7; ld.shared.s16 %r9, [%r91];"));
}

TEST_CASE("it goes through memory, and a write ends it") {
  const std::string back = "ld.shared.u32 %r9, [%r91+256];";
  CHECK(leaves(reads + "st.shared.u32 [%r91+256], 1; st.shared.u32 [%r91+256], %r1;" + back));
  CHECK_FALSE(leaves(reads + "st.shared.u32 [%r91+256], %r1; st.shared.u32 [%r91+256], 1;" + back));
  CHECK(leaves(reads + "mov.u32 %r2, 3; st.shared.v2.u32 [%r91+256], {%r1, %r2};" + back));
  CHECK_FALSE(leaves(reads + "mov.u32 %r2, 3; st.shared.v2.u32 [%r91+256], {%r2, %r1};" + back));
  CHECK(leaves(reads + "st.local.u32 [own], 1; st.local.u32 [own], %r1; ld.local.u32 %r9, [own];"));
  CHECK(leaves(reads + "st.shared.u32 [%r91+256], 1; atom.shared.add.u32 %r2, [%r91+256], %r1;" + back));
  CHECK_FALSE(leaves(reads + "st.shared.u32 [%r91+256], 1; atom.shared.add.u32 %r9, [%r91+256], %r1;"));
  CHECK(leaves("atom.shared.add.u32 %r9, [%r91], 1;"));
  CHECK_FALSE(leaves("atom.shared.exch.b32 %r2, [%r91], 1; ld.shared.u32 %r9, [%r91];"));
  // The finding names the first read, not the one of what was stored.
  CHECK(runs(reads + "st.shared.u32 [%r91+256], %r1;" + back + "st.global.u32 [%out], %r9;")
            .has("got 4 bytes at offset 0 of `box` as"));
}

TEST_CASE("copies take it along") {
  const std::string wait = "\ncp.async.wait_all; ld.shared.u32 %r9, [%r91+512];";
  launch::Contract c;
  c.buffers = {buffer("in", 64, launch::Init::Kind::poison), buffer("out", 64)};
  launch::Launch l;
  l.params = {pointer("in"), pointer("out")};
  c.launches = {l};
  const auto with = [&](const std::string& body, const std::string& after) {
    return run(
        head +
            ".visible .entry k(.param .u64 in, .param .u64 out) { .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p;\n"
            ".shared .align 128 .b8 box[256]; .shared .align 8 .b64 bar;\n"
            "ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [out]; mov.u32 %r1, box; mov.u32 %r2, bar;\n"
            "mbarrier.init.shared.b64 [%r2], 1; fence.proxy.async.shared::cta;\n" +
            body + after + "st.global.u32 [%rd2], %r4;\nret; }",
        c);
  };
  const std::string by_threads = "cp.async.ca.shared.global [%r1], [%rd1], 16, %r3; cp.async.wait_all; ";
  CHECK(reports(with("mov.u32 %r3, 16;" + by_threads, "ld.shared.u32 %r4, [%r1+12];")) == 1);
  CHECK(reports(with("mov.u32 %r3, 8;" + by_threads, "ld.shared.u32 %r4, [%r1+12];")) == 0);
  CHECK(reports(with("mov.u32 %r3, 16;" + by_threads, "mov.u32 %r4, 0;")) == 0);
  const std::string bulk =
      "mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 16; "
      "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes "
      "[%r1], [%rd1], 16, [%r2]; W: mbarrier.try_wait.parity.shared.b64 %p, [%r2], 0; @!%p bra W;\n";
  CHECK(reports(with("st.global.u32 [%rd1], 3;" + bulk, "ld.shared.u32 %r4, [%r1+4];")) == 1);
  CHECK(reports(with("st.global.u32 [%rd1], 3; fence.proxy.async.global;" + bulk, "ld.shared.u32 %r4, [%r1];")) == 0);
}

TEST_CASE("lanes give it to each other") {
  const std::string lane3 = "mov.u32 %r1, 5; setp.eq.u32 %p3, %r90, 3; @%p3 ld.shared.u32 %r1, [%r91];\n";
  const std::string other = "setp.eq.u32 %p4, %r90, 4; selp.u32 %r9, %r9, 0, %p4;";
  CHECK(leaves(lane3 + "shfl.sync.bfly.b32 %r9, %r1, 7, 31, -1;" + other, 32));
  CHECK_FALSE(leaves(lane3 + "shfl.sync.bfly.b32 %r9, %r1, 1, 31, -1;" + other, 32));
  CHECK(leaves(lane3 + "redux.sync.add.u32 %r9, %r1, -1;" + other, 32));
  CHECK(leaves(lane3 + "match.any.sync.b32 %r9, %r1, -1;" + other, 32));
  const std::string vote = "setp.gt.u32 %p5, %r1, 7; ";
  CHECK(leaves(lane3 + vote + "vote.sync.ballot.b32 %r9, %p5, -1;" + other, 32));
  CHECK(leaves(lane3 + vote + "vote.sync.any.pred %p5, %p5, -1; selp.u32 %r9, 1, 0, %p5;" + other, 32));
  // Another lane settles it.
  CHECK_FALSE(leaves(lane3 + vote + "vote.sync.all.pred %p5, %p5, -1; selp.u32 %r9, 1, 0, %p5;" + other, 32));
  CHECK(decides(lane3 + vote + "vote.sync.any.pred %p5, %p5, -1; @%p5 st.shared.u32 [%r91], 1;", 32));
}

TEST_CASE("functions take it and give it back") {
  const std::string f =
      ".func (.param .b32 y) same(.param .b32 x) { .reg .b32 %a; ld.param.b32 %a, [x]; st.param.b32 [y], %a; ret; }\n"
      ".func (.reg .b32 y) next(.reg .b32 x) { add.u32 y, x, 1; ret; }\n";
  const auto with = [&](const std::string& body) {
    return reports(run_kernel(kernel(variables + reads + body + "st.global.u32 [%out], %r9;", f))) != 0;
  };
  CHECK(with("call (%r9), next, (%r1);"));
  CHECK_FALSE(with("call (%r9), next, (%r0);"));
  const std::string call =
      "{ .param .b32 x; .param .b32 y; st.param.b32 [x], ARG; call (y), same, (x); ld.param.b32 %r9, [y]; }\n";
  const auto by_memory = [&](const std::string& argument) {
    std::string text = call;
    return with(text.replace(text.find("ARG"), 3, argument));
  };
  CHECK(by_memory("%r1"));
  CHECK_FALSE(by_memory("%r0"));
}

TEST_CASE("matrices of a warp keep it in their rows and columns") {
  // Row 3 of A is in lanes 12 to 15, which read cells that were never written; column 2 of B in lanes 8 to 11.
  const std::string open = R"(
    mov.u32 %r90, %tid.x; shr.u32 %r20, %r90, 2; and.b32 %r21, %r90, 3;
    setp.eq.u32 %p1, %r20, 3; setp.eq.u32 %p2, %r20, 2; mov.u32 %r1, 0; mov.u32 %r2, 0; mov.u32 %r3, 0; mov.f32 %f9, 0f00000000;
)";
  const std::string a = "@%p1 ld.shared.u32 %r1, [%r91];\n", b = "@%p2 ld.shared.u32 %r2, [%r91];\n";
  const std::string mma =
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r3, %r3, %r3}, "
      "{%r2, %r3}, {%f9, %f9, %f9, %f9};\n";
  const auto stores = [&](const std::string& body, const std::string& f) {
    return leaves(open + body + "mov.b32 %r9, " + f + ";", 32);
  };
  CHECK(stores(a + mma, "%f1"));
  CHECK(stores(a + mma, "%f2"));
  CHECK_FALSE(stores(a + mma, "%f3"));
  CHECK_FALSE(stores(a + mma + "selp.f32 %f1, %f9, %f1, %p1;", "%f1"));
  CHECK(stores(b + mma, "%f1"));
  CHECK_FALSE(stores(b + mma, "%f2"));
  CHECK_FALSE(stores(b + mma + "setp.eq.u32 %p3, %r21, 1; selp.f32 %f3, %f9, %f3, %p3;", "%f3"));
  CHECK_FALSE(stores(mma, "%f1"));
}

TEST_CASE("wgmma keeps it in rows of A, columns of B and cells of D") {
  // Row 19 of A is in lanes 12 to 15 of warp 1; column 2 of B is two pieces of 16 bytes.
  const auto with = [](const std::string& read, const std::string& skipped, const std::string& f,
                       const std::string& scale = "0") {
    const std::string body = R"(
    .shared .align 128 .b8 tile[256]; .shared .align 16 .b8 box[1024];
    mov.u32 %r90, %tid.x; mov.u32 %r91, tile; mov.u32 %r92, box; mov.f32 %f9, 0f00000000;
    mov.u32 %r1, 0; mov.u32 %r2, 0; mov.f32 %f1, 0f00000000; mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, %f1;
    setp.ge.u32 %p1, %r90, 16; @%p1 bra F; and.b32 %r20, %r90, 7; setp.eq.u32 %p2, %r20, )" +
                             skipped +
                             R"(; @%p2 bra F;
    shl.b32 %r21, %r90, 4; add.u32 %r21, %r21, %r91; st.shared.v4.u32 [%r21], {%r2, %r2, %r2, %r2};
  F: fence.proxy.async.shared::cta; bar.sync 0;
    shr.u32 %r20, %r90, 2; setp.eq.u32 %p3, %r20, 11; )" +
                             read +
                             R"(
    shr.u32 %r21, %r91, 4; cvt.u64.u32 %rd1, %r21; add.u64 %rd1, %rd1, 0x1000080000;
    wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r2, %r2}, %rd1, )" +
                             scale + R"(, 1, 1, 0;
    wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;
    mul.wide.u32 %rd9, %r90, 4; add.u64 %rd9, %rd9, %out; st.global.f32 [%rd9], )" +
                             f + ";";
    std::string text = kernel(body);
    text.replace(text.find("sm_100a"), 7, "sm_90a");
    const Run r = run_kernel(text, 128, 128);
    CHECK_MESSAGE(r.result.outcome == sim::Outcome::finished, r.findings());
    return reports(r) != 0;
  };
  const std::string a = "@%p3 ld.shared.u32 %r1, [%r92];", d = "@%p3 ld.shared.f32 %f1, [%r92];", none = "9";
  CHECK(with(a, none, "%f1"));
  CHECK(with(a, none, "%f2"));
  CHECK_FALSE(with(a, none, "%f3"));
  CHECK(with("", "2", "%f1"));
  CHECK_FALSE(with("", "2", "%f2"));
  CHECK_FALSE(with(d, none, "%f1"));
  CHECK(with(d, none, "%f1", "1"));
  CHECK_FALSE(with(d, none, "%f2", "1"));
}

TEST_CASE("ldmatrix, stmatrix and movmatrix carry it byte by byte") {
  // 8 rows of 16 bytes, of which row 5 is not written.
  const std::string open = R"(
    setp.ge.u32 %p1, %r90, 8; @%p1 bra M; shl.b32 %r20, %r90, 4; mov.u32 %r21, box; add.u32 %r20, %r20, %r21;
    setp.eq.u32 %p2, %r90, 5; mov.u32 %r3, 1; @!%p2 st.shared.v4.u32 [%r20], {%r3, %r3, %r3, %r3};
  M: mov.u32 %r20, box; and.b32 %r22, %r90, 7; shl.b32 %r22, %r22, 4; add.u32 %r20, %r20, %r22; bar.warp.sync -1;
    ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r9}, [%r20];
)";
  const auto lanes = [](const std::string& condition) { return condition + " selp.u32 %r9, %r9, 0, %p4;"; };
  const std::string row5 = "shr.u32 %r23, %r90, 2; setp.ne.u32 %p4, %r23, 5;",
                    column5 = "and.b32 %r23, %r90, 3; setp.ne.u32 %p4, %r23, 2;";
  CHECK(leaves(open, 32));
  CHECK_FALSE(leaves(open + lanes(row5), 32));
  const std::string turn = "movmatrix.sync.aligned.m8n8.trans.b16 %r9, %r9;\n";
  CHECK(leaves(open + turn + lanes(row5), 32));
  CHECK_FALSE(leaves(open + turn + lanes(column5), 32));
  const std::string store =
      "add.u32 %r24, %r20, 512; stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r24], {%r9}; bar.warp.sync -1;\n";
  CHECK(leaves(open + store + "ld.shared.u32 %r9, [box+592];", 32));
  CHECK_FALSE(leaves(open + store + "ld.shared.u32 %r9, [box+576];", 32));
}

TEST_CASE("the tensor core keeps it in rows of A, columns of B and cells of D") {
  // Row 5 of A and column 7 of B, lines of 128 bytes, are not copied.
  const auto with = [](const std::string& skipped, const std::string& stored, const std::string& first = "%p2",
                       const std::string& further = "0") {
    const std::string body = R"(
    mov.u32 %r10, %r0; mov.u32 %r12, 0; setp.eq.u32 %p2, %r0, 999;
  CP: shl.b32 %r11, %r10, 4; add.u32 %r11, %r11, %r3; shr.u32 %r13, %r10, 3; setp.eq.u32 %p1, %r13, )" +
                             skipped + R"(;
    @!%p1 st.shared.v4.u32 [%r11], {%r12, %r12, %r12, %r12};
    add.u32 %r10, %r10, 128; setp.lt.u32 %p1, %r10, 2048; @%p1 bra CP;
    fence.proxy.async.shared::cta; bar.sync 0;
    setp.ne.u32 %p1, %r0, 0; @%p1 bra WAIT;
    shr.u32 %r12, %r3, 4; cvt.u64.u32 %rd2, %r12; add.u64 %rd3, %rd2, 0x4000404000010000; add.u64 %rd4, %rd3, 1024;
    tcgen05.mma.cta_group::1.kind::f16 [%r2], %rd3, %rd4, 0x08080490, )" +
                             first + R"(;
    add.u32 %r70, %r2, )" + further +
                             R"(;
    tcgen05.mma.cta_group::1.kind::f16 [%r70], %rd3, %rd4, 0x08080490, 1;
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r4];
  WAIT: mbarrier.try_wait.parity.shared.b64 %p3, [%r4], 0; @!%p3 bra WAIT;
    tcgen05.fence::after_thread_sync;
    tcgen05.ld.sync.aligned.32x32b.x32.b32 )" +
                             vector_of("r", 100, 32) + ", [%r6]; tcgen05.wait::ld.sync.aligned;\n" + stored;
    const Run r = run_tensor(tensor_kernel(body, 64), std::vector<u8>(16), 32 * 512);
    CHECK_MESSAGE(r.result.outcome == sim::Outcome::finished, r.findings());
    return reports(r) != 0;
  };
  const std::string row =
      "setp.ne.u32 %p4, %r0, 5; @%p4 st.global.u32 [%own], %r103; @%p4 st.global.u32 [%own+512], %r107;";
  const std::string all = "st.global.u32 [%own], %r103;", column = "st.global.u32 [%own], %r107;";
  CHECK_FALSE(with("5", row));
  CHECK(with("5", all));
  CHECK_FALSE(with("135", all));  // B begins in line 128
  CHECK(with("135", column));
  CHECK_FALSE(with("999", all));
  CHECK(with("999", all, "1"));  // the first MMA adds to what is there
  CHECK_FALSE(with("5", ""));
  // Columns that are not there at all, and an accumulator across the end of another.
  CHECK_FALSE(with("999", "", "1"));
  CHECK_FALSE(with("999", "", "%p2", "32"));
  CHECK(with("999", "", "%p2", "16"));
}

TEST_CASE("tensor memory keeps it cell by cell") {
  const auto with = [](const std::string& body, const std::string& stored) {
    return reports(run_tensor(tensor_kernel(body +
                                            "tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r20, %r21}, [%r6]; "
                                            "tcgen05.wait::ld.sync.aligned;\n" +
                                            stored),
                              std::vector<u8>(16), 512)) != 0;
  };
  const std::string store = "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r6], {%r0}; tcgen05.wait::st.sync.aligned;\n";
  CHECK_FALSE(with(store, "st.global.u32 [%own], %r20;"));
  CHECK(with(store, "st.global.u32 [%own], %r21;"));
  const std::string poison = "ld.shared.u32 %r30, [%r3]; setp.eq.u32 %p4, %r0, 9; selp.u32 %r30, %r30, 1, %p4;\n";
  const std::string poisoned =
      poison + "tcgen05.st.sync.aligned.32x32b.x1.b32 [%r6], {%r30}; tcgen05.wait::st.sync.aligned;\n";
  CHECK(with(poisoned, "st.global.u32 [%own], %r20;"));
  CHECK_FALSE(with(poisoned, "@!%p4 st.global.u32 [%own], %r20;"));
  CHECK_FALSE(with(poisoned + store, "st.global.u32 [%own], %r20;"));
}

namespace {

// %r9 from %r1, %r2, %r3, all of whose bytes in `unknown` take the values of `fill`.
std::string on_bytes(const std::string& op, const std::array<u32, 3>& words, u32 unknown, const u32* fill, int byte) {
  std::string text;
  for (int k = 0; k < 3; ++k) {
    for (int b = 0; b < 4; ++b) {
      const bool poison = unknown >> (4 * k + b) & 1;
      const u32 value = (poison && fill ? fill[k] : words[std::size_t(k)]) >> 8 * b & 0xFF;
      if (!poison || fill) text += "st.shared.u8 [box+" + digits(u64(4 * k + b)) + "], " + digits(value) + ";\n";
    }
    text += "ld.shared.u32 %r" + digits(u64(k + 1)) + ", [box+" + digits(u64(4 * k)) + "];\n";
  }
  return variables + text + op + "\nst.shared.u32 [box+64], %r9; ld.shared.u8 %r8, [box+" + digits(u64(64 + byte)) +
         "]; st.global.u32 [%out], %r8;";
}

}  // namespace

TEST_CASE("a byte of a result that depends on poison is poison") {
  const std::vector<std::string> operations{
      "and.b32 %r9, %r1, %r2;",
      "or.b32 %r9, %r1, %r2;",
      "xor.b32 %r9, %r1, %r2;",
      "not.b32 %r9, %r1;",
      "lop3.b32 %r9, %r1, %r2, %r3, 0xCA;",
      "add.u32 %r9, %r1, %r2;",
      "mul.lo.u32 %r9, %r1, %r2;",
      "mad.lo.u32 %r9, %r1, %r2, %r3;",
      "mul.hi.u32 %r9, %r1, %r2;",
      "and.b32 %r2, %r2, 31; shl.b32 %r9, %r1, %r2;",
      "and.b32 %r2, %r2, 31; shr.u32 %r9, %r1, %r2;",
      "and.b32 %r2, %r2, 31; shr.s32 %r9, %r1, %r2;",
      "shf.l.wrap.b32 %r9, %r1, %r2, %r3;",
      "shf.r.clamp.b32 %r9, %r1, %r2, 9;",
      "prmt.b32 %r9, %r1, %r2, %r3;",
      "prmt.b32.rc16 %r9, %r1, %r2, %r3;",
      "prmt.b32 %r9, %r1, %r2, 0x7391;",
      "and.b32 %r2, %r2, 31; and.b32 %r3, %r3, 15; bfe.u32 %r9, %r1, %r2, %r3;",
      "bfe.s32 %r9, %r1, 5, 9;",
      "bfi.b32 %r9, %r1, %r2, 5, 9;",
      "bfi.b32 %r9, %r1, %r2, %r3, 9;",
      "min.s32 %r9, %r1, %r2;",
      "popc.b32 %r9, %r1;",
      "mov.b32 {%h1, %h2}, %r1; cvt.s32.s16 %r9, %h2;",
      "cvt.s32.s8 %r9, %r1;",
      "cvt.u32.u8 %r9, %r1;",
      "mov.b64 %rd1, {%r1, %r2}; shr.u64 %rd1, %rd1, 13; mov.b64 {%r9, _}, %rd1;",
      "mov.b64 %rd1, {%r1, %r2}; shl.b64 %rd1, %rd1, 13; mov.b64 {_, %r9}, %rd1;",
      "mul.wide.u32 %rd1, %r1, %r2; mov.b64 {%r9, _}, %rd1;",
      "cvt.s64.s32 %rd1, %r1; mov.b64 {_, %r9}, %rd1;",
      "cvt.u64.u32 %rd1, %r1; shr.u64 %rd1, %rd1, 8; mov.b64 {%r9, _}, %rd1;",
      "add.cc.u32 %r4, %r1, %r2; addc.u32 %r9, %r3, 0;",
      "setp.lt.u32 %p1, %r1, %r2; selp.u32 %r9, %r3, %r1, %p1;",
      "slct.u32.s32 %r9, %r1, %r2, %r3;",
      "and.b32 %r1, %r1, 1; setp.eq.u32 %p1, %r1, 0; setp.gt.and.u32 %p2|%p3, %r2, 5, %p1; selp.u32 %r9, 1, 0, %p3;",
      "and.b32 %r1, %r1, 1; setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r2, 0; xor.pred %p1, %p1, %p2; not.pred %p1, "
      "%p1; selp.u32 %r9, 1, "
      "0, %p1;",
      "add.rn.bf16x2 %r9, %r1, %r2;",
      "fma.rn.f16x2 %r9, %r1, %r2, %r3;",
      "max.s16x2 %r9, %r1, %r2;",
      "mov.b32 %f1, %r1; mov.b32 %f2, %r2; cvt.rn.f16x2.f32 %r9, %f1, %f2;",
      "mov.b32 %f1, %r1; mov.b32 %f2, %r2; fma.rn.f32 %f3, %f1, %f2, %f1; mov.b32 %r9, %f3;",
      "mov.b32 {%h1, %h2}, %r1; mov.b32 %r9, {%h2, %h1};",
      "vadd4.u32.u32.u32 %r9, %r1, %r2, %r3;",
      "setp.lt.u32 %p1, %r1, %r2; mov.u32 %r9, %r3; @%p1 bra L; xor.b32 %r9, %r9, 255; L:",
      "setp.lt.u32 %p1, %r1, %r2; mov.u32 %r9, %r3; @%p1 add.u32 %r9, %r9, 1;"};
  std::mt19937 random(7);
  std::size_t depending = 0;  // operations of which some byte did
  for (const std::string& op : operations) {
    bool found = false;
    for (int round = 0; round < 6; ++round) {
      const std::array<u32, 3> words{u32(random()), u32(random()), u32(random())};
      const u32 unknown = round < 3 ? 1u << 3 * round : u32(random()) & u32(random()) & 0xFFF;
      for (int byte = 0; byte < 4; ++byte) {
        bool depends = false;
        u32 first = 0;
        for (int k = 0; k < 4 && !depends; ++k) {
          const u32 ends[] = {0, ~0u}, same = k < 2 ? ends[k] : u32(random());
          const u32 fill[3] = {same, k < 2 ? ends[k] : u32(random()), same};
          const Run r = run_kernel(kernel(on_bytes(op, words, unknown, fill, byte)));
          REQUIRE_MESSAGE(r.clean(), op << "\n" << r.findings());
          const u32 value = r.read<u32>("out")[0];
          if (k == 0) first = value;
          depends = value != first;
        }
        const bool reported = reports(run_kernel(kernel(on_bytes(op, words, unknown, nullptr, byte)))) != 0;
        CHECK_MESSAGE((reported || !depends), op << " byte " << byte << " unknown " << unknown);
        found |= depends;
      }
    }
    depending += found;
  }
  CHECK(depending + 4 >= operations.size());
}

TEST_CASE("what a racing load finds is poison in a second run, which tells race-unused from race") {
  // Warp 0 stores to words that both load; `uses` is what becomes of the word %r1.
  const auto found = [](const std::string& uses, bool weighs = true) {
    sim::Options options;
    options.weigh_reads = weighs;
    const Run r = run_kernel(
        kernel(
            variables +
            "and.b32 %r3, %r90, 31; mul.wide.u32 %rd1, %r3, 4; add.u64 %rd1, %out, %rd1; setp.lt.u32 %p1, %r90, 32;\n"
            "ld.global.u32 %r1, [%rd1]; @%p1 st.global.u32 [%rd1], 7;\n" +
            uses),
        64, 64, options);
    CHECK(r.result.outcome == sim::Outcome::finished);
    std::set<std::string> slugs;
    for (const diag::Diagnostic& d : r.sink.all()) slugs.insert(d.slug);
    for (int k = 0; k < 32; ++k) CHECK(r.read<u32>("out")[std::size_t(k)] == 7);
    return slugs;
  };
  using Slugs = std::set<std::string>;
  CHECK(found("") == Slugs{"race-unused"});
  CHECK(found("", false) == Slugs{"race"});
  CHECK(found("add.u32 %r1, %r1, 1; mul.lo.u32 %r2, %r1, %r1;") == Slugs{"race-unused"});
  CHECK(found("@!%p1 mov.u32 %r1, 0; st.global.u32 [%rd1+128], %r1;").contains("race-unused"));
  CHECK(found("@!%p1 st.global.u32 [%rd1+128], %r1;") == Slugs{"race"});
  CHECK(found("setp.eq.u32 %p2, %r1, 5; @%p2 bar.sync 0;") == Slugs{"race"});
  CHECK(found("shl.b32 %r2, %r1, 2; add.u32 %r2, %r91, %r2; st.shared.u32 [%r2], 1;").contains("race"));
  // A load whose word is dropped hides neither one whose word is used, nor a race of two stores.
  CHECK(found("@!%p1 st.global.u32 [%rd1+128], %r1; ld.global.u32 %r2, [%rd1];").contains("race"));
  CHECK(found("@!%p1 ld.global.u32 %r2, [%rd1]; @!%p1 st.global.u32 [%rd1], 7;") == Slugs{"race"});
  // One load matters, and the other does not: neither is told apart.
  CHECK(found("ld.global.u32 %r2, [%rd1]; @!%p1 st.global.u32 [%rd1+128], %r2;") == Slugs{"race"});
}

TEST_CASE("of a race with the first write of what was read, the repair is a wait before the read") {
  // The second warp stores after the first has read: a flag says when, and hands nothing over.
  const auto notes = [](const std::string& before) {
    const Run r = runs(before +
                           "setp.lt.u32 %p1, %r90, 32; and.b32 %r3, %r90, 31; shl.b32 %r3, %r3, 2;\n"
                           "mov.u32 %r4, box; add.u32 %r4, %r4, %r3; @!%p1 bra WAIT;\n"
                           "ld.shared.u32 %r1, [%r4]; st.relaxed.cta.shared.u32 [%r4+512], 1; bra END;\n"
                           "WAIT: ld.relaxed.cta.shared.u32 %r5, [%r4+512]; setp.ne.u32 %p2, %r5, 1; @%p2 bra WAIT;\n"
                           "st.shared.u32 [%r4], 7; END:",
                       64);
    CHECK_MESSAGE(r.result.outcome == sim::Outcome::finished, r.findings());
    return r.findings();
  };
  const std::string flags = "st.shared.u32 [%r91+512], 0; bar.sync 0;\n";
  const std::string early = notes(flags), late = notes("st.shared.u32 [%r91], 3;\n" + flags);
  CHECK_MESSAGE(early.find("[race]") != std::string::npos, early);
  CHECK(early.find("the read came too early: nothing else was written there before it; repair: a barrier") !=
        std::string::npos);
  CHECK_MESSAGE(late.find("[race]") != std::string::npos, late);
  CHECK(late.find("too early") == std::string::npos);
}

}  // namespace sim_poison

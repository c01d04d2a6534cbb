// One whole kernel: TMA loads, tcgen05.mma, commit, tcgen05.ld, conversion, TMA store.
#include <doctest/doctest.h>

#include <map>
#include <random>

#include "sim/core/observer.hpp"

#include "tests/unit/sim/run.hpp"

namespace sim_gemm {

using namespace kiln;
using namespace kiln::test;
using u16 = std::uint16_t;

namespace {

constexpr int M = 128, N = 64, K = 256, stages = 2, block_k = 64;

// D = A * B^T with one CTA; warp 4 loads, warp 5 multiplies, warps 0-3 store.
const std::string text = head + R"(
.extern .shared .align 1024 .b8 tiles[];
.visible .entry gemm(.param .align 64 .b8 A[128], .param .align 64 .b8 B[128], .param .align 64 .b8 D[128],
                     .param .u32 k_tiles)
.reqntid 192, 1, 1
{
  .reg .pred %p<20>; .reg .b32 %r<200>; .reg .b64 %rd<40>; .reg .f32 %f<70>;
  .shared .align 8 .b64 full[2];
  .shared .align 8 .b64 empty[2];
  .shared .align 8 .b64 done;
  .shared .align 4 .b32 slot;
  mov.b64 %rd1, A; mov.b64 %rd2, B; mov.b64 %rd3, D;
  cvta.param.u64 %rd1, %rd1; cvta.param.u64 %rd2, %rd2; cvta.param.u64 %rd3, %rd3;
  ld.param.u32 %r1, [k_tiles];
  mov.u32 %r2, %tid.x; shr.u32 %r3, %r2, 5;
  mov.u32 %r10, full; mov.u32 %r11, empty; mov.u32 %r12, done; mov.u32 %r13, slot; mov.u32 %r14, tiles;
  setp.ne.u32 %p1, %r2, 0; @%p1 bra INIT_DONE;
  mbarrier.init.shared::cta.b64 [%r10], 1; mbarrier.init.shared::cta.b64 [%r10+8], 1;
  mbarrier.init.shared::cta.b64 [%r11], 1; mbarrier.init.shared::cta.b64 [%r11+8], 1;
  mbarrier.init.shared::cta.b64 [%r12], 1;
  fence.mbarrier_init.release.cluster;
INIT_DONE:
  setp.ne.u32 %p2, %r3, 4; @%p2 bra ALLOC_DONE;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r13], 64;
  tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
ALLOC_DONE:
  bar.sync 0;
  tcgen05.fence::after_thread_sync;
  ld.shared.u32 %r20, [%r13];
  setp.eq.u32 %p3, %r3, 4; @%p3 bra role_load;
  setp.eq.u32 %p3, %r3, 5; @%p3 bra role_mma;
  bra role_store;
role_load:
  elect.sync _|%p4, 0xffffffff; @!%p4 bra END;
  mov.u32 %r30, 0;
LOAD_LOOP:
  setp.ge.u32 %p5, %r30, %r1; @%p5 bra END;
  and.b32 %r31, %r30, 1; shr.u32 %r32, %r30, 1; not.b32 %r33, %r32; and.b32 %r33, %r33, 1;
  shl.b32 %r34, %r31, 3; add.u32 %r35, %r10, %r34; add.u32 %r36, %r11, %r34;
LOAD_WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p6, [%r36], %r33; @!%p6 bra LOAD_WAIT;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r35], 24576;
  mad.lo.u32 %r37, %r31, 24576, %r14; add.u32 %r38, %r37, 16384; shl.b32 %r39, %r30, 6;
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r37], [%rd1, {%r39, 0}], [%r35];
  cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r38], [%rd2, {%r39, 0}], [%r35];
  add.u32 %r30, %r30, 1; bra LOAD_LOOP;
role_mma:
  elect.sync _|%p4, 0xffffffff; @!%p4 bra END;
  mov.u32 %r30, 0;
MMA_LOOP:
  setp.ge.u32 %p5, %r30, %r1; @%p5 bra MMA_END;
  and.b32 %r31, %r30, 1; shr.u32 %r32, %r30, 1; and.b32 %r33, %r32, 1;
  shl.b32 %r34, %r31, 3; add.u32 %r35, %r10, %r34; add.u32 %r36, %r11, %r34;
MMA_WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p6, [%r35], %r33; @!%p6 bra MMA_WAIT;
  tcgen05.fence::after_thread_sync;
  mad.lo.u32 %r37, %r31, 24576, %r14; shr.u32 %r38, %r37, 4; cvt.u64.u32 %rd10, %r38;
  mov.b64 %rd11, 0x4000404000010000; add.u64 %rd12, %rd10, %rd11; add.u64 %rd13, %rd12, 1024;
  mov.u32 %r40, 0;
MMA_K:
  or.b32 %r41, %r40, %r30; setp.ne.u32 %p7, %r41, 0;
  tcgen05.mma.cta_group::1.kind::f16 [%r20], %rd12, %rd13, 0x08100490, %p7;
  add.u64 %rd12, %rd12, 2; add.u64 %rd13, %rd13, 2;
  add.u32 %r40, %r40, 1; setp.lt.u32 %p8, %r40, 4; @%p8 bra MMA_K;
  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r36];
  add.u32 %r30, %r30, 1; bra MMA_LOOP;
MMA_END:
  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r12];
  bra END;
role_store:
STORE_WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p6, [%r12], 0; @!%p6 bra STORE_WAIT;
  tcgen05.fence::after_thread_sync;
  shl.b32 %r50, %r3, 21; add.u32 %r50, %r50, %r20;
  add.u32 %r60, %r14, 49152; shl.b32 %r61, %r2, 7; add.u32 %r60, %r60, %r61;
  shr.u32 %r62, %r60, 7; and.b32 %r62, %r62, 7; shl.b32 %r62, %r62, 4;
  mov.u32 %r70, 0;
CHUNK:
  tcgen05.ld.sync.aligned.32x32b.x8.b32 {%r80, %r81, %r82, %r83, %r84, %r85, %r86, %r87}, [%r50];
  tcgen05.wait::ld.sync.aligned;
  mov.b32 %f0, %r80; mov.b32 %f1, %r81; mov.b32 %f2, %r82; mov.b32 %f3, %r83;
  mov.b32 %f4, %r84; mov.b32 %f5, %r85; mov.b32 %f6, %r86; mov.b32 %f7, %r87;
  cvt.rn.bf16x2.f32 %r90, %f1, %f0; cvt.rn.bf16x2.f32 %r91, %f3, %f2;
  cvt.rn.bf16x2.f32 %r92, %f5, %f4; cvt.rn.bf16x2.f32 %r93, %f7, %f6;
  shl.b32 %r71, %r70, 4; xor.b32 %r71, %r71, %r62; add.u32 %r72, %r60, %r71;
  st.shared.v4.b32 [%r72], {%r90, %r91, %r92, %r93};
  add.u32 %r50, %r50, 8; add.u32 %r70, %r70, 1; setp.lt.u32 %p9, %r70, 8; @%p9 bra CHUNK;
  fence.proxy.async.shared::cta;
  bar.sync 1, 128;
  setp.ne.u32 %p10, %r2, 0; @%p10 bra STORED;
  add.u32 %r73, %r14, 49152;
  cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd3, {0, 0}], [%r73];
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
STORED:
END:
  bar.sync 0;
  setp.ne.u32 %p2, %r3, 4; @%p2 bra OUT;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r20, 64;
OUT:
  ret;
}
)";

launch::TensorMap tile(const char* name, std::uint64_t rows, std::uint64_t columns, std::uint32_t box_rows) {
  launch::TensorMap m;
  m.buffer = name;
  m.dims = {columns, rows};
  m.strides = {0, columns * 2};
  m.box = {block_k, box_rows, 1, 1, 1};
  m.swizzle = isa::Swizzle::b128;
  return m;
}

u16 bf16(float v) { return u16(std::bit_cast<std::uint32_t>(v) >> 16); }
float real(u16 v) { return std::bit_cast<float>(std::uint32_t(v) << 16); }

launch::Contract contract(std::vector<u16>& a, std::vector<u16>& b) {
  std::mt19937 random(7);
  a.resize(M * K), b.resize(N * K);
  for (u16& v : a) v = bf16(float(int(random() % 5) - 2));
  for (u16& v : b) v = bf16(float(int(random() % 5) - 2));
  launch::Contract c;
  c.buffers = {filled("A", a), filled("B", b), buffer("D", M * N * 2, launch::Init::Kind::poison)};
  c.tensor_maps = {{"A", tile("A", M, K, M)}, {"B", tile("B", N, K, N)}, {"D", tile("D", M, N, M)}};
  launch::Launch l;
  l.block = {192, 1, 1};
  l.dynamic_smem = stages * 24576 + M * N * 2;
  l.params = {map("A"), map("B"), map("D"), scalar(isa::ScalarType::u32, K / block_k)};
  c.launches = {l};
  return c;
}

}  // namespace

TEST_CASE("a GEMM kernel computes A times B transposed, whatever the schedule") {
  std::vector<u16> a, b;
  sim::Statistics first{};
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    sim::Options options;
    options.seed = seed;
    const Run r = run(text, contract(a, b), options);
    REQUIRE_MESSAGE(r.clean(), sim::spelling(r.result.outcome) << "\n" << r.findings());
    const auto d = r.read<u16>("D");
    int wrong = 0;
    for (int m = 0; m < M; ++m)
      for (int n = 0; n < N; ++n) {
        float sum = 0;
        for (int k = 0; k < K; ++k) sum += real(a[std::size_t(m * K + k)]) * real(b[std::size_t(n * K + k)]);
        wrong += real(d[std::size_t(m * N + n)]) != real(bf16(sum)) && std::abs(sum) <= 256;
      }
    CHECK(wrong == 0);
    CHECK(r.result.statistics.mma_instructions == K / 16);
    CHECK(r.result.statistics.tma_bytes == (M + N) * K * 2 + M * N * 2);
    if (seed != 1) continue;
    first = r.result.statistics;
    const Run again = run(text, contract(a, b), options);
    CHECK(again.read<u16>("D") == d);
    CHECK(again.result.statistics.warp_instructions == first.warp_instructions);
    CHECK(again.result.statistics.thread_instructions == first.thread_instructions);
  }
}

TEST_CASE("a stage that expects too many bytes never fills, and the report says which threads wait") {
  std::vector<u16> a, b;
  std::string broken = text;
  broken.replace(broken.find("[%r35], 24576"), 13, "[%r35], 24592");
  const Run r = run(broken, contract(a, b));
  CHECK(r.result.outcome == sim::Outcome::deadlock);
  CHECK(
      r.has("role `mma`, warp 5, lane 0 of CTA (0, 0, 0) waits for mbarrier `full[0]`, phase 0 (parity 0): 0 of 1 "
            "arrivals pending, 16 bytes outstanding"));
}

TEST_CASE("a kernel that keeps its tensor memory is told") {
  std::vector<u16> a, b;
  std::string broken = text;
  const std::string dealloc = "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r20, 64;";
  broken.replace(broken.find(dealloc), dealloc.size(), "");
  CHECK(run(broken, contract(a, b)).has("[tcgen05-alloc-leak]"));
  broken = text;
  broken.replace(broken.find("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r20, 64"), dealloc.size() - 1,
                 "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r20, 32");
  CHECK(run(broken, contract(a, b)).has("[tcgen05-dealloc-size]"));
}

TEST_CASE("an accumulator that starts from unwritten cells is found") {
  std::vector<u16> a, b;
  std::string broken = text;
  broken.replace(broken.find("setp.ne.u32 %p7, %r41, 0;"), 25, "setp.ne.u32 %p7, %r41, 9;");
  CHECK(run(broken, contract(a, b)).has("got the accumulator in tensor memory from column 0 as "));
}

namespace {

struct Counter : sim::Observer {
  std::size_t issued = 0, completed = 0, async_writes = 0;
  std::uint64_t global_bytes = 0;
  std::map<sim::SyncKind, std::size_t> syncs;
  void issue(sim::AsyncId, const sim::Agent&, const ir::Operation&) override { ++issued; }
  void complete(sim::AsyncId) override { ++completed; }
  void access(const sim::Agent&, const ir::Operation&, const sim::Range& r, sim::AccessKind kind, sim::Proxy proxy,
              sim::AsyncId id) override {
    if (id && r.space == isa::Space::global) global_bytes += r.bytes;
    async_writes +=
        r.space == isa::Space::shared_cta && id != 0 && proxy == sim::Proxy::async && kind == sim::AccessKind::write;
  }
  void sync(const sim::Agent&, const ir::Operation*, const sim::Sync& s) override { ++syncs[s.kind]; }
};

}  // namespace

TEST_CASE("an observer sees every asynchronous operation begin and end") {
  std::vector<u16> a, b;
  launch::Contract c = contract(a, b);
  diag::Sink sink;
  const ir::Module module = parse::parse(std::make_shared<const diag::Source>("gemm.ptx", text), sink);
  Counter counter;
  const sim::Result r = sim::simulate(module, c, {}, sink, &counter);
  CHECK(r.outcome == sim::Outcome::finished);
  CHECK(counter.issued == K / 16 + 2 * K / block_k + 1);  // MMAs, loads, the store
  CHECK(counter.completed == counter.issued);
  CHECK(counter.async_writes == 2 * K / block_k);
  CHECK(counter.global_bytes == r.statistics.tma_bytes);
  CHECK(counter.syncs[sim::SyncKind::tcgen05_commit] == K / block_k + 1);
  CHECK(counter.syncs[sim::SyncKind::mbarrier_complete] == 2 * K / block_k);
  CHECK(counter.syncs[sim::SyncKind::tmem_alloc] == 1);
  CHECK(counter.syncs[sim::SyncKind::cta_exit] == 1);
}

}  // namespace sim_gemm

// CTAs of one cluster: addresses, barriers, remote arrivals, multicast. And the copies that threads track themselves.
#include <doctest/doctest.h>

#include "tests/unit/sim/run.hpp"

namespace sim_cluster {

using namespace kiln;
using namespace kiln::test;
using u16 = std::uint16_t;
using u32 = std::uint32_t;

namespace {

Run run_cluster(const std::string& body, u32 ctas, u32 cluster, u32 threads, std::size_t bytes,
                std::uint64_t seed = 1) {
  launch::Contract c;
  c.buffers = {buffer("out", bytes)};
  launch::Launch l;
  l.grid = {ctas, 1, 1};
  l.cluster = {cluster, 1, 1};
  l.block = {threads, 1, 1};
  l.params = {pointer("out")};
  c.launches = {l};
  sim::Options o;
  o.seed = seed;
  return run(kernel(body), c, o);
}

}  // namespace

TEST_CASE("CTAs know their place") {
  const Run r = run_cluster(R"(
    mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd1, %r1, 16; add.u64 %rd1, %rd1, %out;
    mov.u32 %r2, %cluster_ctarank; mov.u32 %r3, %nctaid.x; mov.u32 %r4, %clusterid.x; mov.u32 %r5, %cluster_nctarank;
    st.global.v4.u32 [%rd1], {%r2, %r3, %r4, %r5};)",
                            6, 2, 1, 96);
  REQUIRE_MESSAGE(r.clean(), r.findings());
  const auto out = r.read<u32>("out");
  CHECK(out[4 * 5 + 0] == 1);
  CHECK(out[4 * 5 + 1] == 6);
  CHECK(out[4 * 5 + 2] == 2);
  CHECK(out[4 * 5 + 3] == 2);
  CHECK(r.result.statistics.ctas == 6);
}

// One thread of each CTA: %r1 has 16 bytes to write to, %r2 16 bytes, %r3 an mbarrier that waits for `bytes`; all in
// its own CTA. `directive`: of the entry.
Run ran(const std::string& write, u32 bytes, u32 cluster = 1, const std::string& directive = "") {
  const std::string text = kernel(R"(
    .shared .align 16 .b8 to[16]; .shared .align 16 .b8 from[16]; .shared .align 8 .b64 bar;
    mov.u32 %r4, %cluster_ctarank; mov.u32 %r5, 7; mov.u32 %r6, to; mov.u32 %r7, bar; mov.u32 %r2, from;
    mapa.shared::cluster.u32 %r1, %r6, %r4; mapa.shared::cluster.u32 %r3, %r7, %r4;
    mbarrier.init.shared::cta.b64 [%r7], 1; fence.mbarrier_init.release.cluster;
    st.shared.v4.u32 [%r2], {%r5, %r5, %r5, %r5}; st.shared.v4.u32 [%r6], {0, 0, 0, 0};
    fence.proxy.async.shared::cta;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r7], )" +
                                  std::to_string(bytes) + ";\n" + write + R"(
  W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r7], 0; @!%p1 bra W;
    ld.shared.u32 %r8, [%r6]; mov.u32 %r9, %ctaid.x; mul.wide.u32 %rd1, %r9, 4; add.u64 %rd1, %rd1, %out;
    st.global.u32 [%rd1], %r8;)");
  launch::Contract c;
  c.buffers = {buffer("out", 8)};
  launch::Launch l;
  l.grid = {2, 1, 1};
  l.cluster = {cluster, 1, 1};
  l.block = {1, 1, 1};
  l.params = {pointer("out")};
  c.launches = {l};
  const std::string head = "k(.param .u64 out) ";
  std::string directed = text;
  directed.insert(directed.find(head) + head.size(), directive);
  const Run r = run(directed, c);
  CHECK_MESSAGE(r.clean(), write << "\n" << r.findings());
  CHECK(r.read<u32>("out") == std::vector<u32>{7, 7});
  return r;
}

TEST_CASE("what an H200 executes in a launch with clusters alone is reported where the launch may have none") {
  const std::string signals = ".mbarrier::complete_tx::bytes";
  const std::string store = "st.async.shared::cluster" + signals + ".b32 [%r1], %r5, [%r3];";
  const std::string vector = "st.async.weak" + signals + ".v4.b32 [%r6], {%r5, %r5, %r5, %r5}, [%r7];";
  const std::string reduction = "red.async.relaxed.cluster.shared::cluster" + signals + ".add.u32 [%r1], %r5, [%r3];";
  const std::string copy = "cp.async.bulk.shared::cluster.shared::cta" + signals + " [%r1], [%r2], 16, [%r3];";
  const struct {
    const std::string& write;
    u32 bytes;
  } writes[] = {{store, 4}, {vector, 16}, {reduction, 4}, {copy, 16}};
  for (const auto& [write, bytes] : writes) {
    const Run r = ran(write, bytes);
    // Both CTAs execute it; it is said once, where it stands.
    REQUIRE(r.sink.all().size() == 1);
    CHECK(r.has("portability: "));
    CHECK(r.has("[cluster-launch]"));
    CHECK(r.has(write.substr(0, write.find(' '))));
    CHECK(!ran(write, bytes, 2).has("cluster-launch"));
    CHECK(!ran(write, bytes, 1, ".reqnctapercluster 1 ").has("cluster-launch"));
    CHECK(!ran(write, bytes, 1, ".reqnctapercluster 2, 1, 1 ").has("cluster-launch"));
    CHECK(!ran(write, bytes, 1, ".explicitcluster ").has("cluster-launch"));
    CHECK(!ran(write, bytes, 1, ".maxclusterrank 8 ").has("cluster-launch"));
  }
  // In any launch.
  const std::string arrive = " mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%r3], 4;";
  CHECK(!ran("st.shared::cluster.u32 [%r1], %r5; fence.acq_rel.cluster;" + arrive, 4).has("cluster-launch"));
  CHECK(
      !ran("atom.shared::cluster.add.u32 %r10, [%r1], %r5; fence.acq_rel.cluster;" + arrive, 4).has("cluster-launch"));
}

TEST_CASE("st.async to global memory and copies from global memory need no clusters") {
  const Run r = run_cluster(R"(
    .shared .align 16 .b8 to[16]; .shared .align 8 .b64 bar;
    mov.u32 %r1, to; mov.u32 %r2, bar; mov.b16 %h1, 1;
    mbarrier.init.shared::cta.b64 [%r2], 1; fence.mbarrier_init.release.cluster;
    mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 16;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r1], [%out], 16, [%r2], %h1;
  W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r2], 0; @!%p1 bra W;
    st.async.release.sys.global.b32 [%out+16], %r2;)",
                            1, 1, 1, 32);
  REQUIRE_MESSAGE(r.clean(), r.findings());
  CHECK(!r.has("cluster-launch"));
}

TEST_CASE("a CTA reads its neighbour's shared memory and arrives on its mbarrier") {
  const std::string text = R"(
    .shared .align 8 .b64 bar; .shared .align 4 .u32 value;
    mov.u32 %r1, bar; mov.u32 %r2, value; mov.u32 %r3, %cluster_ctarank; xor.b32 %r4, %r3, 1;
    mov.u32 %r0, %tid.x; setp.eq.u32 %p1, %r0, 0;
    @%p1 mbarrier.init.shared::cta.b64 [%r1], 32; fence.mbarrier_init.release.cluster;
    add.u32 %r5, %r3, 70; st.shared.u32 [%r2], %r5;
    barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
    mapa.shared::cluster.u32 %r6, %r1, %r4; mapa.shared::cluster.u32 %r7, %r2, %r4;
    ld.shared::cluster.u32 %r8, [%r7];
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r6];
  W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r1], 0; @!%p1 bra W;
    mul.wide.u32 %rd1, %r3, 4; add.u64 %rd1, %rd1, %out; st.global.u32 [%rd1], %r8;
    barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;)";
  for (std::uint64_t seed = 1; seed < 6; ++seed) {
    const Run r = run_cluster(text, 2, 2, 32, 8, seed);
    REQUIRE_MESSAGE(r.clean(), r.findings());
    CHECK(r.read<u32>("out") == std::vector<u32>{71, 70});
  }
}

// CTA 0 writes a word of CTA 1's shared memory and one of global memory, and arrives; CTA 1 waits and reads one.
Run hand_over(const std::string& arrive, const std::string& wait, const std::string& read) {
  return run_cluster(R"(
    .shared .align 8 .b64 bar; .shared .align 4 .u32 value;
    mov.u32 %r1, bar; mov.u32 %r2, value; mov.u32 %r3, %cluster_ctarank; setp.eq.u32 %p1, %r3, 1;
    mbarrier.init.shared::cta.b64 [%r1], 1; fence.mbarrier_init.release.cluster;
    mapa.shared::cluster.u32 %r6, %r1, 1; mapa.shared::cluster.u32 %r7, %r2, 1;
    barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
    @%p1 bra TAKE;
    st.shared::cluster.u32 [%r7], 7; st.global.u32 [%out], 7; )" +
                         arrive + R"( bra DONE;
  TAKE: mbarrier.try_wait.parity)" +
                         wait + R"(.shared::cta.b64 %p2, [%r1], 0; @!%p2 bra TAKE; )" + read + R"(
    st.global.u32 [%out+4], %r8;
  DONE: barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;)",
                     2, 2, 1, 8);
}

TEST_CASE("mbarrier-wait-acquire: what a wait that does not acquire hands over is PORTABILITY") {
  const std::string arrive = "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r6];";
  const std::string shared = "ld.shared::cta.u32 %r8, [%r2];", global = "ld.global.u32 %r8, [%out];";
  const std::string fence = "fence.acq_rel.cluster; ";
  const auto is_found = [&](const std::string& wait, const std::string& read) {
    const Run r = hand_over(arrive, wait, read);
    CHECK_MESSAGE(r.clean(), r.findings());
    return r.has("portability: ") && r.has("[mbarrier-wait-acquire]");
  };
  CHECK(!is_found(".acquire.cluster", shared));
  CHECK(!is_found(".acquire.cluster", global));
  CHECK(is_found(".relaxed.cluster", shared));
  CHECK(is_found(".relaxed.cluster", global));
  CHECK(!is_found(".relaxed.cluster", fence + shared));
  CHECK(!is_found("", shared));  // as all kernels of clusters do
  CHECK(is_found("", global));
}

TEST_CASE("an arrival at another CTA that is relaxed at CTA scope hands on nothing by PTX, even after a fence") {
  const std::string read = "ld.shared::cta.u32 %r8, [%r2];", fence = "fence.acq_rel.cluster; ";
  const auto after = [&](const std::string& scope) {
    return hand_over(fence + "mbarrier.arrive.relaxed" + scope + ".shared::cluster.b64 _, [%r6];", ".acquire.cluster",
                     read);
  };
  CHECK(after(".cta").has("[mbarrier-scope]"));
  CHECK(after(".cta").clean());
  CHECK(!after(".cluster").has("[mbarrier-scope]"));
}

TEST_CASE("an mbarrier instruction with a mask is about the object of each CTA") {
  const std::string wait_in_all = R"(
    W: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p1, [%r1], 0; @!%p1 bra W;
    mov.u32 %r5, 1; mul.wide.u32 %rd1, %r3, 4; add.u64 %rd1, %rd1, %out; st.global.u32 [%rd1], %r5;
    barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;)";
  const auto with = [&](const std::string& count, const std::string& signal) {
    return run_cluster(
        ".shared .align 8 .b64 bar; mov.u32 %r1, bar; mov.u32 %r3, %cluster_ctarank; mov.u32 %r6, 0xA;\n"
        "mbarrier.init.layout::v0.shared::cta.b64 [%r1], " +
            count +
            "; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; setp.ne.u32 %p2, %r3, 2;\n"
            "setp.eq.u32 %p3, %r3, 0; setp.eq.u32 %p4, %r3, 2; or.pred %p5, %p3, %p4; @%p2 bra S;\n" +
            signal + "\nS: @%p5 bra E;" + wait_in_all +
            "\nret; E: " + "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;",
        4, 4, 1, 16);
  };
  const Run arrived =
      with("2", "mbarrier.arrive.release.cluster.shared::cluster.multicast::cluster::32b.b64 _, [%r1], 2, %r6;");
  CHECK_MESSAGE(arrived.clean(), arrived.findings());
  CHECK(arrived.read<u32>("out") == std::vector<u32>{0, 1, 0, 1});
  const Run bytes =
      with("1",
           "mbarrier.arrive.expect_tx.shared::cluster.multicast::cluster::32b.b64 _, [%r1], 64, %r6;\n"
           "mbarrier.expect_tx.relaxed.cluster.shared::cluster.multicast::cluster::32b.b64 [%r1], 8, %r6;\n"
           "mbarrier.complete_tx.shared::cluster.multicast::cluster::32b.b64 [%r1], 72, %r6;");
  CHECK_MESSAGE(bytes.clean(), bytes.findings());
  CHECK(bytes.read<u32>("out") == std::vector<u32>{0, 1, 0, 1});
  CHECK(with("2", "mov.u32 %r6, 0x30; mbarrier.arrive.shared::cluster.multicast::cluster::32b.b64 _, [%r1], 2, %r6;")
            .has("[cluster-rank]"));
}

TEST_CASE("an mbarrier knows its layout") {
  const Run r = run_cluster(R"(
    .shared .align 8 .b64 bars[2]; mov.u32 %r1, bars;
    mbarrier.init.shared::cta.b64 [%r1], 1; mbarrier.init.layout::v1.shared::cta.b64 [%r1+8], 1;
    mbarrier.check_layout.layout::v0.shared::cta.b64 %p1, [%r1];
    mbarrier.check_layout.layout::v1.shared::cta.b64 %p2, [%r1]; mbarrier.check_layout.layout::v1.shared::cta.b64 %p3, [%r1+8];
    selp.u32 %r2, 1, 0, %p1; selp.u32 %r3, 2, 0, %p2; selp.u32 %r4, 4, 0, %p3; add.u32 %r2, %r2, %r3;
    add.u32 %r2, %r2, %r4; st.global.u32 [%out], %r2;)",
                            1, 1, 1, 8);
  CHECK_MESSAGE(r.clean(), r.findings());
  CHECK(r.read<u32>("out")[0] == 5);
}

TEST_CASE("a remote address under shared::cta is found") {
  const Run r = run_cluster(R"(
    .shared .align 4 .u32 value; mov.u32 %r2, value; mov.u32 %r3, %cluster_ctarank; xor.b32 %r4, %r3, 1;
    mapa.shared::cluster.u32 %r7, %r2, %r4; st.shared::cta.u32 [%r7], 1;)",
                            2, 2, 32, 8);
  CHECK(r.has("[shared-remote]"));
}

TEST_CASE("a thread waits on an mbarrier of its own CTA") {
  const Run r = run_cluster(R"(
    .shared .align 8 .b64 bar; mov.u32 %r1, bar; mov.u32 %r3, %cluster_ctarank; xor.b32 %r4, %r3, 1;
    mbarrier.init.shared::cta.b64 [%r1], 1; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
    cvta.shared.u64 %rd1, bar; mapa.u64 %rd2, %rd1, %r4;
    mbarrier.test_wait.parity.b64 %p1, [%rd2], 0;)",
                            2, 2, 1, 8);
  CHECK(r.has("got a wait on an mbarrier of CTA "));
  CHECK(r.has("[shared-remote]"));
}

TEST_CASE("what mapa gives for a CTA that the cluster does not have may not be used") {
  const std::string map = ".shared .align 4 .u32 value; mov.u32 %r1, value; mapa.shared::cluster.u32 %r2, %r1, 2;";
  CHECK(run_cluster(map, 2, 2, 1, 8).clean());
  CHECK(run_cluster(map + "st.shared::cluster.u32 [%r2], 1;", 2, 2, 1, 8)
            .has("names CTA 2 of a cluster of 2 [cluster-rank]"));
}

TEST_CASE("a second arrival at the cluster's barrier waits for the end of the first use, and is told of") {
  // CTA 1 stores between its arrivals: what the first use orders is there, whichever CTA runs first.
  const std::string text = R"(
    .shared .align 4 .u32 value;
    mov.u32 %r2, value; mov.u32 %r3, %cluster_ctarank; xor.b32 %r4, %r3, 1; mov.u32 %r5, 70; st.shared.u32 [%r2], %r5;
    barrier.cluster.arrive;
    barrier.cluster.arrive;
    barrier.cluster.wait; barrier.cluster.wait;
    mapa.shared::cluster.u32 %r7, %r2, %r4; ld.shared::cluster.u32 %r8, [%r7];
    mul.wide.u32 %rd1, %r3, 4; add.u64 %rd1, %rd1, %out; st.global.u32 [%rd1], %r8;
    barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;)";
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Run r = run_cluster(text, 2, 2, 64, 8, seed);
    CHECK(r.has("[cluster-barrier-twice]"));
    CHECK_MESSAGE(r.sink.all().size() == 1, r.findings());
    CHECK(r.read<u32>("out") == std::vector<u32>{70, 70});
  }
}

TEST_CASE("a thread that has arrived at the cluster's barrier and exits does not stand for one that has not come") {
  const std::string text = R"(
    .shared .align 4 .u32 value;
    mov.u32 %r2, value; mov.u32 %r0, %tid.x; shr.u32 %r1, %r0, 5;
    setp.eq.u32 %p1, %r1, 0; @%p1 bra A;
    setp.eq.u32 %p1, %r1, 1; @%p1 bra B;
    barrier.cluster.arrive; barrier.cluster.wait; ld.shared.u32 %r8, [%r2]; st.global.u32 [%out], %r8; ret;
  B: st.shared.u32 [%r2], 7;
  A: barrier.cluster.arrive;)";
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const Run r = run_cluster(text, 1, 1, 96, 4, seed);
    CHECK_MESSAGE(r.clean(), r.findings());
    CHECK(r.read<u32>("out")[0] == 7);
  }
}

TEST_CASE("a multicast copy reaches every CTA of its mask") {
  launch::Contract c;
  std::vector<u16> data(512);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = u16(i);
  c.buffers = {filled("T", data), buffer("out", 8)};
  launch::TensorMap m;
  m.buffer = "T";
  m.rank = 1;
  m.dims = {512};
  m.box = {64, 1, 1, 1, 1};
  c.tensor_maps = {{"T", m}};
  launch::Launch l;
  l.grid = l.cluster = {2, 1, 1};
  l.params = {map("T"), pointer("out")};
  c.launches = {l};
  const Run r = run(head + R"(.visible .entry k(.param .align 64 .b8 T[128], .param .u64 out) {
    .reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .pred %p<3>; .reg .b16 %h<2>;
    .shared .align 128 .b8 s[128]; .shared .align 8 .b64 bar;
    mov.b64 %rd1, T; cvta.param.u64 %rd1, %rd1;
    ld.param.u64 %rd2, [out]; mov.u32 %r1, s; mov.u32 %r2, bar; mov.u32 %r3, %cluster_ctarank;
    mbarrier.init.shared::cta.b64 [%r2], 1; mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 128;
    barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
    setp.ne.u32 %p1, %r3, 0; @%p1 bra W; mov.u16 %h1, 3;
    cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster
      [%r1], [%rd1, {64}], [%r2], %h1;
  W: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0; @!%p2 bra W;
    ld.shared.u32 %r4, [%r1+4]; mul.wide.u32 %rd3, %r3, 4; add.u64 %rd3, %rd3, %rd2; st.global.u32 [%rd3], %r4;
    barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; ret; })",
                    c);
  REQUIRE_MESSAGE(r.clean(), r.findings());
  CHECK(r.read<u32>("out") == std::vector<u32>{66 | 67 << 16, 66 | 67 << 16});
}

TEST_CASE("cp.async groups complete in their thread, and arrive on an mbarrier") {
  const Run r = run_kernel(kernel(R"(
    .shared .align 16 .b8 s[1024]; .shared .align 8 .b64 bar;
    mov.u32 %r1, s; mov.u32 %r0, %tid.x; mov.u32 %r5, bar;
    setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared.b64 [%r5], 32; bar.sync 0;
    mul.wide.u32 %rd1, %r0, 4; add.u64 %rd1, %rd1, %out; st.global.u32 [%rd1], %r0;
    shl.b32 %r2, %r0, 2; add.u32 %r2, %r1, %r2;
    cp.async.ca.shared.global [%r2], [%rd1], 4; cp.async.commit_group;
    cp.async.ca.shared.global [%r2+256], [%rd1], 4, 2; cp.async.commit_group;
    cp.async.wait_group 1; ld.shared.u32 %r3, [%r2];
    cp.async.mbarrier.arrive.noinc.shared.b64 [%r5];
  W: mbarrier.try_wait.parity.shared.b64 %p2, [%r5], 0; @!%p2 bra W;
    xor.b32 %r6, %r0, 31; shl.b32 %r6, %r6, 2; add.u32 %r6, %r1, %r6; ld.shared.u32 %r4, [%r6+256];
    shl.b32 %r4, %r4, 8; or.b32 %r3, %r3, %r4; st.global.u32 [%rd1], %r3;)"),
                           32);
  REQUIRE_MESSAGE(r.clean(), r.findings());
  for (u32 t = 0; t < 32; ++t) CHECK(r.read<u32>("out")[t] == (t | (31 - t) << 8));
}

TEST_CASE("bulk reductions add to what is there") {
  launch::Contract c;
  c.buffers = {filled("D", std::vector<float>(64, 2.5f))};
  launch::TensorMap m;
  m.buffer = "D";
  m.dtype = isa::ScalarType::f32;
  m.dims = {32, 2};
  m.strides = {0, 128};
  m.box = {32, 1, 1, 1, 1};
  c.tensor_maps = {{"D", m}};
  launch::Launch l;
  l.block = {32, 1, 1};
  l.params = {map("D"), pointer("D")};
  c.launches = {l};
  const Run r = run(head + R"(.visible .entry k(.param .align 64 .b8 D[128], .param .u64 out) {
    .reg .b32 %r<9>; .reg .b64 %rd<4>; .reg .f32 %f<4>; .reg .pred %p<2>;
    .shared .align 128 .b8 s[128];
    mov.b64 %rd1, D; cvta.param.u64 %rd1, %rd1;
    ld.param.u64 %rd2, [out]; mov.u32 %r1, s; mov.u32 %r2, %tid.x; shl.b32 %r3, %r2, 2;
    add.u32 %r3, %r3, %r1;
    cvt.rn.f32.u32 %f1, %r2; st.shared.f32 [%r3], %f1; fence.proxy.async.shared::cta; bar.warp.sync 0xffffffff;
    setp.ne.u32 %p1, %r2, 0; @%p1 bra OUT;
    cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%rd1, {0, 1}], [%r1];
    cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%rd2], [%r1], 64;
    cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
  OUT: ret; })",
                    c);
  REQUIRE_MESSAGE(r.clean(), r.findings());
  const auto d = r.read<float>("D");
  CHECK(d[5] == 7.5f);
  CHECK(d[16] == 2.5f);
  CHECK(d[32 + 31] == 33.5f);
}

TEST_CASE("stmatrix and ldmatrix are each other's inverse, and .trans transposes") {
  const Run r = run_kernel(kernel(R"(
    .shared .align 16 .b8 s[512];
    mov.u32 %r0, %tid.x; mov.u32 %r1, s; shl.b32 %r2, %r0, 4; add.u32 %r2, %r2, %r1;
    mul.lo.u32 %r10, %r0, 0x00020002; add.u32 %r10, %r10, 0x00010000; add.u32 %r11, %r10, 0x01000100;
    add.u32 %r12, %r10, 0x02000200; add.u32 %r13, %r10, 0x03000300;
    stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r2], {%r10, %r11, %r12, %r13}; bar.warp.sync 0xffffffff;
    ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r20, %r21, %r22, %r23}, [%r2];
    ld.shared.u32 %r24, [%r1+144];
    mul.wide.u32 %rd1, %r0, 8; add.u64 %rd1, %rd1, %out; st.global.v2.u32 [%rd1], {%r21, %r24};)"),
                           32, 64);
  REQUIRE_MESSAGE(r.clean(), r.findings());
  // Element (row, column) of matrix 1 is 256 + 8 * row + column. Thread 6 gets column 1, rows 4 and 5.
  CHECK(r.read<u32>("out")[2 * 6] == ((256 + 8 * 4 + 1) | u32(256 + 8 * 5 + 1) << 16));
  CHECK(r.read<u32>("out")[1] == ((256 + 8) | u32(256 + 9) << 16));
}

TEST_CASE("a request to cancel a cluster fails when none is left") {
  const Run r = run_kernel(kernel(R"(
    .shared .align 16 .b8 answer[16]; .shared .align 8 .b64 bar; .reg .b128 %q;
    mov.u32 %r1, answer; mov.u32 %r2, bar; mbarrier.init.shared.b64 [%r2], 1;
    mbarrier.arrive.expect_tx.shared.b64 _, [%r2], 16;
    clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r1], [%r2];
  W: mbarrier.try_wait.parity.shared.b64 %p1, [%r2], 0; @!%p1 bra W;
    ld.shared.b128 %q, [%r1]; clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, %q;
    selp.u32 %r3, 1, 2, %p2; st.global.u32 [%out], %r3;)"));
  REQUIRE_MESSAGE(r.clean(), r.findings());
  CHECK(r.read<u32>("out")[0] == 2);
}

}  // namespace sim_cluster

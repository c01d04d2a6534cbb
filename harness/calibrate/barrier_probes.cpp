// mbarriers, barriers and fences.
#include "harness/calibrate/session.hpp"

namespace kiln::harness {
namespace {

using enum timing::FactId;

constexpr const char* init_one = "mbarrier.init.shared::cta.b64 [%smem], 1; fence.mbarrier_init.release.cluster;";

void mbarriers(Session& s) {
  LoopKernel k;
  k.shared_bytes = 128, k.copies = 64;
  k.setup = init_one;
  k.body = "mbarrier.arrive.shared::cta.b64 %rd#, [%smem];";
  s.set(mbarrier_arrive, cycles_of(s.machine(), k, 4, 12), "one thread, back to back");
  k.setup = std::string(init_one) + " mbarrier.arrive.shared::cta.b64 %rd0, [%smem];";
  k.body = "TRY#: mbarrier.try_wait.parity.shared::cta.b64 %p0, [%smem], 0; @!%p0 bra TRY#;";
  s.set(try_wait, cycles_of(s.machine(), k, 4, 12), "one thread, phase complete");
}

void waits_of_warps(Session& s) {
  LoopKernel k;
  k.threads = 128, k.shared_bytes = 128;
  k.setup = fmt::format(
      "setp.ne.u32 %p1, %thread, 0; @%p1 bra READY; {} mbarrier.arrive.shared::cta.b64 %rd0, [%smem]; READY:",
      init_one);
  k.body = "TRY#: mbarrier.try_wait.parity.shared::cta.b64 %p0, [%smem], 0; @!%p0 bra TRY#;";
  s.set(try_wait_warp, cycles_of(s.machine(), k), "four warps, all lanes, phase complete");
}

// Warp 1 waits and warp 0 arrives: between their two reads of the clock lie the arrival and the wake-up.
void wake_up(Session& s) {
  LoopKernel k;
  k.threads = 64, k.copies = 1, k.samples = 25;
  k.shared_bytes = 128;
  k.setup = "setp.eq.u32 %p0, %thread, 0; @%p0 mbarrier.init.shared::cta.b64 [%smem], 1; mov.u32 %r1, 0;";
  k.body = R"(  setp.ge.u32 %p1, %thread, 32;
  @%p1 bra WAITER;
  mov.u64 %rd1, %clock64;
  add.u64 %rd1, %rd1, 2000;
DELAY:
  mov.u64 %rd2, %clock64;
  setp.lt.u64 %p2, %rd2, %rd1;
  @%p2 bra DELAY;
  mov.u64 %rd2, %clock64;
  @%p0 mbarrier.arrive.shared::cta.b64 %rd3, [%smem];
  bra JOIN;
WAITER:
  mbarrier.try_wait.parity.shared::cta.b64 %p2, [%smem], %r1;
  @!%p2 bra WAITER;
  mov.u64 %rd2, %clock64;
  st.volatile.shared.u64 [%smem+64], %rd2;
JOIN:
  bar.sync 0;
  xor.b32 %r1, %r1, 1;
  ld.volatile.shared.u64 %rd4, [%smem+64];)";
  k.cycles = "sub.u64 %end, %rd4, %rd2;";
  s.set(wake, figure_of(samples_of(s.machine(), k, 1).front(), &LoopTime::cycles),
        "from the clock before an arrival to the clock after another warp's wait");
}

// Two CTAs of a cluster arrive at each other's mbarrier by turns; half of a round is one way.
Figure ping_pong(Session& s, const char* semantics) {
  LoopKernel k;
  k.ctas = k.cluster = 2;
  k.shared_bytes = 128, k.copies = 8;
  k.setup = std::string(init_one) + R"(
  barrier.cluster.arrive; barrier.cluster.wait;
  xor.b32 %r1, %rank, 1; mapa.shared::cluster.u32 %r2, %smem, %r1; mov.u32 %r3, 0; setp.eq.u32 %p0, %rank, 0;)";
  k.body = fmt::format(R"(  @%p0 mbarrier.arrive{0}.shared::cluster.b64 _, [%r2];
TRY#:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%smem], %r3;
  @!%p1 bra TRY#;
  xor.b32 %r3, %r3, 1;
  @!%p0 mbarrier.arrive{0}.shared::cluster.b64 _, [%r2];)",
                       semantics);
  Figure f = cycles_of(s.machine(), k);
  f.value /= 2, f.spread /= 2;
  return f;
}

void remote(Session& s) {
  const Figure relaxed = ping_pong(s, ".relaxed.cluster"), release = ping_pong(s, ".release.cluster");
  s.set(remote_arrive, {relaxed.value - s[wake], relaxed.spread}, "half of a round, without the wake-up");
  s.set(release_cluster, {release.value - relaxed.value, release.spread}, "half of a round with .release.cluster");
}

void cta_barrier(Session& s) {
  std::vector<std::pair<double, double>> points;
  double spread = 0;
  for (const unsigned threads : {32u, 128u, 256u, 512u, 1024u}) {
    LoopKernel k;
    k.threads = threads;
    k.body = "bar.sync 0;";
    const Figure f = cycles_of(s.machine(), k);
    points.push_back({threads, f.value});
    spread = std::max(spread, f.spread);
  }
  const auto [at_none, per_thread] = line_through(points);
  s.set(bar_sync, {at_none, spread}, "32 to 1024 threads, at 0 of their line");
  s.set(bar_sync_thread, {per_thread, spread / 1024}, "32 to 1024 threads, the slope of their line");
}

Figure cluster_cycles(Session& s, unsigned ctas, const char* arrive, const char* wait) {
  LoopKernel k;
  k.ctas = k.cluster = ctas;
  k.threads = 128, k.copies = 4;
  k.body = fmt::format("barrier.cluster.arrive{}.aligned; barrier.cluster.wait{}.aligned;", arrive, wait);
  return cycles_of(s.machine(), k, 8, 24);
}

void cluster_barriers(Session& s) {
  s.set(cluster_barrier, cluster_cycles(s, 2, ".relaxed", ""), "two CTAs, arrive.relaxed and wait");
  for (const unsigned ctas : {2u, 4u, 8u})
    s.observe(fmt::format("barrier.cluster arrive.release and wait.acquire of {} CTAs", ctas),
              cluster_cycles(s, ctas, ".release", ".acquire"), "cycles");
}

void fences(Session& s) {
  LoopKernel k;
  k.copies = 4;
  k.body = "fence.acq_rel.gpu;";
  s.set(fence_wide, cycles_of(s.machine(), k, 8, 24), "fence.acq_rel.gpu of one thread with nothing in flight");
  k.body = "fence.acq_rel.cluster;";
  s.observe("fence.acq_rel.cluster", cycles_of(s.machine(), k, 8, 24), "cycles");
  k.body = "fence.proxy.async;";
  s.set(fence_async, cycles_of(s.machine(), k, 8, 24), "one thread");
  k.body = "fence.proxy.async.shared::cta;";
  s.observe("fence.proxy.async.shared::cta", cycles_of(s.machine(), k, 8, 24), "cycles");
}

}  // namespace

std::vector<Probe> barrier_probes() {
  return {{"mbarriers", mbarriers},
          {"waits of warps", waits_of_warps, false, timing::TensorCore::wgmma},
          {"wake-up", wake_up},
          {"barriers of a CTA", cta_barrier},
          {"fences", fences},
          {"remote arrivals", remote},
          {"barriers of a cluster", cluster_barriers}};
}

}  // namespace kiln::harness

// wgmma: cycles of an MMA by N and type, the end of a group, and the clock that the tensor core leaves.
#include <cmath>

#include "harness/calibrate/session.hpp"

namespace kiln::harness {
namespace {

using enum timing::FactId;

struct Operands {
  const char* words;  // types, as the instruction spells them
  unsigned k;
  bool floating;  // scales of the operands follow
  bool majors;    // and their majors
};
constexpr Operands bf16{"f32.bf16.bf16", 16, true, true};

constexpr unsigned a_at = 1024, b_at = 16384, shared_bytes = 65536;

// Sums in shared memory with 128-byte rows swizzled, as the library's operands are.
std::string descriptors() {
  const auto of = [](const char* to, unsigned at) {
    return fmt::format(
        "add.u32 %r1, %smem, {}; shr.u32 %r1, %r1, 4; and.b32 %r1, %r1, 16383; cvt.u64.u32 {}, %r1; or.b64 {}, {}, "
        "0x4000004000010000;\n",
        at, to, to, to);
  };
  return of("%rd1", a_at) + of("%rd2", b_at);
}

// `issued` stands after the last MMA, before anything waits for it.
LoopKernel group_of(const Operands& x, unsigned n, unsigned mmas, bool random = false, std::string_view issued = "") {
  LoopKernel k;
  k.threads = 128, k.copies = 1;
  k.shared_bytes = shared_bytes;
  const std::string type = x.floating ? ".f32" : ".b32";
  k.declare = fmt::format(".reg {} %sum<{}>;", type, n / 2);
  k.setup = "setp.eq.u32 %p0, 0, 0;\n" + descriptors();
  if (random)
    // Numbers of magnitude about 1 with random mantissas and signs.
    k.setup += fmt::format(R"(
  shl.b32 %r2, %thread, 2; add.u32 %r2, %r2, %smem; mad.lo.u32 %r3, %block, 7919, %thread; mov.u32 %r4, {};
NUMBER:
  mad.lo.u32 %r3, %r3, 1664525, 1013904223; shr.u32 %r5, %r3, 7; and.b32 %r5, %r5, 0x80FF80FF;
  or.b32 %r5, %r5, 0x3F003F00; st.shared.u32 [%r2+{}], %r5; add.u32 %r2, %r2, 512;
  sub.u32 %r4, %r4, 1; setp.ne.u32 %p1, %r4, 0; @%p1 bra NUMBER;
  fence.proxy.async;)",
                           (shared_bytes - a_at) / 512, a_at);
  std::string sums;
  for (unsigned r = 0; r < n / 2; ++r) {
    sums += fmt::format("{}%sum{}", r ? ", " : "", r);
    k.setup += fmt::format("mov{} %sum{}, {};", type, r, x.floating ? "0f00000000" : "0");
  }
  const std::string mma = fmt::format("wgmma.mma_async.sync.aligned.m64n{}k{}.{} {{{}}}, %rd1, %rd2, %p0{}{};\n", n,
                                      x.k, x.words, sums, x.floating ? ", 1, 1" : "", x.majors ? ", 0, 0" : "");
  k.body = "wgmma.fence.sync.aligned;\n";
  for (unsigned m = 0; m < mmas; ++m) k.body += mma;
  k.body += issued;
  k.body += "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;\n";
  k.after = "";
  for (unsigned r = 0; r < n / 2; ++r) k.after += fmt::format("st.volatile.shared{} [%smem], %sum{};", type, r);
  return k;
}

// (cycles of an MMA, of a group beside them).
std::pair<Figure, Figure> times_of(Session& s, const Operands& x, unsigned n) {
  constexpr unsigned few = 4, many = 20;
  const auto cycles = [&](unsigned mmas) {
    LoopKernel k = group_of(x, n, mmas);
    k.copies = 4;  // so that the loop's branch is not measured
    return cycles_of(s.machine(), k, 4, 12);
  };
  const Figure a = cycles(few), b = cycles(many);
  const double each = (b.value - a.value) / (many - few), spread = (a.spread + b.spread) / (many - few);
  return {{each, spread}, {a.value - few * each, a.spread}};
}

void rates(Session& s) {
  timing::WgmmaTimes t;
  Figure worst{1, 0};
  for (const unsigned n : {8u, 16u, 32u, 64u, 96u, 128u, 192u, 256u}) {
    const auto [each, group] = times_of(s, bf16, n);
    t.n.push_back(n), t.interval.push_back(each.value);
    worst.spread = std::max(worst.spread, each.spread / each.value);
    if (n == 64) s.set(wgmma_drain, group, "groups of 4 and 20 MMAs of N 64: what a group adds");
    s.observe(fmt::format("what a group of wgmma with N {} adds to its MMAs", n), group, "cycles");
  }
  t.trust = trust_of(worst);
  s.set_wgmma(std::move(t));
}

// MMAs of all warpgroups that were issued before the first had ended: issuing 16 each takes the time of those that have
// to end first.
Figure queued(Session& s, unsigned n, unsigned warpgroups = 1) {
  constexpr unsigned mmas = 16;
  LoopKernel k =
      group_of(bf16, n, mmas, false,
               "mov.u64 %until, %clock64; sub.u64 %until, %until, %since; add.u64 %issuing, %issuing, %until;\n");
  k.declare += ".reg .b64 %since, %until, %issuing;";
  k.before = "mov.u64 %issuing, 0;";
  k.body = "mov.u64 %since, %clock64;\n" + k.body;
  if (warpgroups > 1) k.threads *= warpgroups, k.body = "bar.sync 0;\n" + k.body;
  k.cycles = "mov.u64 %end, %issuing;";
  const Figure issuing = cycles_of(s.machine(), k, 16, 48);
  const double each = times_of(s, bf16, n).first.value;
  return {warpgroups * mmas - issuing.value / each, issuing.spread / each};
}

void queue(Session& s) {
  const Figure f = queued(s, 256);
  s.set(wgmma_queue, {std::max(1.0, std::ceil(f.value)), f.spread},
        "16 MMAs of N 256: issued before the first had ended");
  for (const unsigned n : {64u, 128u, 256u})
    s.observe(fmt::format("wgmma of N {} that are issued before the first has ended", n), queued(s, n), "count");
  for (const unsigned n : {64u, 128u, 256u})
    s.observe(fmt::format("wgmma of N {} of two warpgroups that are issued before the first has ended", n),
              queued(s, n, 2), "count");
}

void types(Session& s) {
  constexpr Operands others[] = {{"f32.f16.f16", 16, true, true},
                                 {"f32.tf32.tf32", 8, true, false},
                                 {"f32.e4m3.e4m3", 32, true, false},
                                 {"s32.s8.s8", 32, false, false}};
  for (const Operands& x : others)
    for (const unsigned n : {64u, 256u})
      s.observe(fmt::format("wgmma.m64n{}k{}.{}", n, x.k, x.words), times_of(s, x, n).first, "cycles");
}

// The clock that is left while `ctas` SMs multiply for a while: numbers of magnitude 1 with random mantissas.
Figure clock_left(Session& s, unsigned ctas) {
  LoopKernel k = group_of(bf16, 256, 64, true);
  k.ctas = ctas;
  k.samples = 60;
  const auto all = samples_of(s.machine(), k, 512);
  std::vector<double> clocks;
  for (const auto& samples : all)
    for (std::size_t i = samples.size() / 2; i < samples.size(); ++i)
      clocks.push_back(samples[i].cycles / samples[i].nanoseconds);
  return figure_of(clocks);
}

// Power is the chip's: what counts is the part of all tensor cores that is busy.
void load(Session& s) {
  const unsigned sms = s.machine().facts().sms;
  constexpr unsigned parts = 4;
  Figure all;
  for (unsigned part = 1; part <= parts; ++part) {
    all = clock_left(s, sms * part / parts);
    s.observe(fmt::format("SM clock while {} of {} SMs multiply random bf16", sms * part / parts, sms), all, "GHz");
  }
  s.set(clock_drop, {std::max(0.001, s[load_clock] - all.value), all.spread},
        "load_clock less the clock while all tensor cores multiply random bf16");
}

}  // namespace

std::vector<Probe> wgmma_probes() {
  using enum timing::TensorCore;
  return {{"wgmma", rates, false, wgmma},
          {"wgmma, queue", queue, false, wgmma},
          {"wgmma, types", types, false, wgmma},
          {"clock", load, true, wgmma}};
}

}  // namespace kiln::harness

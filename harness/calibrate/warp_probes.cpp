// Instructions of a warp: dependent latencies, shared memory, L2 and HBM.
#include <algorithm>

#include "harness/calibrate/session.hpp"

namespace kiln::harness {
namespace {

using enum timing::FactId;

constexpr unsigned little_l1 = 200u << 10;  // bytes of shared memory that leave little to the first-level cache
constexpr unsigned line_step = 4224;        // bytes: another line, another slice of L2, another page now and then

void arithmetic(Session& s) {
  LoopKernel k;
  k.setup = "mov.f32 %f0, 0f3F800000; mov.f32 %f1, 0f3F000000;";
  k.copies = 32;
  k.body = "fma.rn.f32 %f0, %f0, %f1, %f1;";
  k.after = "st.volatile.shared.f32 [%smem], %f0;";
  k.shared_bytes = 64;
  s.set(alu_latency, cycles_of(s.machine(), k, 16, 48), "a chain of fma.f32");
  k.body = "ex2.approx.ftz.f32 %f0, %f0;";
  s.set(special_latency, cycles_of(s.machine(), k, 8, 24), "a chain of ex2");
  // Four warps a scheduler, each with four chains.
  constexpr unsigned warps = 4;
  k.threads = 512, k.copies = 4;
  k.setup = "mov.f32 %f0, 0f3F800000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;";
  k.body = "ex2.approx.ftz.f32 %f#, %f#;";
  k.after = "add.f32 %f0, %f0, %f1; add.f32 %f2, %f2, %f3; add.f32 %f0, %f0, %f2; st.volatile.shared.f32 [%smem], %f0;";
  const Figure each = cycles_of(s.machine(), k, 32, 96);
  s.set(special_interval, divided(each, warps), "512 threads, four chains of ex2 each");
}

// A chain of arithmetic under the guard that it computes, and after a branch under that guard. What is branched past
// changes the value too: else ptxas would put the chain before the branches. There are more places than the nearest
// buffer of code holds, and fewer than the next one does.
void branches(Session& s) {
  constexpr unsigned places = 24, apart = 40;  // instructions
  LoopKernel k;
  k.copies = places;
  k.shared_bytes = 64;
  k.setup =
      "mov.u32 %r2, 0; st.volatile.shared.u32 [%smem], %r2; ld.volatile.shared.u32 %r3, [%smem]; mov.u32 %r1, %smem;";
  k.after = "st.volatile.shared.u32 [%smem], %r1;";
  const std::string compare = "setp.ne.u32 %p1, %r1, %r2; ";
  k.body = compare + "@%p1 xor.b32 %r1, %r1, %r3;";
  const Figure guarded = cycles_of(s.machine(), k, 4, 12);
  s.set(guard_latency, {guarded.value - s[alu_latency], guarded.spread}, "a chain of setp.u32 and xor.b32 under it");
  std::string past = "xor.b32 %r1, %r1, 1; membar.gl; ";
  for (unsigned n = 0; n < apart; ++n) past += "st.volatile.shared.u32 [%smem], %r1; ";
  k.body = compare + "@%p1 bra PAST#; " + past + "PAST#: xor.b32 %r1, %r1, %r3;";
  const Figure taken = cycles_of(s.machine(), k, 4, 12);
  s.set(branch, {taken.value - guarded.value, taken.spread}, "the same with a branch past other code, to 24 places");
}

// mma.sync of bf16: a chain of it, and four warps a scheduler with four chains each.
void products(Session& s, int extent, timing::FactId latency, timing::FactId interval) {
  constexpr unsigned warps = 4, chains = 4, sums = 4;
  const bool is_whole = extent == 16;
  const auto multiply = [&](unsigned first) {
    const std::string d = fmt::format("{{%sum{}, %sum{}, %sum{}, %sum{}}}", first, first + 1, first + 2, first + 3);
    return fmt::format("mma.sync.aligned.m16n8k{}.row.col.f32.bf16.bf16.f32 {}, {}, {}, {};\n", extent, d,
                       is_whole ? "{%r1, %r1, %r1, %r1}" : "{%r1, %r1}", is_whole ? "{%r1, %r1}" : "{%r1}", d);
  };
  LoopKernel k;
  k.declare = fmt::format(".reg .f32 %sum<{}>;", chains * sums);
  k.shared_bytes = 64;
  k.setup = "mov.u32 %r1, 0; mov.f32 %f0, 0f00000000;";
  for (unsigned i = 0; i < chains * sums; ++i) k.setup += fmt::format(" mov.f32 %sum{}, %f0;", i);
  for (unsigned i = 0; i < chains * sums; ++i) k.after += fmt::format("add.f32 %f0, %f0, %sum{}; ", i);
  k.after += "st.volatile.shared.f32 [%smem], %f0;";
  k.copies = 8;
  k.body = multiply(0);
  s.set(latency, cycles_of(s.machine(), k, 8, 24), fmt::format("a chain of mma.m16n8k{}", extent));
  k.threads = 512;
  for (unsigned c = 1; c < chains; ++c) k.body += multiply(c * sums);
  const Figure each = cycles_of(s.machine(), k, 8, 24);
  s.set(interval, divided(each, warps * chains), fmt::format("512 threads, four chains of mma.m16n8k{} each", extent));
}
void whole_products(Session& s) { products(s, 16, mma_sync_latency, mma_sync_interval); }
void half_products(Session& s) { products(s, 8, mma_sync_latency_half, mma_sync_interval_half); }

void shared_loads(Session& s) {
  LoopKernel k;
  k.shared_bytes = 64;
  k.setup = "st.volatile.shared.u32 [%smem], %smem; mov.u32 %r1, %smem;";
  k.body = "ld.volatile.shared.u32 %r1, [%r1];";
  k.after = "st.volatile.shared.u32 [%r1+4], %r1;";
  s.set(shared_latency, cycles_of(s.machine(), k, 8, 24), "a chain of addresses");
}

// Words that are their own address.
void matrix_loads(Session& s) {
  LoopKernel k;
  k.threads = 32;
  k.shared_bytes = 64;
  k.setup = "mov.u32 %r1, %smem; st.volatile.shared.v4.u32 [%smem], {%r1, %r1, %r1, %r1}; bar.warp.sync 0xffffffff;";
  k.body = "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1, %r2, %r3, %r4}, [%r1];";
  k.after = "st.volatile.shared.u32 [%smem+16], %r1;";
  s.set(matrix_latency, cycles_of(s.machine(), k, 8, 24), "a chain of ldmatrix.x4, all of one row");
}

void shared_atomics(Session& s) {
  LoopKernel k;
  k.shared_bytes = 64;
  k.setup = "st.volatile.shared.u32 [%smem], %smem; mov.u32 %r1, %smem; mov.u32 %r2, 0;";
  k.after = "st.volatile.shared.u32 [%smem+16], %r1;";
  k.body = "atom.relaxed.cta.shared::cta.max.u32 %r1, [%r1], %r2;";
  const Figure relaxed = cycles_of(s.machine(), k, 8, 24);
  s.set(shared_atom_latency, relaxed, "a chain of atom.max.u32 of one thread");
  k.body = "atom.acq_rel.cta.shared::cta.max.u32 %r1, [%r1], %r2;";
  const Figure released = cycles_of(s.machine(), k, 8, 24);
  s.set(shared_atom_release, {released.value - relaxed.value, released.spread}, "the same with acq_rel.cta");
}

void shared_bandwidth(Session& s) {
  LoopKernel k;
  k.declare = ".reg .b32 %a<16>, %b<16>, %c<16>, %d<16>;";
  k.threads = 512;
  k.shared_bytes = 8192;
  k.setup = "shl.b32 %r1, %thread, 4; add.u32 %r1, %r1, %smem;";
  k.body = "ld.volatile.shared.v4.u32 {%a#, %b#, %c#, %d#}, [%r1];";
  const Figure t = cycles_of(s.machine(), k, 8, 24);
  s.set(shared_rate, {512 * 16 / t.value, 512 * 16 / t.value * t.spread / t.value}, "512 threads, 16 bytes each");
  k.shared_bytes = 65536;
  for (const unsigned step : {8u, 16u, 64u, 128u}) {
    k.setup = fmt::format("mul.lo.u32 %r1, %thread, {}; and.b32 %r1, %r1, 65535; add.u32 %r1, %r1, %smem;", step);
    k.body = "ld.volatile.shared.u32 %a#, [%r1];";
    const Figure f = cycles_of(s.machine(), k, 8, 24);
    s.observe(fmt::format("ld.shared.u32 of 32 lanes {} bytes apart", step), {f.value / 16, f.spread / 16},
              "cycles/warp");
  }
  k.shared_bytes = 8192;
  k.setup = "shl.b32 %r1, %thread, 4; add.u32 %r1, %r1, %smem;";
  k.body = "st.volatile.shared.v4.u32 [%r1], {%r2, %r2, %r2, %r2};";
  const Figure f = cycles_of(s.machine(), k, 8, 24);
  s.observe("st.shared.v4.u32", {f.value / 16, f.spread / 16}, "cycles/warp");
}

// Cycles of a load in a chain of so many addresses, which the kernel itself writes.
Figure chained(Session& s, unsigned entries, std::string_view cache) {
  LoopKernel k;
  k.data_bytes = std::uint64_t(entries) * line_step;
  k.setup = fmt::format(R"(
  mov.u64 %rd1, %data; mov.u32 %r1, {};
LINK:
  add.u64 %rd2, %rd1, {}; st.global.u64 [%rd1], %rd2; mov.u64 %rd3, %rd1; mov.u64 %rd1, %rd2;
  sub.u32 %r1, %r1, 1; setp.ne.u32 %p0, %r1, 0; @%p0 bra LINK;
  st.global.u64 [%rd3], %data; membar.gl; mov.u64 %rd1, %data;)",
                        entries, line_step);
  k.body = fmt::format("ld.global.{}.u64 %rd1, [%rd1];", cache);
  k.after = "st.volatile.shared.u64 [%smem], %rd1;";
  k.shared_bytes = 64;
  return cycles_of(s.machine(), k, 64, 256);
}

// The chain is short enough to be read once before the clock is.
void l1(Session& s) { s.set(l1_latency, chained(s, 4, "ca"), "a chain of four addresses"); }
void l2(Session& s) { s.set(l2_latency, chained(s, 2000, "cg"), "a chain of addresses through 8 MB"); }

// What each of many lines takes that L2 has, by CTA, in cycles of a load: each sample is another line. The lines are
// zeros, so that each address follows from what was loaded there.
std::vector<std::vector<double>> latency_of_lines(Session& s, unsigned ctas) {
  constexpr unsigned lines = 512, apart = 4096 + line_step, turns = 2;
  LoopKernel k;
  k.ctas = ctas, k.samples = lines, k.copies = 8;
  k.data_bytes = std::uint64_t(lines) * apart;
  k.before = fmt::format(
      "mul.wide.u32 %rd1, %s, {}; add.u64 %rd1, %rd1, %data; ld.global.cg.u64 %rd2, [%rd1]; "
      "add.u64 %rd1, %rd1, %rd2;",
      apart);
  k.body = "ld.global.cg.u64 %rd2, [%rd1]; add.u64 %rd1, %rd1, %rd2;";
  k.after = "st.volatile.shared.u64 [%smem], %rd1;";
  k.shared_bytes = 64;
  std::vector<std::vector<double>> out;
  for (const std::vector<LoopTime>& samples : samples_of(s.machine(), k, turns)) {
    std::vector<double>& of_cta = out.emplace_back();
    for (const LoopTime& x : samples) of_cta.push_back(x.cycles / (turns * k.copies) - s[alu_latency]);
  }
  return out;
}

// The lines that one SM reaches fast and those that it reaches slowly: the middles of the two halves.
void l2_sides(Session& s) {
  std::vector<double> lines = latency_of_lines(s, 1).front();
  std::sort(lines.begin(), lines.end());
  const auto half = lines.begin() + std::ptrdiff_t(lines.size() / 2);
  s.observe("a load from L2, the nearer half of 510 lines", figure_of({lines.begin(), half}), "cycles");
  s.observe("a load from L2, the farther half of them", figure_of({half, lines.end()}), "cycles");
}

// Where L2 has two sides, and an address belongs to one of them, SMs agree on which lines are far, or hold the
// opposite. Where each side keeps a copy of what its SMs have read, no line stays far.
void l2_sides_of_all(Session& s) {
  const auto all = latency_of_lines(s, s.machine().facts().sms);
  const auto far_lines = [](const std::vector<double>& lines) {
    std::vector<double> sorted = lines;
    std::nth_element(sorted.begin(), sorted.begin() + std::ptrdiff_t(sorted.size() / 2), sorted.end());
    std::vector<bool> far;
    for (const double x : lines) far.push_back(x > sorted[sorted.size() / 2]);
    return far;
  };
  const std::vector<bool> first = far_lines(all.front());
  std::vector<double> agreement;
  double opposite = 0;
  for (std::size_t c = 1; c < all.size(); ++c) {
    const std::vector<bool> other = far_lines(all[c]);
    double same = 0;
    for (std::size_t k = 0; k < std::min(first.size(), other.size()); ++k) same += first[k] == other[k];
    const double part = same / double(first.size());
    agreement.push_back(std::max(part, 1 - part)), opposite += part < 0.5;
  }
  s.observe("lines of L2 that another SM finds as near as the first one does, or of which it finds the opposite",
            figure_of(agreement), "part");
  s.observe("SMs that find the opposite", {opposite, 0}, "count");
}

// Zeros, so that each address follows from the one before and from what is loaded there.
void hbm(Session& s) {
  LoopKernel k;
  k.data_bytes = 256u << 20;  // its copy into the GPU leaves its end in L2, and not its beginning
  k.setup = fmt::format("mul.wide.u32 %rd1, %count, {}; add.u64 %rd1, %rd1, %data;", 1 << 20);
  k.body = fmt::format("add.u64 %rd3, %rd1, {}; ld.global.cg.u64 %rd2, [%rd1]; add.u64 %rd1, %rd3, %rd2;", line_step);
  k.after = "st.volatile.shared.u64 [%smem], %rd1;";
  k.shared_bytes = 64, k.copies = 8;
  Figure f = cycles_of(s.machine(), k, 8, 40);
  f.value -= 2 * s[alu_latency];
  s.set(hbm_latency, f, "a chain of addresses that were not touched before");
}

// Four warps store 16 bytes for each lane, `apart` bytes from one lane to the next, again and again to the same bytes:
// a row's 512 bytes each, as an epilogue does, or 64 KB without a gap, as partial sums are left. Cycles of a store for
// each CTA.
Figure stored(Session& s, unsigned ctas, bool by_rows) {
  constexpr unsigned threads = 128, pitch = 8192, stores = 4, warps = threads / 32;
  const unsigned apart = by_rows ? pitch : 16, step = by_rows ? 16 : threads * 16, room = by_rows ? 512 : 65536;
  LoopKernel k;
  k.threads = threads, k.ctas = ctas, k.copies = stores;
  k.shared_bytes = little_l1;  // else the first-level cache holds what is on its way to L2
  k.data_bytes = std::uint64_t(ctas) * (by_rows ? threads * pitch : room);
  k.setup = fmt::format(
      "mul.wide.u32 %rd1, %block, {}; mul.wide.u32 %rd2, %thread, {}; add.u64 %rd1, %rd1, %rd2; add.u64 %rd1, %rd1, "
      "%data; mov.u32 %r1, 0;",
      by_rows ? threads * pitch : room, apart);
  k.body = fmt::format(
      "cvt.u64.u32 %rd2, %r1; add.u64 %rd2, %rd1, %rd2; st.volatile.global.v4.u32 [%rd2], {{%r2, %r2, %r2, %r2}}; "
      "add.u32 %r1, %r1, {}; and.b32 %r1, %r1, {};",
      step, room - 1);
  const Figure f = cycles_of(s.machine(), k, 32, 96);  // of a copy, all warps
  return {f.value / warps, f.spread / warps};
}

constexpr double lines_by_rows = 32, whole_sectors = 16;  // of a warp's store

void stored_lines(Session& s) {
  const Figure rows = stored(s, 1, true), whole = stored(s, 1, false);
  s.set(store_line, {rows.value / lines_by_rows, rows.spread / lines_by_rows},
        "128 threads, each 16 bytes of a row of its own");
  s.set(store_sector, {whole.value / whole_sectors, whole.spread / whole_sectors},
        "128 threads, 512 bytes in a row a warp");
}

void stored_lines_of_all(Session& s) {
  const unsigned sms = s.machine().facts().sms;
  const auto rate = [&](const Figure& f, double each) {
    return Figure{each * sms / f.value, each * sms / f.value * f.spread / f.value};
  };
  for (const unsigned part : {4u, 2u}) {
    const Figure f = stored(s, sms / part, true);
    s.observe(fmt::format("a line of 16 bytes stored, {} SMs at once", sms / part),
              {f.value / lines_by_rows, f.spread / lines_by_rows}, "cycles/line of each SM");
  }
  s.set(store_lines_all, rate(stored(s, sms, true), lines_by_rows),
        "each SM 128 threads, each 16 bytes of a row of its own");
  s.set(store_sectors_all, rate(stored(s, sms, false), whole_sectors), "each SM 512 bytes in a row a warp");
}

// Four warps, each lane a word of its own; a chain through the value.
void atomics(Session& s) {
  LoopKernel k;
  k.threads = 128, k.copies = 4;
  k.shared_bytes = 64;
  k.setup = "mul.wide.u32 %rd1, %thread, 4; add.u64 %rd1, %rd1, %data; mov.u32 %r1, 0;";
  k.body = "atom.relaxed.gpu.global.add.u32 %r1, [%rd1], %r1;";
  k.after = "st.volatile.shared.u32 [%smem], %r1;";
  s.set(atom_latency, cycles_of(s.machine(), k, 16, 48), "4 warps, each lane a word of its own");
}

}  // namespace

std::vector<Probe> warp_probes() {
  return {{"arithmetic", arithmetic},
          {"shared memory, latency", shared_loads},
          {"branches", branches, false, timing::TensorCore::wgmma},
          {"ldmatrix", matrix_loads, false, timing::TensorCore::wgmma},
          {"atomic operations on shared memory", shared_atomics, false, timing::TensorCore::wgmma},
          {"shared memory, rate", shared_bandwidth},
          {"L1, latency", l1},
          {"L2, latency", l2},
          {"L2's sides", l2_sides},
          {"L2's sides, all SMs", l2_sides_of_all, true},
          {"stores of lines", stored_lines},
          {"atomic operations", atomics},
          {"mma.sync", whole_products, false, timing::TensorCore::wgmma},
          {"mma.sync, half of K", half_products, false, timing::TensorCore::wgmma},
          {"stores of lines, all SMs", stored_lines_of_all, true},
          {"HBM, latency", hbm, true}};
}

}  // namespace kiln::harness

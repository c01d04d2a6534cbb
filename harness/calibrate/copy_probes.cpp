// Bulk and tensor copies: rows, latencies, rates, tensor maps, multicast, stores.
#include <algorithm>

#include "harness/calibrate/session.hpp"

namespace kiln::harness {
namespace {

using enum timing::FactId;

constexpr unsigned tiles_at = 1024;       // in shared memory; mbarriers come before
constexpr unsigned pitch = 256;           // bytes of a row of the tensor
constexpr unsigned few_copies = 4;        // of what waits for itself, so that the loop's branch is not measured
constexpr unsigned warm_rows = 1u << 14;  // of the part of it that is loaded again and again: 4 MB

launch::TensorMap map_of(unsigned row_bytes, unsigned rows, std::uint64_t all_rows, unsigned apart = pitch) {
  launch::TensorMap m;
  m.dtype = isa::ScalarType::u8;
  m.dims = {pitch, all_rows};
  m.strides = {0, apart};
  m.box = {row_bytes, rows, 1, 1, 1};
  return m;
}

// %r1: the parity of the phases before this turn's. A fresh mbarrier counts the phase before its first as complete.
std::string init_slots(unsigned slots) {
  std::string text;
  for (unsigned k = 0; k < slots; ++k) text += fmt::format("mbarrier.init.shared::cta.b64 [%smem+{}], 1;\n", 8 * k);
  return text + "fence.mbarrier_init.release.cluster; mov.u32 %r1, 1; mov.u32 %r2, 0; mov.u32 %r3, 0;\n";
}

std::string wait_for(unsigned slot, const char* name) {
  return fmt::format("{0}{1}: mbarrier.try_wait.parity.shared::cta.b64 %p0, [%smem+{2}], %r1; @!%p0 bra {0}{1};\n",
                     name, slot, 8 * slot);
}

std::string announce(unsigned slot, unsigned bytes) {
  return fmt::format("mbarrier.arrive.expect_tx.shared::cta.b64 %rd0, [%smem+{}], {};\n", 8 * slot, bytes);
}

// The box at row %r3, which moves on.
std::string tensor_load(unsigned slot, unsigned bytes, unsigned rows, unsigned all_rows) {
  return fmt::format(
      "add.u32 %r4, %smem, {}; add.u32 %r5, %smem, {};\n"
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r4], [%map, {{%r2, %r3}}], "
      "[%r5];\n"
      "add.u32 %r3, %r3, {}; and.b32 %r3, %r3, {};\n",
      tiles_at + slot * bytes, 8 * slot, rows, all_rows - 1);
}

// One thread keeps `slots` loads in flight.
LoopKernel ring_of(unsigned slots, unsigned bytes, const std::string& setup,
                   const std::function<std::string(unsigned slot)>& load) {
  LoopKernel k;
  k.shared_bytes = tiles_at + slots * bytes;
  k.copies = 1;
  k.setup = init_slots(slots) + setup;
  for (unsigned s = 0; s < slots; ++s) k.body += wait_for(s, "FREE") + announce(s, bytes) + load(s);
  k.body += "xor.b32 %r1, %r1, 1;";
  for (unsigned s = 0; s < slots; ++s) k.after += wait_for(s, "LAST");
  return k;
}

Figure rate_of(Figure cycles, double bytes) {
  return {bytes / cycles.value, bytes / cycles.value * cycles.spread / cycles.value};
}

void rows_of_boxes(Session& s) {
  constexpr unsigned slots = 8, rows = 128;
  for (const unsigned row_bytes : {16u, 32u, 64u, 128u}) {
    LoopKernel k = ring_of(slots, rows * row_bytes, "",
                           [&](unsigned slot) { return tensor_load(slot, rows * row_bytes, rows, warm_rows); });
    k.data_bytes = std::uint64_t(warm_rows) * pitch;
    k.maps = {map_of(row_bytes, rows, warm_rows)};
    const Figure f = divided(cycles_of(s.machine(), k, 24, 72), slots * rows);
    if (row_bytes == 64)
      s.set(copy_row, f, "rows of 64 bytes, 8 boxes of 128 rows in flight, from L2");
    else
      s.observe(fmt::format("a box's row of {} bytes, 8 boxes of 128 rows in flight, from L2", row_bytes), f,
                "cycles/row");
  }
}

// Boxes that begin in the tensor and end outside of it. Such rows come from one place for all SMs, so all load them.
void rows_outside(Session& s) {
  constexpr unsigned slots = 8, rows = 128, inside = 32, row_bytes = 64;
  LoopKernel k =
      ring_of(slots, rows * row_bytes, "", [](unsigned slot) { return tensor_load(slot, rows * row_bytes, 0, 1); });
  k.ctas = s.machine().facts().sms;
  k.data_bytes = std::uint64_t(inside) * pitch;
  k.maps = {map_of(row_bytes, rows, inside)};
  Figure f = divided(cycles_of(s.machine(), k, 24, 72), slots);
  f.value -= inside * s[copy_row];
  s.set(copy_row_outside, divided(f, rows - inside),
        "all SMs, rows of 64 bytes, 8 boxes of 128 rows in flight, of which the tensor has 32");
}

// Rows of 128 bytes that begin at each multiple of 16 bytes of a line in turn: seven of eight lie in two lines. Of
// `ctas` SMs, eight of which ask for the same rows, as those of a GEMM do; `to_both`: each CTA of a pair loads half of
// a box for both.
Figure load_row(Session& s, unsigned apart, unsigned ctas, unsigned cluster = 1, bool to_both = false) {
  constexpr unsigned slots = 8, rows = 128, row_bytes = 128, part = rows * row_bytes;
  LoopKernel k;
  k.ctas = ctas, k.cluster = cluster;
  k.shared_bytes = tiles_at + slots * part;
  k.copies = 1;
  k.declare = ".reg .b16 %both;";
  k.setup = init_slots(slots) + fmt::format(
                                    "mov.u16 %both, 3; shr.u32 %r3, %block, 3; shl.b32 %r3, %r3, 10; "
                                    "and.b32 %r3, %r3, {};\n",
                                    warm_rows - 1);
  const unsigned boxes = to_both ? 2 : 1, box_rows = rows / boxes;
  if (to_both)
    k.setup += fmt::format("mad.lo.u32 %r3, %rank, {}, %r3; barrier.cluster.arrive; barrier.cluster.wait;\n", box_rows);
  for (unsigned slot = 0; slot < slots; ++slot) {
    k.body += wait_for(slot, "FREE");
    // A slot is overwritten by the other CTA too.
    if (to_both && slot == 0) k.body += "barrier.cluster.arrive.relaxed; barrier.cluster.wait;\n";
    k.body += announce(slot, part);
    k.body += fmt::format(
        "add.u32 %r4, %smem, {}; add.u32 %r5, %smem, {}; {}\n"
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes{} [%r4], [%map, {{%r2, "
        "%r3}}], "
        "[%r5]{};\n"
        "add.u32 %r3, %r3, {}; and.b32 %r3, %r3, {};\n",
        tiles_at + slot * part, 8 * slot, to_both ? fmt::format("mad.lo.u32 %r4, %rank, {}, %r4;", part / 2) : "",
        to_both ? ".multicast::cluster" : "", to_both ? ", %both" : "", rows, warm_rows - 1);
  }
  k.body += "xor.b32 %r1, %r1, 1;";
  for (unsigned slot = 0; slot < slots; ++slot) k.after += wait_for(slot, "LAST");
  k.data_bytes = std::uint64_t(warm_rows) * apart + pitch;
  k.maps = {map_of(row_bytes, box_rows, warm_rows, apart)};
  return divided(cycles_of(s.machine(), k, 16, 64), slots * rows);
}

// The same boxes, asked for by the CTAs of pairs and by CTAs of no cluster.
void ingest_of_clusters(Session& s) {
  const unsigned ctas = s.machine().facts().sms / 2 * 2;
  const Figure none = load_row(s, pitch, ctas), pairs = load_row(s, pitch, ctas, 2);
  s.set(cluster_ingest, {pairs.value / none.value, (pairs.spread + none.spread) / none.value},
        "pairs beside CTAs of no cluster, boxes of 128 rows of 128 bytes, 8 in flight, eight SMs ask for the same");
}

// A box's rows, stored by TMA with two boxes in flight; each SM has 256 rows of its own.
Figure stored_row(Session& s, unsigned row_bytes, unsigned apart, unsigned ctas) {
  constexpr unsigned rows = 64, own_rows = 256;
  LoopKernel k;
  k.ctas = ctas, k.copies = 1;
  k.shared_bytes = tiles_at + rows * row_bytes;
  k.setup = fmt::format(
      "add.u32 %r4, %smem, {}; fence.proxy.async; mul.lo.u32 %r3, %block, {}; mov.u32 %r2, 0; "
      "mov.u32 %r6, 0;\n",
      tiles_at, own_rows);
  k.body = fmt::format(
      "add.u32 %r7, %r3, %r6; add.u32 %r6, %r6, {}; and.b32 %r6, %r6, {};\n"
      "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%map, {{%r2, %r7}}], [%r4]; "
      "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read 1;",
      rows, own_rows - 1);
  k.after = "cp.async.bulk.wait_group 0;";
  k.data_bytes = std::uint64_t(ctas) * own_rows * apart + pitch;
  k.maps = {map_of(row_bytes, rows, std::uint64_t(ctas) * own_rows, apart)};
  return divided(cycles_of(s.machine(), k, 16, 80), rows);
}

constexpr unsigned split_pitch = pitch + 16;
constexpr const char* per_row = "cycles/row";

void split_rows(Session& s) {
  s.observe("a box's row of 128 bytes, rows 272 bytes apart", load_row(s, split_pitch, 1), per_row);
  for (const unsigned row_bytes : {64u, 128u}) {
    s.observe(fmt::format("a box's row of {} bytes, stored", row_bytes), stored_row(s, row_bytes, pitch, 1), per_row);
    s.observe(fmt::format("a box's row of {} bytes, stored, rows 272 bytes apart", row_bytes),
              stored_row(s, row_bytes, split_pitch, 1), per_row);
  }
}

void split_rows_of_all(Session& s) {
  const unsigned sms = s.machine().facts().sms;
  for (const unsigned apart : {pitch, pitch + 32, split_pitch})
    for (const unsigned ctas : {sms / 2, sms}) {
      const Figure f = load_row(s, apart, ctas);
      s.observe(fmt::format("a box's row of 128 bytes, rows {} bytes apart, {} SMs at once", apart, ctas), f, per_row);
      if (apart == split_pitch && ctas == sms)
        s.set(ingest_rate_split, rate_of(f, 128),
              "boxes of 128 rows of 128 bytes, 272 bytes apart, 8 in flight, eight SMs ask for the same");
    }
  for (const unsigned apart : {pitch, split_pitch})
    s.observe(fmt::format("a box's row of 128 bytes to each of two CTAs, rows {} bytes apart, all SMs", apart),
              load_row(s, apart, sms / 2 * 2, 2, true), per_row);
  for (const unsigned row_bytes : {64u, 128u})
    for (const unsigned apart : {pitch, split_pitch})
      s.observe(fmt::format("a box's row of {} bytes, stored, rows {} bytes apart, all SMs", row_bytes, apart),
                stored_row(s, row_bytes, apart, sms), per_row);
}

// Cycles of a load and the wait for it, one after the other.
Figure load_cycles(Session& s, unsigned rows, std::uint64_t all_rows) {
  const unsigned bytes = rows * 128;
  LoopKernel k;
  k.shared_bytes = tiles_at + bytes;
  k.copies = few_copies;
  const bool cold = all_rows > warm_rows;
  k.setup = init_slots(1) + (cold ? "shl.b32 %r3, %count, 14;" : "");
  k.body = announce(0, bytes) + tensor_load(0, bytes, rows, unsigned(all_rows)) + "xor.b32 %r1, %r1, 1;\n" +
           wait_for(0, "TRY#_");
  if (cold) k.body += "add.u32 %r3, %r3, 56;";  // to other pages of the memory's chips
  k.data_bytes = all_rows * pitch;
  k.maps = {map_of(128, rows, all_rows)};
  return cycles_of(s.machine(), k, 8, 24);
}

void load_latencies(Session& s) {
  const Figure small = load_cycles(s, 8, warm_rows), large = load_cycles(s, 64, warm_rows);
  const double row = (large.value - small.value) / 56;
  s.set(load_latency, {small.value - 8 * row, small.spread}, "boxes of 8 and 64 rows of 128 bytes, at 0 of their line");
  s.observe("a row of 128 bytes of a load that is waited for, from L2", {row, large.spread / 56}, "cycles/row");
  const Figure cold = load_cycles(s, 8, 1u << 20);
  s.set(load_latency_hbm, {cold.value - 8 * row, cold.spread}, "boxes of 8 rows that were not touched before");
}

// The first load through a map that this launch has not used, beside a second one.
void tensor_maps(Session& s) {
  constexpr unsigned count = 12;
  LoopKernel k;
  k.shared_bytes = tiles_at + 1024, k.copies = 1, k.samples = count;
  k.data_bytes = std::uint64_t(warm_rows + 16 * count) * pitch;
  for (unsigned m = 0; m < count; ++m) {
    k.maps.push_back(map_of(128, 8, warm_rows));
    k.maps.back().offset = std::uint64_t(m) * 16 * pitch;  // each is of a tensor of its own
  }
  k.setup = init_slots(1);
  for (unsigned m = 0; m < count; ++m)
    k.setup += fmt::format("mov.b64 %rd{0}, map{1}; cvta.param.u64 %rd{0}, %rd{0};\n", 10 + m, m);
  for (unsigned m = 0; m < count; ++m)
    k.before += fmt::format("setp.eq.u32 %p1, %s, {}; @%p1 mov.u64 %map, %rd{};\n", m, 10 + m);
  const std::string load = announce(0, 1024) + tensor_load(0, 1024, 8, warm_rows) + "xor.b32 %r1, %r1, 1;\n";
  k.body = load + wait_for(0, "FIRST") + "mov.u64 %rd1, %clock64;\n" + load + wait_for(0, "SECOND") +
           "mov.u64 %rd2, %clock64;";
  k.cycles = "sub.u64 %rd3, %rd1, %begin; sub.u64 %rd4, %rd2, %rd1; sub.u64 %end, %rd3, %rd4;";
  std::vector<double> samples;
  const auto all = samples_of(s.machine(), k, 1);
  for (const LoopTime& x : all.front())
    if (x.cycles < 1e6) samples.push_back(x.cycles);  // a negative difference is no miss
  s.set(descriptor_miss, figure_of(samples), "a map's first load beside its second");
}

// Both CTAs wait for a load of CTA 0's, and meet after each.
Figure shared_load(Session& s, bool to_both) {
  LoopKernel k;
  k.ctas = k.cluster = 2;
  k.shared_bytes = tiles_at + 1024, k.copies = 1;
  k.data_bytes = std::uint64_t(warm_rows) * pitch;
  k.maps = {map_of(128, 8, warm_rows)};
  k.setup =
      init_slots(1) + "mov.u16 %both, 3; setp.eq.u32 %p1, %rank, 0; barrier.cluster.arrive; barrier.cluster.wait;";
  k.declare = ".reg .b16 %both;";
  const std::string own = fmt::format("add.u32 %r4, %smem, {}; add.u32 %r5, %smem, 0;\n", tiles_at);
  const char* instruction = to_both
                                ? "@%p1 cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::"
                                  "bytes.multicast::cluster [%r4], [%map, {%r2, %r3}], [%r5], %both;\n"
                                : "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                                  "[%r4], [%map, {%r2, %r3}], [%r5];\n";
  k.body = announce(0, 1024) + own + instruction +
           fmt::format("add.u32 %r3, %r3, 8; and.b32 %r3, %r3, {}; xor.b32 %r1, %r1, 1;\n", warm_rows - 1) +
           wait_for(0, "TRY") + "barrier.cluster.arrive.relaxed; barrier.cluster.wait;";
  return cycles_of(s.machine(), k, 16, 48);
}

void multicasts(Session& s) {
  const Figure one = shared_load(s, false), both = shared_load(s, true);
  // Where it adds nothing that can be seen a cycle stands for it: a fact is above 0.
  s.set(multicast, {std::max(1.0, both.value - one.value), both.spread}, "to two CTAs, beside a load of each");
}

// A bulk store and the wait for it.
void stores(Session& s) {
  std::vector<std::pair<double, double>> points;
  double spread = 0;
  for (const unsigned bytes : {1024u, 2048u, 4096u, 8192u, 16384u}) {
    LoopKernel k;
    k.shared_bytes = tiles_at + bytes, k.copies = few_copies;
    k.data_bytes = 1 << 20;
    k.setup = fmt::format("add.u32 %r4, %smem, {}; fence.proxy.async;", tiles_at);
    k.body = fmt::format(
        "cp.async.bulk.global.shared::cta.bulk_group [%data], [%r4], {}; cp.async.bulk.commit_group; "
        "cp.async.bulk.wait_group 0;",
        bytes);
    const Figure f = cycles_of(s.machine(), k, 4, 12);
    points.push_back({bytes, f.value});
    spread = std::max(spread, f.spread);
  }
  const auto [at_none, per_byte] = line_through(points);
  s.set(store_latency, {at_none, spread}, "1 to 16 KB, each waited for, at 0 of their line");
  s.set(store_rate, {1 / per_byte, spread / 16384 / (per_byte * per_byte)},
        "1 to 16 KB, each waited for, the slope of their line");
}

// Bulk stores of 16 KB with two in flight, each CTA to memory of its own: what all SMs store together.
void stores_of_all(Session& s) {
  constexpr unsigned bytes = 16384, room = 64 * bytes;
  const unsigned sms = s.machine().facts().sms;
  const auto rate = [&](unsigned ctas) {
    LoopKernel k;
    k.shared_bytes = tiles_at + bytes, k.copies = 1, k.ctas = ctas;
    k.data_bytes = std::uint64_t(ctas) * room;
    k.setup = fmt::format(
        "add.u32 %r4, %smem, {}; fence.proxy.async; mul.wide.u32 %rd4, %block, {}; add.u64 %rd4, %rd4, %data; "
        "mov.u64 %rd5, 0;",
        tiles_at, room);
    k.body = fmt::format(
        "add.u64 %rd6, %rd4, %rd5; add.u64 %rd5, %rd5, {0}; and.b64 %rd5, %rd5, {1};\n"
        "cp.async.bulk.global.shared::cta.bulk_group [%rd6], [%r4], {0}; cp.async.bulk.commit_group; "
        "cp.async.bulk.wait_group.read 1;",
        bytes, room - 1);
    k.after = "cp.async.bulk.wait_group 0;";
    return rate_of(cycles_of(s.machine(), k, 16, 80), bytes);
  };
  s.observe("bulk stores of 16 KB, two in flight, one SM", rate(1), "bytes/cycle");
  s.observe("bulk stores of 16 KB, two in flight, a quarter of the SMs", rate(sms / 4), "bytes/cycle of each SM");
  s.set(store_rate_all, rate(sms), "bulk stores of 16 KB, two in flight, all SMs");
}

// Bulk loads of 16 KB, eight in flight; each CTA begins elsewhere.
LoopKernel stream(unsigned ctas, std::uint64_t bytes_all, std::uint64_t cta_step) {
  constexpr unsigned bytes = 16384;
  LoopKernel k =
      ring_of(8, bytes, fmt::format("mul.wide.u32 %rd4, %block, {}; mov.u64 %rd5, {};\n", cta_step, bytes_all - 1),
              [&](unsigned slot) {
                return fmt::format(
                    "and.b64 %rd6, %rd4, %rd5; add.u64 %rd7, %rd6, %data; add.u64 %rd4, %rd4, {};\n"
                    "add.u32 %r4, %smem, {}; add.u32 %r5, %smem, {};\n"
                    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r4], [%rd7], {}, [%r5];\n",
                    bytes, tiles_at + slot * bytes, 8 * slot, bytes);
              });
  k.data_bytes = bytes_all;
  k.ctas = ctas;
  return k;
}

constexpr double turn_bytes = 8 * 16384;

void ingest(Session& s) {
  const std::uint64_t warm = 8u << 20;
  const Figure alone = rate_of(cycles_of(s.machine(), stream(1, warm, 0), 16, 80), turn_bytes);
  s.set(ingest_rate, alone, "bulk loads of 16 KB, 8 in flight, 8 MB");
}

void ingest_of_all(Session& s) {
  const unsigned sms = s.machine().facts().sms;
  for (const unsigned mb : {4u, 16u, 32u}) {
    const Figure f =
        rate_of(cycles_of(s.machine(), stream(sms, std::uint64_t(mb) << 20, 9 * 16384), 64, 320), turn_bytes);
    if (mb == 16)
      s.set(ingest_rate_own, f, "bulk loads of 16 KB, 8 in flight, each SM its own, in 16 MB");
    else
      s.observe(fmt::format("bulk loads of 16 KB, 8 in flight, all SMs in {} MB", mb), f, "bytes/cycle of each SM");
  }
}

// What all SMs stream from memory that is larger than L2, by the nanosecond.
void hbm_bandwidth(Session& s) {
  const unsigned sms = s.machine().facts().sms;
  const LoopKernel k = stream(sms, 1u << 30, (1u << 30) / sms / 16384 * 16384);
  const auto few = samples_of(s.machine(), k, 8), many = samples_of(s.machine(), k, 40);
  std::vector<double> rates, clocks;
  const auto middle = [](const std::vector<LoopTime>& samples) {
    return figure_of(samples, &LoopTime::nanoseconds).value;
  };
  for (std::size_t c = 0; c < std::min(few.size(), many.size()); ++c) {
    const double ns = middle(many[c]) - middle(few[c]);
    if (ns > 0) rates.push_back(32 * turn_bytes * double(sms) / ns);
    for (const LoopTime& x : many[c]) clocks.push_back(x.cycles / x.nanoseconds);
  }
  s.set(hbm_rate, figure_of(rates), "bulk loads of 16 KB, 8 in flight, all SMs in 1 GB");
  s.set(load_clock, figure_of(clocks), "while all SMs load from HBM");
}

}  // namespace

std::vector<Probe> copy_probes() {
  return {{"rows of boxes", rows_of_boxes},
          {"rows outside of a tensor", rows_outside, false, timing::TensorCore::wgmma},
          {"rows in two lines", split_rows},
          {"rows in two lines, all SMs", split_rows_of_all, true},
          {"loads, latency", load_latencies},
          {"tensor maps", tensor_maps},
          {"stores", stores},
          {"stores, all SMs", stores_of_all, true},
          {"L2 to one SM", ingest},
          {"multicast", multicasts},
          {"L2 to all SMs", ingest_of_all, true},
          {"L2 to clusters", ingest_of_clusters, true, timing::TensorCore::wgmma},
          {"HBM, rate", hbm_bandwidth, true}};
}

}  // namespace kiln::harness

#include "timing/estimate.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "ptx/isa/tmem.hpp"
#include "ptx/isa/wgmma.hpp"

namespace kiln::timing {
namespace {

using launch::Tiling;

double pieces(std::uint64_t extent, std::uint64_t size) { return double((extent + size - 1) / size); }

// From none at `none` evenly to all at `all`.
double part_between(double x, double none, double all) { return std::clamp((x - none) / (all - none), 0.0, 1.0); }

// Whether there is far more of an operand than of the other.
struct FarMore {
  bool of_a = false, of_b = false;
};
FarMore far_more(const Tiling& t) {
  constexpr double times = 4;
  const double a = double(t.m) * t.a_bits, b = double(t.n) * t.b_bits * t.products;
  return {a >= times * b, b >= times * a};
}

// Rows of tiles that are walked together, of so many.
double band_of(const Tiling& t, double rows) {
  return t.rows_together ? std::min(rows, double(t.rows_together)) : rows;
}

// How tiles become work of CTAs.
struct Deal {
  double items = 0;   // tiles, each as often as its K is split; of several pairs those that stand side by side
  double groups = 0;  // clusters at work at once
  double rounds = 0;  // items that one of them does, one after the other
  double blocks = 0;  // slots of an item
  /// SMs at work, and in the last round, where they have what the others leave of L2 and HBM.
  double sms() const { return groups * ctas; }
  double last_sms() const { return std::max(1.0, items - (rounds - 1) * groups) * ctas; }
  int ctas = 1;
  double shared = 0;                    // tiles whose K is shared evenly
  std::uint64_t parts = 1, places = 1;  // of such a tile at most, and where in K they begin
};

Deal deal_of(const Tiling& t, const Chip& chip) {
  Deal d;
  d.ctas = t.cluster();
  d.items = pieces(t.m, std::uint64_t(t.rows)) * pieces(t.n, std::uint64_t(t.columns * t.pairs)) *
            double(t.matrices * t.splits);
  const double resident = double(resident_clusters(chip, std::size_t(d.ctas)));
  const double launched = t.most_ctas ? std::floor(double(t.most_ctas) / d.ctas) : d.items;
  const double started = std::min(d.items, std::max(1.0, launched));
  d.groups = std::min(started, resident);
  // Groups that are not resident at once come in a wave of their own, and have as many items as the others.
  d.rounds = std::ceil(started / resident) * std::ceil(d.items / started);
  d.blocks = std::ceil(pieces(t.k, std::uint64_t(t.slot_k)) / double(t.splits));
  if (!t.stream_k) return d;
  // Steps of K are shared evenly: no round is left in part. Ranges of K begin at so many places of a tile's.
  d.groups = std::min(resident, std::max(1.0, launched)), d.rounds = d.items / d.groups;
  const auto groups = std::uint64_t(d.groups), rest = std::uint64_t(d.items) % groups;
  d.shared = double(launch::shared_tiles(std::uint64_t(d.items), groups, std::uint64_t(d.blocks)));
  if (rest == 0) return d;
  d.places = groups / std::gcd(groups, rest);
  d.parts = d.shared > d.groups ? 2 : (d.places - 2) * groups / (d.places * rest) + 2;
  return d;
}

// The bytes of operands that HBM gives, and those that all CTAs load.
struct Traffic {
  double from_hbm = 0, loaded = 0;
  double again = 0;   // loaded, of what other CTAs read too while it comes from HBM
  double lesser = 0;  // of the operand of which there is less, what comes from L2 into all CTAs
  double slots = 1;   // that bring them, of all CTAs
};

// Bytes of an operand.
struct Loaded {
  double from_hbm = 0, by_all = 0;
};

// CTAs go along K together. So what several of them read comes while all of them want it, if HBM has to give it all the
// time; an operand of which it gives little lies in L2 by then.
double loaded_again(const Loaded& a, const Loaded& b) {
  const double most = std::max(a.from_hbm, b.from_hbm);
  const auto again = [&](const Loaded& x) { return x.from_hbm / most * std::max(0.0, x.by_all - x.from_hbm); };
  return again(a) + again(b);
}

// Rows of a box's K that a pair, or a CTA alone, loads for a slot.
double rows_of_slot(const Tiling& t) { return double(t.rows) / t.pairs + double(t.products) * t.columns; }

// Tiles are walked in bands of rows, column by column. A band's rows of A are read again for each column, all of B for
// each band: from L2 what L2 can hold.
Traffic traffic_of(const Tiling& t, const Deal& d, const Chip& chip) {
  constexpr double held = 0.75;  // of L2's reach, by one operand
  const double of_k = double(t.k * t.matrices) / 8, reach = chip[FactId::l2_reach];
  const double a = of_k * double(t.m) * t.a_bits, b = of_k * double(t.n) * t.b_bits * t.products;
  const double slots = d.items * d.blocks * d.ctas, bytes = slots * double(t.slot_bytes);
  // Rows beyond a tensor's end are no bytes.
  const auto loaded = [&](double rows, double there) { return bytes * rows / rows_of_slot(t) * std::min(1.0, there); };
  Loaded of_a{a, loaded(double(t.rows) / t.pairs, double(t.m) / t.rows)};
  Loaded of_b{b, loaded(double(t.products) * t.columns, double(t.n) / t.columns)};
  // Pairs side by side hand rows of A on, and the CTAs of a pair those of B: they come into each of them.
  const double lesser = a < b ? of_a.by_all * t.pairs - a : of_b.by_all * t.ctas - b;
  Traffic traffic{a + b, of_a.by_all + of_b.by_all, loaded_again(of_a, of_b), lesser, slots};
  if (a + b <= reach) return traffic;
  const double rows = pieces(t.m, std::uint64_t(t.rows)), columns = pieces(t.n, std::uint64_t(t.columns));
  const double band = band_of(t, rows);
  const double at_once = std::ceil(d.groups * t.pairs / band);  // columns
  const double band_bytes = a * band / rows;
  const double a_times = band_bytes <= held * reach ? 1 : std::ceil(columns / at_once);
  const double b_times = b <= held * reach ? 1 : std::ceil(rows / band);
  of_a.from_hbm *= a_times, of_b.from_hbm *= b_times;
  traffic.from_hbm = std::min(of_a.from_hbm + of_b.from_hbm, std::max(a + b, traffic.loaded));
  traffic.again = loaded_again(of_a, of_b);
  return traffic;
}

// How CTAs start that read the same rows of an operand of which there is far more than of the other. It streams through
// L2: rows that others have read before are mostly gone. Measured on an H200 with GEMMs of one round.
struct Readers {
  bool alone = false;     // each has rows of its own
  bool together = false;  // they read what comes from HBM at the same time
  double again = 0;       // of what HBM gives, the part that it gives again
};
Readers readers_of(const Tiling& t, const Deal& d, const Chip& chip) {
  constexpr double most_together = 6, near = 4, far = 28, all_far = 0.45, few_sms = 0.5, many_sms = 0.7;
  constexpr double pairs = 0.12, pairs_in_narrow_bands = 0.2, narrow = 8;
  const double rows = pieces(t.m, std::uint64_t(t.rows)), columns = pieces(t.n, std::uint64_t(t.columns * t.pairs));
  const double band = band_of(t, rows);
  const FarMore more = far_more(t);
  // From the first of them to the last one, in clusters.
  const double apart = more.of_a ? band * (columns - 1) : rows > band ? columns * band : rows - 1;
  Readers readers;
  readers.alone = apart == 0;
  if (chip.core != TensorCore::wgmma || d.rounds > 1 || (!more.of_a && !more.of_b)) return readers;
  readers.together = more.of_a && t.ctas == 1 && !readers.alone && apart <= most_together;
  if (readers.alone || readers.together) return readers;
  const double busy = part_between(d.sms() / chip[FactId::sms], few_sms, many_sms);
  const double of_pairs = !more.of_a ? 0 : band < std::min(rows, narrow) ? pairs_in_narrow_bands : pairs;
  readers.again = busy * (t.ctas > 1 ? of_pairs : all_far * std::min(1.0, (apart - near) / (far - near)));
  return readers;
}

// Of a GEMM of one round, the CTAs with the last rows of A wait for rows that the tensor does not have, the longer the
// more SMs ask for such rows. Measured on an H200 with two to six rows of tiles.
double late_by_last_rows(const Tiling& t, const Deal& d, const Chip& chip) {
  constexpr double absent_row = 3.3, none_waits = 0.22, all_wait = 0.47;  // cycles, and parts of all SMs
  const auto rows = std::uint64_t(t.rows), of_cta = rows / std::uint64_t(t.ctas), last = t.m % of_cta;
  if (chip.core != TensorCore::wgmma || d.rounds > 1 || t.m < rows || last == 0) return 0;
  const bool half_has_none = t.m % rows != 0 && t.m % rows < of_cta;  // of the last pairs
  const double ask = d.sms() / pieces(t.m, rows) / (half_has_none ? t.ctas : 1) / chip[FactId::sms];
  const double wait = part_between(ask, none_waits, all_wait);
  return absent_row * wait * double(of_cta - last);
}

// The same for CTAs with the last rows of B, a column of tiles: the longer the more SMs are at work, if a tenth to a
// quarter of all ask for such rows. Measured with two and three columns, 80 CTAs to 128.
double late_by_last_columns(const Tiling& t, const Deal& d, const Chip& chip) {
  constexpr double absent_row = 8, of_pair = 0.3, hidden_rows = 20;  // cycles
  constexpr double few_sms = 0.6, many_sms = 0.97, few_ask = 0.1, many_ask = 0.24;
  const std::uint64_t columns = std::uint64_t(t.columns), last = t.n % columns;
  if (chip.core != TensorCore::wgmma || d.rounds > 1 || t.n < columns || last == 0) return 0;
  const double sms = d.sms() / chip[FactId::sms], ask = sms / pieces(t.n, columns);
  const double wait = part_between(sms, few_sms, many_sms) * part_between(ask, few_ask, many_ask);
  return absent_row * wait * std::max(0.0, double(columns - last) - hidden_rows) * (t.ctas > 1 ? of_pair : 1);
}

struct Bound {
  double cycles = 0;
  std::string_view name{};
};
void raise(Bound& most, double cycles, std::string_view name) {
  if (cycles > most.cycles) most = {cycles, name};
}

// The cycles that a slot keeps each resource of an SM busy: the highest is the slot's interval.
class Slot {
 public:
  /// `late`: cycles by which rows that are not there hold up the others of a slot, where CTAs have a tile each.
  Slot(const Tiling& t, double sms, const Traffic& traffic, const Chip& chip, double late, const Readers& readers)
      : t_(t), chip_(chip) {
    const bool wgmma = chip.core == TensorCore::wgmma;
    tensor_ = wgmma ? multiply_by_wgmma() : multiply();
    after_ = wgmma ? chip[FactId::wgmma_drain] : mma().latency - mma().interval;
    raise(most_, tensor_ + (wgmma ? between_groups : 0), "tensor core");
    copies_ = double(t.slot_rows) * chip[FactId::copy_row] + absent_rows() * absent_row;
    raise(most_, copies_, "copy engine");
    const Share share = share_of(chip, sms);
    l2_ = double(t.slot_bytes) * lines_of_row() / share.ingest_rate + late;
    raise(most_, l2_, "L2 to the SM");
    const double from_hbm = std::min(1.0, traffic.from_hbm / traffic.loaded);
    const double loaded = traffic.loaded / traffic.slots;
    // What several CTAs read while it comes, they read one after the other, but for those that read it together; and
    // what L2 holds for all, after it. Where nearly all SMs have rows of their own, a half of that shows. Measured on
    // an H200 alone.
    constexpr double most_sms = 0.73, all_sms = 0.97, hidden = 0.5;
    const double most = part_between(sms / chip[FactId::sms], most_sms, all_sms);
    const double again = readers.together ? 0 : traffic.again / share.ingest_rate;
    const double held = traffic.lesser / chip[FactId::ingest_rate] * (1 - (readers.alone ? hidden * most : 0));
    const double after_it = wgmma ? std::max(again, held) / traffic.slots : 0;
    hbm_ = loaded * from_hbm / share.hbm_rate * (1 + readers.again) + after_it + late +
           absent_rows() * absent_row_held_up + absent_columns(sms) * absent_column_held_up;
    if (wgmma) raise(most_, operand_reads() / chip[FactId::shared_rate], "shared memory port");
    // One thread issues the copies of a slot, and one its MMAs, each after a wait.
    raise(most_, 2 * chip[FactId::copy_slots] + load_trip, "instructions of the load role");
    raise(most_, t.mmas * t.products * (chip[FactId::mma_slots] + mma_operands) + chip[FactId::try_wait] + mma_trip,
          "instructions of the MMA role");
    // A slot is free again when its MMAs are done, and full when its copies have come.
    arrival_ = double(t.slot_bytes) / share.ingest_rate;
    // HBM answers later the more of what it can give is asked of it: measured on an H200 alone.
    constexpr double most_later = 0.8;
    const double queue = wgmma ? most_later * std::min(1.0, hbm_ / std::max(hbm_, most_.cycles)) : 0;
    const double latency = chip[FactId::load_latency_hbm] * (1 + queue);
    trip_ = (latency + arrival_ + tensor_ + after_ + 2 * chip[FactId::wake]) / t.stages;
    raise(most_, trip_, "latency of copies");
    besides_hbm_ = std::max(most_.cycles, double(t.slot_bytes) / share.own_rate);
    raise(most_, hbm_, "HBM");
  }

  double interval() const { return most_.cycles; }
  double besides_hbm() const { return besides_hbm_; }
  double tensor() const { return tensor_; }
  void describe(Traits& x) const {
    x[Trait::slot] = interval();
    x[Trait::slot_tensor] = tensor_ / interval(), x[Trait::slot_l2] = l2_ / interval();
    x[Trait::slot_hbm] = hbm_ / interval(), x[Trait::slot_trip] = trip_ / interval();
    x[Trait::slot_copies] = copies_ / interval();
  }
  std::string_view binds() const { return most_.name; }
  /// From the first copy's issue to the first MMA: L2 is cold.
  double fill() const {
    return chip_[FactId::descriptor_miss] + chip_[FactId::load_latency_hbm] + arrival_ + 2 * chip_[FactId::wake];
  }
  /// From the last MMA's start to the first instruction that reads its sums, without what the pipe is busy.
  double after() const { return after_ + chip_[FactId::wake] + chip_[FactId::try_wait]; }

 private:
  // Cycles of the other instructions of a trip through a role's loop, and of those that make an MMA's operands.
  static constexpr double load_trip = 110, mma_trip = 50, mma_operands = 16;
  static constexpr double between_groups = 30;  // of wgmma: from the last one of a slot to the first one of the next
  // A row of a box beyond the tensor's end keeps the copy engine of an SM busy, and holds up what comes from HBM.
  // Measured on an H200; rows of B keep no engine busy that shows.
  static constexpr double absent_row = 8, absent_row_held_up = 3, absent_column_held_up = 4.2;

  // What L2 gives for a row of a box, whose 128 bytes lie in two lines where the tensor's rows do not all begin with
  // one, and in five sectors of 32 bytes where they do not begin with one of those: measured on an H200 alone.
  double lines_of_row() const {
    if (chip_.core != TensorCore::wgmma) return 1;
    constexpr std::uint64_t line_bits = 128 * 8, sector_bits = 32 * 8;
    const std::uint64_t row_bits = t_.k * std::uint64_t(t_.a_bits);
    return (row_bits % line_bits == 0 ? 1 : 2) * (row_bits % sector_bits == 0 ? 1 : 1.25);
  }
  // Rows of A that a CTA copies for a slot although the tensor does not have them, where it has less than one tile's:
  // of a box of which it has none, others are copied.
  double absent_rows() const {
    const auto rows = std::uint64_t(t_.rows), of_cta = rows / std::uint64_t(t_.ctas), last = t_.m % of_cta;
    if (chip_.core != TensorCore::wgmma || t_.m >= rows || last == 0) return 0;
    return boxes() * double(of_cta - last) / t_.pairs;
  }

  // Rows of B likewise, where all tiles are wider than the tensor, if half of the SMs ask for them.
  double absent_columns(double sms) const {
    constexpr double few_sms = 0.46, many_sms = 0.56, of_pair = 0.75;
    const std::uint64_t columns = std::uint64_t(t_.columns);
    if (chip_.core != TensorCore::wgmma || t_.n >= columns) return 0;
    const double wait = part_between(sms / chip_[FactId::sms], few_sms, many_sms);
    return wait * boxes() * double(columns - t_.n) * t_.products * (t_.ctas > 1 ? of_pair : 1);
  }
  // That a CTA copies for a slot, along K.
  double boxes() const { return double(t_.slot_rows) * t_.ctas / rows_of_slot(t_); }

  MmaTime mma() const { return mma_time(chip_, t_.kind, false, t_.ctas, t_.rows, t_.columns); }
  double multiply() const {
    return t_.mmas * t_.products * mma().interval + double(t_.copied_bytes) / chip_[FactId::tmem_copy_rate];
  }
  // Two warpgroups have 64 rows each, and the tensor core in turn.
  double multiply_by_wgmma() const { return 2 * t_.mmas * t_.products * wgmma_interval(chip_, t_.columns); }
  // Each warpgroup reads its rows of A, as often as its columns take instructions, and all of B.
  double operand_reads() const {
    constexpr int k_bytes = 32, groups = 2;
    const int times = t_.multipliers_store ? 1 : isa::wgmma_parts(t_.columns);
    return double(t_.mmas) * t_.products * k_bytes * (times * isa::tmem_lanes + groups * t_.columns);
  }

  const Tiling& t_;
  const Chip& chip_;
  Bound most_{};
  double tensor_ = 0, copies_ = 0, l2_ = 0, hbm_ = 0, trip_ = 0;  // that it keeps each busy, or waits
  double after_ = 0, arrival_ = 0, besides_hbm_ = 0;
};

// Bringing a tile's sums to global memory, by four warps with 32 rows each. Sums of wgmma are registers of the warps
// that multiply: they reach those that store through two places in shared memory, a chunk of columns at a time.
class Epilogue {
 public:
  Epilogue(const Tiling& t, const Deal& d, const Chip& chip)
      : t_(t), chip_(chip), share_(share_of(chip, d.sms())), d_sms_(d.sms()) {}

  /// All of it.
  double cycles() const {
    if (t_.splits > 1) return partial_sums() + reduction(double(t_.splits));
    if (t_.multipliers_store) return out_of_registers() + chip_[FactId::store_latency];
    return t_.stores_by_copy ? by_copies() : by_rows();
  }
  /// What CTAs that share the K of the last tiles take for parts of them: one is left, and of a tile all are added. Of
  /// two the last CTA has one in its registers. Measured on an H200, for warps that multiply; others are like `splits`.
  double parts(const Deal& d) const {
    if (d.shared == 0) return 0;
    const double parts = double(d.parts);
    if (!t_.multipliers_store) return partial_sums() + reduction(parts);
    constexpr double leave = 3000, read = 3000, read_column = 17, few_registers = 1.5;
    const double each = read + read_column * t_.columns * (t_.columns == 256 ? few_registers : 1);
    return leave + part_lines() + (d.parts == 2 ? 1 : parts) * each;
  }
  /// What of it the next tile's MMAs wait for although it has sums of its own.
  double before_next() const {
    if (chip_.core != TensorCore::wgmma || t_.by_turns) return 0;
    if (t_.multipliers_store) return out_of_registers();
    const double chunks = all_columns() / handed_columns;
    return chunks * hand_over + std::max(0.0, 1 - under_way / chunks) * cycles();
  }

 private:
  static constexpr int warps = 4, store_bytes = 16;
  static constexpr double column_slots = 1.5;  // issue slots of a warp for a column: conversion, address, store
  static constexpr double handed_columns = 32, under_way = 3, hand_over = 150;
  static constexpr double read_rate = 48;  // bytes a cycle that a warpgroup of an SM reads of parts

  double load_chunk(int columns) const {
    if (chip_.core == TensorCore::wgmma) return chip_[FactId::shared_latency] + columns;
    return chip_[FactId::tmem_load] + columns * 4.0 * 32 / chip_[FactId::tmem_load_rate];
  }
  double row_share() const { return std::min(1.0, double(t_.m) * t_.ctas / t_.rows); }
  double all_columns() const { return double(t_.columns) * t_.products; }

  // Each thread has a row, so a store touches a line for each of its lanes.
  double by_rows() const {
    const double stores = double(t_.columns) * t_.d_bits / 8 / store_bytes;
    const double lines = stores * isa::tmem_lanes * row_share() * line_cycles();
    const double chunks = all_columns() / t_.store_columns;
    const double chunk = load_chunk(t_.store_columns) + t_.store_columns * column_slots;
    return std::max(lines, chunks * chunk) + chunk;
  }
  double by_copies() const {
    const double stored = isa::tmem_lanes * double(t_.columns) * t_.d_bits / 8 / share_.store_rate;
    const double chunk = load_chunk(t_.store_columns) + chip_[FactId::fence_async] + 2 * chip_[FactId::bar_sync] +
                         t_.store_columns * column_slots;
    return std::max(stored, all_columns() / t_.store_columns * chunk) + chip_[FactId::store_latency];
  }
  // Two warpgroups at the same time, half of the rows each; by turns one has them all.
  double out_of_registers() const {
    constexpr double column_slots = 2;  // of a block of 64 rows, where two warpgroups share the schedulers
    const double blocks = all_columns() / t_.store_columns * (t_.by_turns ? 2 : 1);
    return blocks * (chip_[FactId::fence_async] + 2 * chip_[FactId::bar_sync] + t_.store_columns * column_slots);
  }
  double line_cycles() const { return std::max(chip_[FactId::store_line], d_sms_ / chip_[FactId::store_lines_all]); }
  // Cycles in which a part's lines leave the SM.
  double part_lines() const { return double(t_.columns) / 4 * warps * 4 * line_cycles(); }
  double partial_sums() const {
    constexpr int columns = 32;
    return std::max(part_lines(), all_columns() / columns * (load_chunk(columns) + columns * column_slots));
  }
  // The last CTA of a tile, or of a group of its parts, reads the parts, 32 columns of a row at a time; then the last
  // one the groups' sums.
  double reduction(double splits) const {
    constexpr int most_in_a_row = 8, columns = 32;
    constexpr double sum_trip = 100;  // cycles of the instructions between a load and the next one
    if (t_.all_add) {
      // Each waits for the last of the others, and asks for it again and again. Of its slice it then reads all parts,
      // four columns of a row at a time, some of them at once.
      const double of_slice = isa::tmem_lanes * double(t_.columns) * 4;
      const double at_once = t_.columns <= 128 ? 16 : 8;
      const double in_turn = std::ceil(double(t_.columns) / 4 / splits) * std::ceil(splits / at_once) *
                             (chip_[FactId::l2_latency] + sum_trip);
      return chip_[FactId::fence_wide] + 5 * chip_[FactId::l2_latency] + of_slice / read_rate + in_turn;
    }
    const double group = splits > most_in_a_row ? std::ceil(std::sqrt(splits)) : splits;
    const double levels = splits > most_in_a_row ? 2 : 1,
                 read = levels > 1 ? group + std::ceil(splits / group) : splits;
    const double bytes = isa::tmem_lanes * double(t_.columns) * 4;
    const double in_turn = t_.columns / columns * (chip_[FactId::l2_latency] + sum_trip);
    return levels * (chip_[FactId::fence_wide] + 2 * chip_[FactId::l2_latency]) + read * (bytes / read_rate + in_turn);
  }

  const Tiling& t_;
  const Chip& chip_;
  Share share_;
  double d_sms_;  // that have work
};

// How much longer slots of parts of K take on an H200. CTAs that all add wait for the slowest of them. Where B has most
// of the bytes, 250 strategies took 6 % longer than those with swapped operands, which is not explained.
double slower_parts(const Tiling& t, const Chip& chip) {
  constexpr double all_wait = 1.08, of_b = 1.06;
  if (t.splits == 1 || chip.core != TensorCore::wgmma) return 1;
  return (t.all_add ? all_wait : 1) * (far_more(t).of_b ? of_b : 1);
}

// Barriers, mbarriers and tensor memory, before the first copy.
double set_up(const Tiling& t, const Chip& chip) {
  constexpr double instructions = 200;
  constexpr double end_of_pair = 1200;  // CTAs of wgmma end together, and start later: measured on an H200
  const double pair =
      t.ctas > 1 ? 2 * chip[FactId::cluster_barrier] + (chip.core == TensorCore::wgmma ? end_of_pair : 0) : 0;
  return chip[FactId::tmem_alloc] + 2 * chip[FactId::fence_wide] + pair + instructions;
}

// CTAs that share the K of the last tiles are at many places of K. What two of them read they then read at different
// times, and what L2 does not hold comes again. So measured on an H200; at few places it does not show, nor where a
// little more than a round is shared, in which neighbours are nearly in step, if L2 holds a part of it.
double out_of_step(const Tiling& t, const Deal& d, const Traffic& traffic, const Chip& chip, double cycles,
                   double clock) {
  constexpr std::uint64_t few_places = 4;
  constexpr double missed = 0.85, nearly_a_round = 1.125, held_in_part = 2.5;
  const double operands = double(t.k * t.matrices) / 8 * (double(t.m) * t.a_bits + double(t.n) * t.b_bits * t.products);
  const double reach = chip[FactId::l2_reach];
  const bool in_step = d.shared > d.groups && d.shared < nearly_a_round * d.groups && operands <= held_in_part * reach;
  if (operands <= reach || d.places <= few_places || in_step) return 0;
  const double bytes = missed * traffic.loaded * d.shared / d.items;
  return std::max(0.0, bytes / chip[FactId::hbm_rate] * clock - cycles);
}

// What GEMMs that fill an H200 get of what its chip file says: HBM answers later, and of a wake-up and a fence a part
// is hidden. The laws of this file were fitted to measured strategies with these; HBM gave 4.19 TB/s then.
Chip as_gemms_see(Chip chip) {
  using enum FactId;
  constexpr std::pair<FactId, double> parts[] = {
      {load_latency_hbm, 1.64}, {hbm_rate, 0.99}, {ingest_rate_own, 0.95}, {wake, 0.84}, {fence_async, 0.07}};
  if (chip.core == TensorCore::wgmma)
    for (const auto& [id, part] : parts) chip.values[std::size_t(id)].value *= part;
  return chip;
}

void describe(Traits& x, const Tiling& t) {
  x[Trait::whole_numbers] = t.kind == isa::MmaKind::i8;
  x[Trait::tile_rows] = t.rows, x[Trait::tile_columns] = t.columns;
  x[Trait::slot_k_bytes] = double(t.slot_k) * t.a_bits / 8;
  x[Trait::ctas] = t.ctas, x[Trait::pairs] = t.pairs;
  x[Trait::splits] = double(t.splits), x[Trait::all_add] = t.all_add;
  x[Trait::stages] = t.stages, x[Trait::rows_together] = t.rows_together;
  x[Trait::stores_columns] = t.stores_columns, x[Trait::stores_by_copy] = t.stores_by_copy;
  x[Trait::multipliers_store] = t.multipliers_store, x[Trait::by_turns] = t.by_turns;
  x[Trait::store_columns] = t.store_columns;
  x[Trait::m] = std::log2(double(t.m)), x[Trait::n] = std::log2(double(t.n)), x[Trait::k] = std::log2(double(t.k));
  x[Trait::a_by_b] = x[Trait::m] - x[Trait::n] + std::log2(double(t.a_bits) / (t.b_bits * t.products));
}

void describe(Traits& x, const Tiling& t, const Deal& d) {
  const double rows = pieces(t.m, std::uint64_t(t.rows)), columns = pieces(t.n, std::uint64_t(t.columns));
  x[Trait::rounds] = d.rounds, x[Trait::sms] = d.sms(), x[Trait::last_sms] = d.last_sms();
  x[Trait::blocks] = d.blocks, x[Trait::items] = d.items;
  x[Trait::rows] = rows, x[Trait::columns] = columns, x[Trait::band] = band_of(t, rows);
  x[Trait::rows_used] = double(t.m) / (rows * t.rows), x[Trait::columns_used] = double(t.n) / (columns * t.columns);
  x[Trait::last_rows] = double(t.m % std::uint64_t(t.rows));
  x[Trait::last_columns] = double(t.n % std::uint64_t(t.columns));
}

void describe(Traits& x, const Traffic& traffic) {
  x[Trait::hbm_bytes] = std::log2(traffic.from_hbm), x[Trait::l2_bytes] = std::log2(traffic.loaded);
  x[Trait::from_hbm] = traffic.from_hbm / traffic.loaded;
  x[Trait::lesser] = traffic.lesser / traffic.loaded, x[Trait::again] = traffic.again / traffic.loaded;
}

}  // namespace

std::uint64_t resident_ctas(const Chip& chip, int ctas_of_a_group) {
  return std::uint64_t(ctas_of_a_group) * resident_clusters(chip, std::size_t(ctas_of_a_group));
}

Estimate estimate(const Tiling& t, const Chip& measured) {
  const Chip chip = as_gemms_see(measured);
  const Deal d = deal_of(t, chip);
  const Traffic traffic = traffic_of(t, d, chip);
  const double late = late_by_last_rows(t, d, chip) + late_by_last_columns(t, d, chip);
  const Readers readers = readers_of(t, d, chip);
  const Slot slot(t, d.sms(), traffic, chip, late, readers), last(t, d.last_sms(), traffic, chip, late, readers);
  const Epilogue epilogue(t, d, chip);
  const double store = epilogue.cycles(), first = set_up(t, chip) + slot.fill() + epilogue.parts(d);
  const double slower = slower_parts(t, chip);
  const bool persistent = t.most_ctas > 0 || t.launch_control;
  Estimate e;
  // With slots that follow one another so fast, on the average.
  const auto cycles_with = [&](double interval) {
    const double main = d.blocks * interval * slower;
    if (!persistent) return d.rounds * (first + main + slot.after() + store) + (d.rounds - 1) * chip[FactId::cta_gap];
    if (t.by_turns) {
      // Two tiles are under way, but the tensor core has one at a time.
      const double each = std::max(main, (main + slot.after() + store) / 2);
      if (each > main) e.binds = "the epilogue";
      return first + d.rounds * each + slot.after() + store;
    }
    if (t.accumulators > 1 || t.multipliers_store) {
      const double next = main + epilogue.before_next() + (t.multipliers_store ? slot.after() : 0);
      if (d.rounds > 1 && store > next) e.binds = "the epilogue";
      return first + main + (d.rounds - 1) * std::max(next, store) + slot.after() + store;
    }
    return first + d.rounds * (main + slot.after() + store);
  };
  const auto average = [&](double all, double in_last) { return all + (in_last - all) / d.rounds; };
  const double besides_hbm = cycles_with(average(slot.besides_hbm(), last.besides_hbm()));
  e.binds = slot.binds();
  double cycles = cycles_with(average(slot.interval(), last.interval()));
  const double tensor = d.items * d.blocks * slot.tensor() * d.ctas;
  const double use = std::min(1.0, tensor / (cycles * chip[FactId::sms]));
  e.clock = clock_under(chip, use).value;
  const double sharing = d.shared / d.groups * d.blocks * slot.interval();
  if (d.shared > 0) cycles += out_of_step(t, d, traffic, chip, sharing, e.clock);
  e.hbm_bytes = traffic.from_hbm, e.l2_bytes = traffic.loaded;
  const double hbm = e.hbm_bytes / chip[FactId::hbm_rate] * e.clock;
  const double in_slots = d.blocks * d.rounds * slot.interval();
  if (hbm > cycles) cycles = hbm, e.binds = "HBM";
  e.cycles = cycles + chip[FactId::cold_start];
  e.seconds = e.form_seconds();
  describe(e.traits, t), describe(e.traits, t, d), describe(e.traits, traffic), slot.describe(e.traits);
  e.traits[Trait::hbm_again] = readers.again, e.traits[Trait::late] = late;
  e.traits[Trait::cycles] = std::log2(e.cycles), e.traits[Trait::tensor_use] = use;
  e.traits[Trait::in_slots] = in_slots / e.cycles, e.traits[Trait::in_store] = store / e.cycles;
  e.traits[Trait::in_hbm] = hbm / e.cycles;
  // Strategies that share the K of some tiles were not measured.
  if (chip.gemms && !t.stream_k) e.seconds *= chip.gemms->factor(e.traits);
  e.besides_hbm = (besides_hbm + chip[FactId::cold_start]) / (e.clock * Estimate::hertz_of_ghz);
  return e;
}

}  // namespace kiln::timing

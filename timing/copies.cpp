#include "timing/copies.hpp"

#include <algorithm>
#include <cmath>

#include "sim/async/tma.hpp"

namespace kiln::timing {
namespace {

using enum FactId;

constexpr std::uint32_t row_bytes = 128;  // that the copy engine takes at once
constexpr double filled_beside = 0.1;     // of the time in which HBM gives a load: L2 gives nothing to the SM
// Of all SMs that get absent rows: up to half, one of a TPC does; a little more, and some TPCs have two.
constexpr double one_of_tpc = 0.5, until_shared = 0.03;
constexpr double most_that_wait = 0.72;  // where more do, none waits longer
// Of an absent row's time: what it is where the SM has its TPC alone, and the part in which it keeps the copy engine.
constexpr double alone = 2.0 / 3, of_engine = 0.5;
// A row in two lines, to the mean of rows that begin at each multiple of 16 bytes of a line in turn: of eight one lies
// in one line, three in whole sectors of two, and four in parts of sectors.
constexpr double whole_sectors = 0.7, parts_of_sectors = 1.3;
constexpr double least_use = 0.9;  // of the tensor core, from which on SMs do not meet
// CTAs at their first tile stay together for so many cycles, and after these no two do.
constexpr double together_until = 20'000, apart_from = 40'000;
constexpr double most_at_once = 2;  // SMs of a TPC, which have one way in for rows in two lines

// What a copy asks of global memory.
struct Asked {
  double rows = 0;    // that the copy engine takes one after the other, those outside of the tensor too
  double absent = 0;  // of them, those outside
  double bytes = 0;   // inside of the tensor
  double split = 0;   // of them, the part in rows that lie in one line more than they fill
};

Asked asked_by(const sim::Transfer& t) {
  const auto pieces = [](std::uint64_t bytes) { return (bytes + row_bytes - 1) / row_bytes; };
  if (!t.box) return {.rows = double(pieces(t.bytes)), .bytes = double(t.bytes)};
  Asked out{.rows = double(t.box->rows() * pieces(t.box->row_bytes()))};
  double split = 0, present = 0;
  for (const auto& [address, bytes] : sim::global_rows(*t.box)) {
    out.bytes += bytes, present += double(pieces(bytes));
    if ((address + bytes - 1) / row_bytes - address / row_bytes + 1 > pieces(bytes))
      split += (address % sector_bytes == 0 ? whole_sectors : parts_of_sectors) * bytes;
  }
  out.absent = out.rows - present;
  if (out.bytes > 0) out.split = split / out.bytes;
  return out;
}

}  // namespace

void Copies::issue(bool multicast) {
  multicast_ = multicast;
  times_.clear(), stored_.clear();
  engine_end_.reset(), load_.reset();
}

void Copies::transfer(Sm& s, const sim::Transfer& t, double now) { t.signals ? load(s, t, now) : store(s, t, now); }

void Copies::store(Sm& s, const sim::Transfer& t, double now) {
  // Lanes that store the same box: the operands of the instruction are the warp's, and it is sent once.
  const auto is_same = [&](const sim::Transfer& x) { return x.global == t.global && x.at == t.at; };
  if (t.box) {
    if (std::any_of(stored_.begin(), stored_.end(), is_same)) return times_.push_back(times_.back());
    stored_.push_back(t);
  }
  const double bytes = asked_by(t).bytes;
  if (const auto cycles = buffers_.write(buffers_.at(t.global), bytes)) s.hbm.end(now, *cycles);
  const double read = s.stores.end(now, bytes / share_.store_rate);
  times_.push_back({read, read + chip_[store_latency]});
}

void Copies::load(Sm& s, const sim::Transfer& t, double now) {
  const Asked asked = asked_by(t);
  const Buffers::Place buffer = buffers_.at(t.global);
  const bool wgmma = chip_.core == TensorCore::wgmma;
  const double absent_row = wgmma ? chip_[copy_row_outside] * of_engine : chip_[copy_row];
  const double cycles = (asked.rows - asked.absent) * chip_[copy_row] + asked.absent * absent_row;
  const double bytes = wgmma ? asked.bytes : double(t.bytes);
  double from_hbm = 0;
  if (!engine_end_ || !multicast_) {
    const bool first = t.box && s.maps.insert(t.global).second && !s.fetches_maps;
    cold_ = buffers_.read(buffer, t.global, bytes);
    if (t.global != 0) buffers_.ask(double(t.bytes));
    hbm_end_ = now;
    if (cold_.value_or(0) > 0) {
      from_hbm = buffers_.cycles_of_read(bytes * *cold_);
      hbm_end_ = s.hbm.end(now, from_hbm);
    }
    engine_end_ = s.copies.end(now + (first ? chip_[descriptor_miss] : 0), cycles);
  }
  any_ = true;
  load_ = Load{.issued = now,
               .cycles = cycles,
               .bytes = bytes,
               .made = wgmma ? asked.absent * cycles_of_absent_row(buffers_.part_outside(buffer)) : 0,
               .split = asked.split,
               .filled = wgmma ? filled_beside * from_hbm : 0,
               .from_shared = t.global == 0,
               .cold = cold_.has_value(),
               .given = buffers_.given_by_l2(buffer),
               .ctas = double(t.ctas)};
}

// Rows that the tensor does not have come from one place for all SMs: the more of them get some, the longer each waits,
// until many ask for the same at about the same time. A CTA without a cluster has its TPC alone while there is room.
double Copies::cycles_of_absent_row(double part_of_sms) const {
  const double shares_tpc = ctas_ > 1 ? 1 : std::clamp((part_of_sms - one_of_tpc) / until_shared, 0.0, 1.0);
  return chip_[copy_row_outside] * std::min(part_of_sms / most_that_wait, 1.0) * (alone + (1 - alone) * shares_tpc);
}

// How far CTAs have come apart: what they store lets each come to its next tile at a time of its own.
double Copies::apart(const Sm& s) const {
  const bool stores = s.stored() > 0 || s.stores.free() > 0;
  return stores ? 1 : std::clamp((load_->issued - together_until) / (apart_from - together_until), 0.0, 1.0);
}

double Copies::arrive(Sm& to) {
  double latency = chip_[load_->cold ? load_latency_hbm : load_latency] - chip_[wake];
  if (load_->from_shared) latency = chip_[remote_arrive];
  if (multicast_) latency += chip_[FactId::multicast];
  // What goes to several CTAs L2 gives once.
  const double times = load_->ctas;
  double rate = multicast_ ? chip_[ingest_rate] : share_.ingest_rate;
  if (load_->given) {
    const double given = std::lerp(load_->given->together, load_->given->apart, apart(to));
    rate = std::min(chip_[ingest_rate], share_.own_rate * times / given);
    if (ctas_ > 1) rate /= chip_[cluster_ingest];
  }
  const double of_tpc = std::min(times, most_at_once);
  double split_rate = std::min(rate, share_.split_rate * of_tpc);
  if (load_->given && ctas_ > 1) split_rate = std::min(rate, chip_[ingest_rate_split] * of_tpc);
  // Absent rows hold up those that are there.
  const double travels =
      load_->bytes * ((1 - load_->split) / rate + load_->split / split_rate) + load_->filled + load_->made;
  const double begins = *engine_end_ - load_->cycles;
  double arrived = to.ingest.end(begins, travels);
  // L2 serves who asks, so the share of an SM holds over a while. SMs that wait for boxes ask for the same ones at the
  // same time; those whose tensor cores never wait do not meet.
  if (load_->given) {
    const double use = to.wgmma_use.until(load_->issued, to.wgmma_core.busy());
    const double unmet = std::clamp((use - least_use) / (1 - least_use), 0.0, 1.0);
    const double ahead = std::lerp(chip_[ingest_ahead], chip_[ingest_ahead_busy], unmet);
    arrived = std::max(to.port.end(begins, load_->bytes / chip_[ingest_rate]), arrived - ahead);
  }
  const double done = std::max({*engine_end_, arrived, hbm_end_}) + latency;
  times_.push_back({done, done});
  load_.reset();
  return done;
}

std::optional<Copies::Times> Copies::take() {
  if (times_.empty()) return std::nullopt;
  const Times out = times_.front();
  times_.pop_front();
  return out;
}

}  // namespace kiln::timing

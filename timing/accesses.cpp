#include "timing/accesses.hpp"

#include <algorithm>

namespace kiln::timing {
namespace {

using enum FactId;

constexpr double wavefront_bytes = 128;
constexpr double store_ahead = 200;      // cycles by which an SM's stores may be before its share of what L2 takes
constexpr std::uint64_t hbm_bytes = 64;  // that L2 asks of HBM at once

}  // namespace

double Accesses::bytes() const {
  double sum = 0;
  for (const Touch& x : touched_) sum += x.bytes;
  return sum;
}

// Of the shared memory port.
double Accesses::shared_cycles(Sm& s, double now) {
  const double bytes = wavefronts(touched_) * wavefront_bytes;
  s.use_operands(chip_, now, bytes);
  return bytes / chip_[shared_rate];
}

double Accesses::load_shared(Sm& s, double now, double begins) {
  const double cycles = shared_cycles(s, now);
  return std::max(s.shared_port.end(now, cycles), begins + cycles);
}

double Accesses::store_shared(Sm& s, double now) { return s.shared_port.begin(now, shared_cycles(s, now)); }

// A warp waits where too much is on its way. Accesses of shared memory that come after its store go through the same
// pipeline, in order. On a chip with wgmma that pipeline is where stores wait; else the first-level cache holds them.
double Accesses::store_global(Sm& s, double now) {
  if (touched_.empty()) return now;
  const bool wgmma = chip_.core == TensorCore::wgmma;
  const double of_lines = lines(touched_), parts = sectors(touched_);
  const double cycles = std::max(of_lines * share_.store_line, parts * share_.store_sector);
  // Parts of lines L2 takes from SMs in turn: while the warps of one hand over to each other it takes more of others.
  const bool in_turn = wgmma && of_lines * share_.store_line > parts * share_.store_sector;
  const double own = in_turn ? std::max(of_lines * chip_[store_line], parts * chip_[store_sector]) : cycles;
  const double share_begins = s.written.begin(in_turn ? std::max(0.0, now - store_ahead) : now, cycles);
  const double begins = std::max(s.sent.begin(now, own), share_begins);
  s.sent.hold(begins + own);
  const double enters = begins - s.store_room * cycles / (wgmma ? 1 : parts * sector_bytes);
  s.shared_port.hold(wgmma ? begins + own : enters);
  for (const Touch& x : touched_) buffers_.own(x.address);
  if (const auto out = buffers_.write(buffers_.at(touched_.front().address), bytes())) s.hbm.end(now, *out);
  return enters;
}

// Units take the load now, as those before it; its address may come later than that, at `begins`. What L1 does not have
// is asked of L2 after the stores that are on their way there.
double Accesses::load_global(Sm& s, const Cost& c, double now, double begins) {
  const double of_lines = lines(touched_) * chip_[global_line];
  const double taken = s.lines.end(now, of_lines), asked = std::max(taken, begins + of_lines);
  const Cached found = c.is_cached ? s.l1.find(touched_) : Cached{sectors(touched_), 0};
  if (found.missing == 0 && !touched_.empty()) return std::max(asked + chip_[l1_latency], found.there);
  const std::uint64_t address = touched_.empty() ? 0 : touched_.front().address;
  const Buffers::Place buffer = buffers_.at(address);
  const bool handed = buffers_.is_handed(buffer);
  const double bytes = double(found.missing) * sector_bytes;
  const double travels = bytes / (handed ? share_.own_rate : share_.ingest_rate);
  const auto from_hbm = buffers_.read(buffer, address, bytes);
  // What another SM or the load before has asked of HBM is found in L2.
  const bool is_new = from_hbm && s.hbm_blocks.insert(address / hbm_bytes).second;
  const double part = is_new ? *from_hbm : 0;
  const double given = part > 0 ? s.hbm.end(now, buffers_.cycles_of_read(bytes * part)) : 0;
  const double far = handed && c.is_cached ? chip_[l2_far] - chip_[l2_latency] : 0;
  const double latency = c.latency + std::max(far, part * (chip_[hbm_latency] - chip_[l2_latency]));
  const double sent = std::max(asked, s.stored());
  const double there =
      std::max({given, s.ingest.end(std::max(taken, s.stored()), travels), sent + travels, found.there}) + latency;
  if (c.is_cached) s.l1.fill(touched_, there);
  buffers_.ask(bytes);
  return there;
}

}  // namespace kiln::timing

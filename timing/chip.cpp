#include "timing/chip.hpp"

#include <algorithm>
#include <cmath>

#include "ptx/diag/error.hpp"

namespace kiln::timing {
namespace {

// The value at x on the line through the points, which goes on after its ends.
double on_line(const std::vector<double>& xs, const std::vector<double>& ys, double x) {
  std::size_t k = 1;
  while (k + 1 < xs.size() && xs[k] < x) ++k;
  const double slope = (ys[k] - ys[k - 1]) / (xs[k] - xs[k - 1]);
  return ys[k - 1] + slope * (x - xs[k - 1]);
}

bool has_kind(const MmaTimes& t, isa::MmaKind kind) {
  return std::find(t.kinds.begin(), t.kinds.end(), kind) != t.kinds.end();
}

// How far a row is from the form asked for; 0: it is that form.
int distance(const MmaTimes& t, isa::MmaKind kind, bool a_in_tmem, int members, int m) {
  return (t.members != members) * 1000 + std::abs(t.m - m) + (t.a_in_tmem != a_in_tmem) * 400 + !has_kind(t, kind);
}

void bend(double& value, double factor) { value *= factor; }
void bend(std::vector<double>& values, double factor) {
  for (double& v : values) v *= factor;
}

double factor(Trust t, bool up) { return up ? 1 + tolerance(t) : 1 / (1 + tolerance(t)); }

}  // namespace

std::string_view spelling(Trust t) { return t == Trust::a ? "A" : t == Trust::b ? "B" : "C"; }

std::string_view spelling(TensorCore c) {
  return c == TensorCore::tcgen05 ? "tcgen05" : c == TensorCore::wgmma ? "wgmma" : "all";
}

Chip bent(Chip chip, FactId id, bool slower) {
  const FactKind kind = facts[std::size_t(id)].kind;
  Fact& fact = chip.values[std::size_t(id)];
  if (kind != FactKind::size) bend(fact.value, factor(fact.trust, slower != (kind == FactKind::rate)));
  return chip;
}

Chip bent_tensor_core(Chip chip, bool slower) {
  for (MmaTimes& t : chip.mma)
    for (auto* times : {&t.interval, &t.latency, &t.refill}) bend(*times, factor(t.trust, slower));
  bend(chip.wgmma.interval, factor(chip.wgmma.trust, slower));
  return chip;
}

Chip bent(Chip chip, bool slower) {
  for (std::size_t k = 0; k < fact_count; ++k) chip = bent(std::move(chip), FactId(k), slower);
  return bent_tensor_core(std::move(chip), slower);
}

Clock clock_under(const Chip& chip, double tensor_use) {
  const double top = chip[FactId::load_clock], drop = chip[FactId::clock_drop] * tensor_use;
  const double unsure = tolerance(chip.fact(FactId::clock_drop).trust);
  return {top - drop, top - drop * (1 + unsure), top - drop * (1 - unsure)};
}

Clock clock_of(const Chip& chip, const Activity& a) {
  using enum FactId;
  if (chip.core != TensorCore::wgmma || a.tensor == 0) return clock_under(chip, a.tensor);
  const double busy = a.tensor + a.copies, unsure = tolerance(chip.fact(work_drop).trust);
  const auto at = [&](double clock, double part) {
    const double microseconds = a.cycles / clock * 1e-3;
    return chip[work_clock] - part * chip[work_drop] * busy * busy * (1 - std::exp(-microseconds / chip[work_delay]));
  };
  const auto with = [&](double part) { return at(at(chip[work_clock], part), part); };
  return {with(1), with(1 + unsure), with(1 - unsure)};
}

std::uint64_t resident_clusters(const Chip& chip, std::size_t ctas) {
  using enum FactId;
  // Larger clusters find no more SMs than those of four.
  const double most = ctas == 2 ? chip[clusters_of_2]
                      : ctas < 4 ? chip[sms] / double(ctas)
                                 : chip[clusters_of_4] * 4 / double(ctas);
  return std::max<std::uint64_t>(1, std::uint64_t(most));
}

Share share_of(const Chip& chip, double busy_sms) {
  using enum FactId;
  // One SM and all of them were measured. In between an SM's own way out and L2 after it are both busy at times, and
  // then stores wait longer than for the slower of the two.
  const double others = chip[sms] > 1 ? std::max(0.0, busy_sms - 1) / (chip[sms] - 1) : 0;
  const auto crowded = [&](FactId alone, FactId of_all) {
    return chip[alone] + std::pow(others, 1.5) * std::max(0.0, chip[sms] / chip[of_all] - chip[alone]);
  };
  const auto from_l2 = [&](FactId of_all) { return std::min(chip[ingest_rate], chip[of_all] * chip[sms] / busy_sms); };
  // On a chip with wgmma one SM alone, and half of them, take half of the time of all for rows in two lines: the parts
  // of the chip bound them.
  const bool wgmma = chip.core == TensorCore::wgmma;
  const double crowd = std::max(1.0, 2 * busy_sms / chip[sms]) / 2;
  const double split = wgmma ? chip[ingest_rate_split] / crowd : from_l2(ingest_rate_split);
  return {from_l2(ingest_rate_all),
          from_l2(ingest_rate_own),
          split,
          chip[hbm_rate] / chip[load_clock] / busy_sms,
          crowded(store_line, store_lines_all),
          crowded(store_sector, store_sectors_all),
          std::min(chip[store_rate], chip[store_rate_all] * chip[sms] / busy_sms)};
}

MmaTime mma_time(const Chip& chip, isa::MmaKind kind, bool a_in_tmem, int members, int m, int n) {
  const auto away = [&](const MmaTimes& t) { return distance(t, kind, a_in_tmem, members, m); };
  const auto found = std::min_element(chip.mma.begin(), chip.mma.end(),
                                      [&](const MmaTimes& x, const MmaTimes& y) { return away(x) < away(y); });
  if (found == chip.mma.end()) throw diag::InternalError("a chip without times of tcgen05.mma");
  const double interval = std::max(on_line(found->n, found->interval, n), chip[FactId::mma_floor] / members);
  return {interval, on_line(found->n, found->latency, n), on_line(found->n, found->refill, n), away(*found) == 0};
}

double wgmma_interval(const Chip& chip, int n) { return on_line(chip.wgmma.n, chip.wgmma.interval, n); }

}  // namespace kiln::timing

#include "harness/calibrate/calibrate.hpp"

#include <algorithm>

#include "harness/calibrate/session.hpp"
#include "ptx/diag/refuse.hpp"

namespace kiln::harness {
namespace {

using timing::FactId;
using timing::Trust;

constexpr const char* here = "here";

// Sources that a number of the chip names.
void drop_unused(timing::Chip& chip) {
  const auto is_used = [&](const timing::Source& s) {
    return std::any_of(chip.values.begin(), chip.values.end(), [&](const auto& f) { return f.source == s.key; }) ||
           std::any_of(chip.mma.begin(), chip.mma.end(), [&](const auto& t) { return t.source == s.key; }) ||
           chip.wgmma.source == s.key;
  };
  std::erase_if(chip.sources, [&](const timing::Source& s) { return !is_used(s); });
}

}  // namespace

Trust trust_of(const Figure& f) {
  for (const Trust t : {Trust::a, Trust::b})
    if (f.spread <= tolerance(t) * f.value) return t;
  return Trust::c;
}

void Session::set(FactId id, Figure f, std::string note) {
  if (!(f.value > 0)) diag::refuse("{} came out as {}", timing::facts[std::size_t(id)].name, f.value);
  chip_.values[std::size_t(id)] = {f.value, trust_of(f), source_, f.spread, std::move(note)};
}

void Session::observe(std::string what, Figure f, std::string unit) {
  chip_.observed.push_back({std::move(what), std::move(unit), f.value, f.spread});
}

void Session::set_wgmma(timing::WgmmaTimes t) {
  t.source = source_;
  chip_.wgmma = std::move(t);
}

Calibration calibrate(Machine& machine, timing::Chip base, const std::string& date,
                      const std::function<bool(std::string_view)>& on_probe) {
  Calibration c{std::move(base), {}};
  const MachineFacts about = machine.facts();
  c.chip.title = about.name;
  c.chip.observed.clear();
  std::erase_if(c.chip.sources, [](const timing::Source& s) { return s.key == here; });
  const std::string driver = about.driver.empty() ? "" : ", driver " + about.driver;
  c.chip.sources.push_back({here,
                            fmt::format("measured {} on {}{}, by kiln time --calibrate", date, about.name, driver),
                            "own measurement"});
  Session session(machine, c.chip, here);
  if (about.sms) session.set(FactId::sms, {double(about.sms), 0}, "as the driver says");
  if (about.max_clock > 0) session.set(FactId::max_clock, {about.max_clock, 0}, "as the driver says");
  for (const auto& group : {warp_probes(), barrier_probes(), copy_probes(), wgmma_probes(), grid_probes()})
    for (const Probe& p : group) {
      if (p.chips != timing::TensorCore::all && p.chips != c.chip.core) continue;
      if (p.whole_grid && !about.runs_whole_grids) continue;
      if (!on_probe(p.name)) {
        c.failures.push_back(fmt::format("{}: there was no time left for it", p.name));
        continue;
      }
      try {
        p.measure(session);
      } catch (const diag::InputError& error) {
        c.failures.push_back(fmt::format("{}: {}", p.name, error.what()));
      }
    }
  drop_unused(c.chip);
  return c;
}

}  // namespace kiln::harness

#include "timing/survey.hpp"

#include <algorithm>

#include "sim/async/tma.hpp"
#include "sim/core/start.hpp"
#include "sim/schedule/scheduler.hpp"

namespace kiln::timing {
namespace {

constexpr std::uint32_t turn = 512;  // instructions of a warp, one after the other
constexpr int most_turns = 16;       // of a warp, if it does not wait by then
constexpr double sms_of_tpc = 2;

}  // namespace

sim::Outcome Survey::run(sim::Cluster& cluster, const ir::Operation*& current) {
  const std::size_t launch = cluster.grid.number;
  if (launches_.size() <= launch) launches_.resize(launch + 1), outside_.resize(launch + 1), seen_.clear();
  cluster.grid.waiting.clear();
  if (launch >= wanted_.size() || !wanted_[launch]) return sim::Outcome::finished;
  cluster_ = &cluster;
  in_clusters_ = cluster.ctas.size() > 1;
  // Copies do not land here, so warps soon wait for them.
  bool goes_on = true;
  for (int k = 0; k < most_turns && goes_on; ++k) {
    goes_on = false;
    for (sim::Cta& cta : cluster.ctas)
      for (sim::Warp& warp : cta.warps) {
        if (!warp.runnable()) continue;
        cta_ = &cta;
        const std::uint64_t steps = cta.steps;
        sim::Turn some;
        some.budget = turn, some.attempts = true;
        sim::run_warp(cluster, cta, warp, some, current);
        goes_on |= cta.steps != steps;
      }
  }
  cluster.events = {};
  const std::uint64_t clusters = sim::clusters_of(cluster.grid).volume();
  const std::uint64_t at_once = std::min(clusters, resident_clusters(chip_, cluster.ctas.size()));
  if (cluster.index + 1 < at_once) cluster.grid.waiting.push_back(cluster.index + 1);
  return sim::Outcome::finished;
}

void Survey::transfer(sim::AsyncId, const sim::Transfer& t) {
  if (!t.signals || t.global == 0 || !cta_) return;
  const sim::Region* region = cluster_->grid.memory.region(t.global);
  if (!region) return;
  const bool first = seen_.insert({cta_->index, region->name}).second;
  std::uint64_t begin = t.global;
  if (t.box) {
    const auto rows = sim::global_rows(*t.box);
    // A multicast has a transfer for each CTA that it goes to.
    if (rows.size() < t.box->rows()) outside_.back()[region->name].insert(t.mbarrier_cta);
    if (rows.empty()) return;
    begin = rows.front().first;
  }
  if (!first) return;
  Asked& box = launches_.back()[region->name][begin];
  ++box.ctas, box.askers.insert(asker_of(cta_->index));
}

// Each GPC asks L2 once. If clusters fill one GPC after the other, it is known which of them share one. Else neighbours
// are in different GPCs: CTAs two by two, an SM each of a TPC.
std::uint32_t Survey::asker_of(std::uint32_t cta) const {
  const double sms_of_gpc = chip_[FactId::sms] / chip_[FactId::gpcs];
  return std::uint32_t(cta / (fills_gpcs() ? sms_of_gpc : sms_of_tpc));
}

// Clusters that fill one GPC after the other share little of what they load alike there: L2 gives most of it again.
// While all CTAs are at their first tile, what several GPCs ask for comes at about the same time.
PartGiven Survey::part_of(const Boxes& boxes) const {
  double asked = 0, of_gpcs = 0, in_gpcs = 0, in_first = 0;
  for (const auto& [address, box] : boxes) {
    const double gpcs = std::min(double(box.askers.size()), chip_[FactId::gpcs]);
    asked += box.ctas, of_gpcs += gpcs, in_first += 1 + chip_[FactId::first_again] * (gpcs - 1);
    if (fills_gpcs()) in_gpcs += chip_[FactId::gpc_again] * (box.ctas - gpcs);
  }
  return {(in_first + in_gpcs) / asked, (of_gpcs + in_gpcs) / asked};
}

std::vector<GivenByL2> Survey::given() const {
  std::vector<GivenByL2> out;
  for (const auto& launch : launches_) {
    GivenByL2& parts = out.emplace_back();
    for (const auto& [name, boxes] : launch) parts[name] = part_of(boxes);
  }
  return out;
}

std::vector<PartsOutside> Survey::outside() const {
  std::vector<PartsOutside> out;
  for (const auto& launch : outside_) {
    PartsOutside& parts = out.emplace_back();
    for (const auto& [name, ctas] : launch) parts[name] = double(ctas.size()) / chip_[FactId::sms];
  }
  return out;
}

}  // namespace kiln::timing

#include "sim/schedule/schedule.hpp"

namespace kiln::sim::schedule {
namespace {

constexpr int depth = 3;                // of the bugs aimed at: that many orders must hold; one change point fewer
constexpr std::uint32_t patience = 16;  // polls without a change after which a fragment gets the lowest priority

constexpr std::uint64_t peeks_fail_one_in = 4;  // synchronisation operations

}  // namespace

// How long the run will be is not known, so the change points lie within a length that the seed chooses: mostly 16 to
// 2048 synchronisation operations, now and then up to 262144.
Pct::Pct(std::uint64_t seed) : seed_(seed) {
  Random random(mix(seed, 1));
  const std::uint32_t length = 16u << (random.below(4) ? random.below(8) : random.below(15));
  for (int k = 1; k < depth; ++k) changes_.push_back(1 + random.below(length));
}

std::uint64_t Pct::priority(const Cluster& cluster, const Candidate& c) {
  if (c.cta) {
    const Poll& poll = c.at->fragments[std::size_t(c.at->holding(c.lane))].poll;
    if (poll.count >= patience && poll.activity == cluster.activity() && demoted_at_[c.name] != poll.activity + 1) {
      demoted_at_[c.name] = poll.activity + 1;
      lowered_[c.name] = --lowest_;
    }
  }
  const auto found = lowered_.find(c.name);
  return found != lowered_.end() ? found->second : mix(seed_, c.name) | std::uint64_t{1} << 32;
}

std::size_t Pct::pick(Cluster& cluster, std::span<const Candidate> candidates) {
  std::size_t best = 0;
  std::uint64_t highest = 0;
  for (std::size_t k = 0; k < candidates.size(); ++k)
    if (const std::uint64_t p = priority(cluster, candidates[k]); p >= highest) best = k, highest = p;
  ++picked_;
  for (const std::uint64_t at : changes_)
    if (at == picked_) lowered_[candidates[best].name] = --lowest_;
  return best;
}

bool Pct::peeks_fail() { return mix(seed_, ~++asked_) % peeks_fail_one_in == 0; }

}  // namespace kiln::sim::schedule

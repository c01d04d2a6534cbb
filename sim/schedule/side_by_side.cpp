#include "sim/schedule/side_by_side.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "sim/core/start.hpp"
#include "sim/schedule/standstill.hpp"

namespace kiln::sim {
namespace {

constexpr std::uint32_t looks_one_in = 4;         // choices among all whose memory has changed
constexpr std::uint32_t longest_stay = 8;         // turns of a cluster before another may come
constexpr std::uint64_t choice_of_neighbour = 3;  // what of the seed chooses the cluster that goes on

class Neighbours {
 public:
  explicit Neighbours(Cluster& first)
      : grid_(first.grid), random_(mix(first.grid.options.seed, choice_of_neighbour)), at_(&first) {
    running_.push_back({&first, true, first.activity(), {}});
  }

  Outcome run() {
    try {
      std::optional<Outcome> over;
      while (!over) over = go_on();
      return *over;
    } catch (const Fault& f) {
      report_fault(*at_, current_, f);
      return f.outcome;
    }
  }

 private:
  struct Neighbour {
    Cluster* cluster = nullptr;
    bool polls = false;          // for what only others can write,
    std::uint64_t activity = 0;  // and did so at this one
    Patience patience{};
  };

  // Nothing: there is more to do.
  std::optional<Outcome> go_on() {
    if (running_.empty()) return Outcome::finished;
    // What a cluster polls may have changed since it was left alone; mostly it has not.
    const auto may_pass = [](const Neighbour& n) { return !n.polls || n.activity != n.cluster->activity(); };
    std::vector<Neighbour*> awake;
    if (random_.below(looks_one_in)) awake = those_that([](const Neighbour& n) { return !n.polls; });
    if (awake.empty()) awake = those_that(may_pass);
    if (!awake.empty()) return stay(*awake[random_.below(std::uint32_t(awake.size()))]);
    if (!grid_.waiting.empty() && running_.size() < grid_.most_clusters) {
      start_another();
    } else if (is_patient_) {
      return end_in_livelock(clusters());
    } else {
      is_patient_ = true;
      for (Neighbour& n : running_) n.polls = false;
    }
    return std::nullopt;
  }

  std::optional<Outcome> stay(Neighbour& n) {
    enter(*n.cluster);
    n.polls = false;
    const std::uint64_t before = n.cluster->writes;
    std::optional<Outcome> over;
    bool is_over = false;
    for (std::uint32_t left = 1 + random_.below(longest_stay); left > 0 && !over && !n.polls && !is_over; --left) {
      if (step_by_chance(*n.cluster, current_)) {
        over = look(n);
      } else if (finished(*n.cluster)) {
        is_over = true;
      } else if (!n.patience.none_runs(*n.cluster)) {
        over = end_in_deadlock(*n.cluster);
      }
    }
    if (n.cluster->writes != before)
      for (const Neighbour& other : running_)
        if (other.cluster != n.cluster) ++other.cluster->writes;
    if (is_over) leave(n.cluster);
    return over;
  }

  // While others can be asked, a few polls are enough to ask them first.
  std::optional<Outcome> look(Neighbour& n) {
    if (!only_polls(*n.cluster, few_polls)) return std::nullopt;
    const bool outside = polls_global_memory(*n.cluster), asks = outside && !is_patient_;
    if (!asks && !only_polls(*n.cluster)) return std::nullopt;
    if (!asks && n.patience.all_poll(*n.cluster)) return std::nullopt;
    if (!outside) return end_in_livelock(*n.cluster);
    n.polls = true;
    n.activity = n.cluster->activity();
    return std::nullopt;
  }

  void start_another() {
    if (idle_.empty()) {
      started_.push_back(std::make_unique<Cluster>(Cluster{grid_, 0, {}, Random(0)}));
      idle_.push_back(started_.back().get());
    }
    at_ = idle_.back();
    idle_.pop_back();
    running_.push_back({at_, false, 0, {}});
    start_next_cluster(*at_, true);
  }

  void enter(Cluster& cluster) {
    if (at_ == &cluster) return;
    at_ = &cluster;
    if (grid_.observer) grid_.observer->enter(cluster);
  }

  void leave(Cluster* cluster) {
    std::erase_if(running_, [&](const Neighbour& x) { return x.cluster == cluster; });
    idle_.push_back(cluster);
  }

  template <class F>
  std::vector<Neighbour*> those_that(F f) {
    std::vector<Neighbour*> out;
    for (Neighbour& n : running_)
      if (f(n)) out.push_back(&n);
    return out;
  }
  std::vector<Cluster*> clusters() const {
    std::vector<Cluster*> out;
    for (const Neighbour& n : running_) out.push_back(n.cluster);
    return out;
  }

  Grid& grid_;
  Random random_;
  std::vector<Neighbour> running_;
  std::vector<std::unique_ptr<Cluster>> started_;
  std::vector<Cluster*> idle_;  // over; their memory is used again
  Cluster* at_;
  bool is_patient_ = false;  // no other cluster can start: waits time out before the end is called a livelock
  const ir::Operation* current_ = nullptr;
};

}  // namespace

Outcome run_side_by_side(Cluster& first) { return Neighbours(first).run(); }

}  // namespace kiln::sim

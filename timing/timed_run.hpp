// One cluster under the clock.
//
// A warp issues in the order of the PTX, an instruction a turn of its scheduler. What orders memory or threads, and
// what ends a basic block, waits for the registers that it reads (a scoreboard) and for the unit that it goes to.
// Arithmetic and plain loads do not hold the warp: ptxas puts others of the block before them, so they begin when what
// they read is there, and the end of the block waits for the last of them to begin. Asynchronous operations become
// events at the times that their resources give them.
//
// The run owns the time, the SMs and what is in flight. What an operation takes of an SM is said by the file of its
// kind (accesses, copies, tensor_work), which gets the time and the SM and gives back when it is done.
#pragma once

#include <map>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

#include "sim/schedule/scheduler.hpp"
#include "timing/accesses.hpp"
#include "timing/account.hpp"
#include "timing/buffers.hpp"
#include "timing/chip.hpp"
#include "timing/copies.hpp"
#include "timing/cost.hpp"
#include "timing/critical_path.hpp"
#include "timing/record.hpp"
#include "timing/sm.hpp"
#include "timing/surroundings.hpp"
#include "timing/tensor_work.hpp"
#include "timing/warps.hpp"

namespace kiln::timing {

/// What one cluster took.
struct ClusterTime {
  double cycles = 0;  // from its start to the exit of its last thread
  double drain = 0;   // and from there to the arrival of its last store in L2
  std::uint32_t ctas = 0;
  std::uint64_t clusters = 1, resident = 1;  // of the grid; at once on the chip
  std::vector<RoleTime> roles{};
  std::vector<Use> uses{};
  std::vector<PathPart> path{};  // its parts add up to the cycles
  std::vector<Span> spans{};     // where a timeline is asked for, as many as most_spans
  std::uint64_t mmas = 0;
  double operations = 0;  // of the tensor core, a multiply-add counting two
  double loaded = 0;      // bytes that loads and copies asked of L2
  BufferUses read{}, written{};
  bool copies = false;          // bulk copies bring what it reads
  double busy_part = 1;         // of the clusters, those that multiply, if the first one does
  bool guessed_mma = false;     // of a form that was not measured
  bool takes_clusters = false;  // the kernel asks for the work of clusters that have not started
  bool counts = false;          // in global memory: what a cluster does may hang on those before
  // By warp: how often it counted on counters that wrap. How many count on one; whether a warp was the last of them.
  std::vector<std::uint32_t> counted{};
  std::uint32_t counters_of = 0;
  bool came_last = false;
  std::uint64_t shared_bytes = 0, threads = 0;  // of a CTA
  std::optional<double> waits_at{};             // its first griddepcontrol.wait
  std::optional<double> lets_begin_at{};        // each of its CTAs has let the dependents begin by then
  std::uint64_t mma_sync = 0;  // instructions of the tensor core that block their warp, which have no model

  /// Cycles for which a resource of `uses` is busy; 0 where it has no such name.
  double busy(std::string_view resource) const;
};

class TimedRun {
 public:
  TimedRun(sim::Cluster&, const Chip&, const Surroundings&);
  TimedRun(const TimedRun&) = delete;

  sim::Outcome go(const ir::Operation*& current);
  ClusterTime result() const;

  void transfer(const sim::Transfer&);
  void access(const sim::Range&, sim::AccessKind);
  void multiply(const sim::MmaTask&);
  void sync(const sim::Sync&);

 private:
  // Something asynchronous, and when it happens. A copy has a second step.
  struct Flight {
    double time = 0, second = 0;
    double issued = 0;  // when it began to wait for its time
    std::uint64_t order = 0;
    Does does = Does::plain;
    sim::Event event{};
  };
  struct Later {
    bool operator()(const Flight& x, const Flight& y) const {
      return x.time != y.time ? x.time > y.time : x.order > y.order;
    }
  };
  // A phase of an mbarrier: when threads may notice it, and what completed it.
  struct Phase {
    double visible = 0;
    std::string by{};
    Release release{};
  };

  sim::Cta& cta_of(std::uint32_t index);

  void issue(Track&, const Next&, const ir::Operation*& current);
  Release release_of(bool by_event) const;
  void settle(Track&, const Next&, const Cost&);
  std::optional<std::uint32_t> bound_of_counter() const;
  void count(const sim::Range&);
  void share_among(double busy);
  void load_tmem(Track&, const Next&, double bytes);
  void start_wgmma(const Track&, const Next&);
  void answer_peeks(Track&);
  void meet_mbarrier(Track&, const Next&, double since);
  void run_on(Track&, double others, const ir::Operation*& current);
  void happen(Flight, const ir::Operation*& current);
  void take_events(const Flight* parent);
  Flight schedule(sim::Event, const Flight* parent);
  void start(Flight);
  void share_clusters();

  sim::Cluster& cluster_;
  const Chip& chip_;
  const Surroundings around_;
  const std::uint64_t resident_;  // clusters at once
  const double busy_;             // SMs at once
  Share share_;                   // of each of them
  std::vector<Sm> sms_;           // by CTA
  Warps warps_;
  Record record_;
  Buffers buffers_;
  Accesses accesses_;
  Copies copies_;
  TensorWork tensor_;
  std::priority_queue<Flight, std::vector<Flight>, Later> flights_{};
  std::map<std::uint32_t, std::vector<Flight>> untimed_{};  // wgmmas that the warpgroup's first warp has not issued
  double now_ = 0;
  std::uint64_t flown_ = 0;

  // What is executed.
  Track* issuer_ = nullptr;
  const Flight* cause_ = nullptr;  // the event that happens, if one does
  std::uint32_t issuing_ = 0;
  sim::Mask lanes_ = 0;   // that do
  bool counted_ = false;  // one of them has
  std::optional<Object> observed_{};

  std::map<Object, Phase> phases_{};
  std::vector<std::optional<double>> lets_begin_;  // by CTA
  ClusterTime time_{};
};

}  // namespace kiln::timing

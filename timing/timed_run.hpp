// One cluster under the clock.
//
// A warp issues in the order of the PTX, an instruction a turn of its scheduler. What orders memory or threads, and
// what ends a basic block, waits for the registers that it reads (a scoreboard) and for the unit that it goes to.
// Arithmetic and plain loads do not hold the warp: ptxas puts others of the block before them, so they begin when what
// they read is there, and the end of the block waits for the last of them to begin. Asynchronous operations become
// events at the times that their resources give them.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "sim/schedule/scheduler.hpp"
#include "timing/account.hpp"
#include "timing/chip.hpp"
#include "timing/cost.hpp"
#include "timing/critical_path.hpp"
#include "timing/sm.hpp"
#include "timing/survey.hpp"
#include "timing/wavefronts.hpp"

namespace kiln::timing {

/// What the run assumes of the rest of the chip.
struct Surroundings {
  bool hits_l2 = true;           // loads find their bytes there
  std::set<std::string> held{};  // but for these buffers, if the others are not there
  bool values = true;            // MMAs compute; else their results are left out
  double from_hbm = 0;           // of the bytes that loads ask for, the part that HBM must give
  // Of a buffer that the launch writes and that L2 cannot hold: the part of what is loaded that HBM gives, if this
  // cluster has not just written it.
  std::map<std::string, double> spilled{};
  GivenByL2 given{};                // of what bulk copies load, where it is known
  std::set<std::string> handed{};   // buffers that clusters of the launch write for others to read
  double dirty = 0;                 // what comes into L2 drives out as much, of which HBM must take this part
  std::uint64_t busy_clusters = 0;  // that run at the same time; 0: as many as there are and fit
  bool timeline = false;            // the run's spans are kept
};

/// What a cluster does with a buffer, in bytes.
struct BufferUse {
  double size = 0, moved = 0;
};

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
  double operations = 0;                               // of the tensor core, a multiply-add counting two
  double loaded = 0;                                   // bytes that loads and copies asked of L2
  std::map<std::string, BufferUse> read{}, written{};  // by buffer
  bool copies = false;                                 // bulk copies bring what it reads
  double busy_part = 1;                                // of the clusters, those that multiply, if the first one does
  bool guessed_mma = false;                            // of a form that was not measured
  bool takes_clusters = false;                         // the kernel asks for the work of clusters that have not started
  bool counts = false;                                 // in global memory: what a cluster does may hang on those before
  std::uint64_t shared_bytes = 0, threads = 0;         // of a CTA
  std::optional<double> waits_at{};                    // its first griddepcontrol.wait
  std::optional<double> lets_begin_at{};               // each of its CTAs has let the dependents begin by then
  std::uint64_t mma_sync = 0;  // instructions of the tensor core that block their warp, which have no model
};

class TimedRun {
 public:
  TimedRun(sim::Cluster&, const Chip&, const Surroundings&);

  sim::Outcome go(const ir::Operation*& current);
  ClusterTime result() const;

  void transfer(const sim::Transfer&);
  void access(const sim::Range&, sim::AccessKind);
  void multiply(const sim::MmaTask&);
  void sync(const sim::Sync&);

 private:
  using Object = std::pair<std::uint32_t, std::uint64_t>;  // CTA in the grid, offset
  // A warp.
  struct Track {
    sim::Cta* cta = nullptr;
    sim::Warp* warp = nullptr;
    double at = 0;                           // when it may issue next
    std::vector<double> ready{};             // by register
    std::vector<Stall> reason{};             // what makes a register late
    double loaded = 0, stored = 0;           // its tcgen05.ld and .st are done
    double load_free = 0;                    // its next tcgen05.ld may begin
    double begun = 0;                        // the latest of its instructions that ptxas moves had what it needs, and
    Stall begun_reason = Stall::arithmetic;  // what that waited for
    bool blocked = false;                    // since `at`, for
    std::optional<Stall> blocked_for{};      // nothing: an mbarrier
    std::string awaited{};                   // the mbarrier of its latest wait, and what completed the phase
    std::optional<Object> peeked{};          // the mbarrier of a wait that was answered no, and when it was issued
    double peeked_at = 0;
    Release release{};         // of its latest wait for an mbarrier
    bool is_on_path = true;    // the path knows of that wait
    bool in_group = false;     // it has issued wgmmas, and not committed them
    std::uint32_t number = 0;  // of the cluster's warps
    std::uint32_t turns = 0;
  };
  // An instruction that is about to be issued.
  struct Next {
    double at = 0;
    std::uint32_t operation = 0;
    sim::Mask lanes = 0;   // whose guard is true
    double operands = 0;   // when its operands are there
    double dependent = 0;  // until when the warp waits for that, and for what
    Stall reason = Stall::arithmetic;
    double unit = 0;  // when its unit takes it, and what made that late
    Stall unit_reason = Stall::fence;
  };
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
  // A load whose destination is not known yet.
  struct Load {
    double cycles = 0;              // of the copy engine
    double bytes = 0;               // that come to the SM
    double split = 0;               // the part of them in rows that lie in two lines
    double filled = 0;              // cycles in which L2 takes them from HBM instead of giving
    bool from_shared = false;       // of another CTA
    bool cold = false;              // from HBM
    std::optional<double> given{};  // of these bytes, the part that L2 gives, if that is known
  };
  struct Copy {
    double read = 0, done = 0;
  };

  Sm& sm(const sim::Cta& cta) { return sms_[cta.rank]; }
  Server& scheduler(const Track& t) { return sm(*t.cta).schedulers[t.warp->index % 4]; }
  WgmmaQueue& wgmma_queue_of(const Track& t) { return sm(*t.cta).wgmmas[t.warp->index % 4]; }
  sim::Cta& cta_of(std::uint32_t index);
  Cost cost(std::uint32_t operation) const { return operation < operations_ ? costs_[operation] : Cost{}; }

  Next next(Track&);
  Track* before(const Track&, const Next&);
  void issue(Track&, const Next&, const ir::Operation*& current);
  void charge(Track&, const Next&);
  std::optional<double> note_read(std::uint64_t address, double bytes);
  bool is_handed(std::uint64_t address) const;
  std::optional<double> given_by_l2(std::uint64_t address) const;
  void note_written(Sm&, std::uint64_t address, double bytes);
  void store_global(Track&);
  void note_arrival(const Track&, std::uint32_t operation);
  Release release_of(bool by_event) const;
  std::uint32_t number_of(std::uint32_t cta, std::uint32_t warp) const;
  void show(std::uint32_t cta, std::string lane, std::string what, double begin, double end);
  void show_wait(const Track&, const Next&, std::string_view what, double begin, double end);
  void settle(Track&, const Next&, const Cost&);
  void load(Track&, const Next&, double ready);
  void load_global(Track&, const Next&, const Cost&, double begins);
  void answer_peeks(Track&);
  void meet_mbarrier(Track&, const Next&, double since);
  void start_tmem_copy(Track&, double bytes);
  double shared_cycles(Sm&);
  void use_operands(Sm&, double bytes);
  void start_wgmma(Track&, const Next&);
  void leave_out_values(Track&, Does);
  bool concerns_itself(std::uint32_t operation) const;
  void run_on(Track&, double others, const ir::Operation*& current);
  void happen(Flight, const ir::Operation*& current);
  void take_events(const Flight* parent);
  Flight schedule(sim::Event, const Flight* parent);
  void share_clusters();

  sim::Cluster& cluster_;
  const Chip& chip_;
  const Surroundings around_;
  const std::uint64_t resident_;  // clusters at once
  const Share share_;             // of each SM that is busy
  const Costs costs_;
  const std::size_t operations_;
  Roles roles_;
  std::vector<Sm> sms_{};
  std::vector<Track> tracks_{};
  std::priority_queue<Flight, std::vector<Flight>, Later> flights_{};
  double now_ = 0;
  std::uint64_t flown_ = 0;

  // What the instruction that is being executed asks for.
  Track* issuer_ = nullptr;
  const Flight* cause_ = nullptr;  // the event that happens, if one does
  std::uint32_t issuing_ = 0;
  std::size_t multiplied_ = 0;
  std::deque<Copy> copies_{};
  std::optional<double> engine_end_{};  // of the multicast's first destination
  double hbm_end_ = 0;                  // when HBM has given its part of that
  std::optional<double> cold_{};        // of the copy that is issued: the part that HBM gives
  std::optional<Load> load_{};
  std::vector<Touch> touched_{};             // by its lanes
  std::vector<sim::Transfer> stored_{};      // boxes that they store
  std::unordered_set<std::uint64_t> own_{};  // blocks of global memory that this cluster has stored to
  std::optional<Object> observed_{};

  std::map<Object, Phase> phases_{};
  CriticalPath path_;
  std::vector<std::optional<double>> lets_begin_{};  // by CTA
  std::vector<Release> arrivals_{};                  // the latest at each CTA's barriers
  Release cluster_arrival_{};                        // and at the cluster's
  std::vector<double>
      tensor_since_{};  // by CTA: since when the tensor core had been busy when its latest MMA was issued
  std::vector<std::deque<double>> mma_done_{};                                          // by CTA
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<double>> wgmma_done_{};  // by CTA and warp
  ClusterTime time_{};
};

}  // namespace kiln::timing

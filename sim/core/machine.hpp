// The simulated machine: a grid of clusters, a cluster of CTAs, a CTA with its memories, barriers, units and warps.
//
// Clusters share global memory and nothing else, so they run one after the other, and side by side only where one waits
// for another; inside a cluster everything interleaves under one clock, one event queue and one generator.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "launch/contract.hpp"
#include "ptx/diag/diagnostic.hpp"
#include "ptx/isa/collector.hpp"
#include "ptx/num/gemm_kernel.hpp"
#include "ptx/rules/verdict.hpp"
#include "sim/core/address_map.hpp"
#include "sim/core/events.hpp"
#include "sim/core/fault.hpp"
#include "sim/core/global_memory.hpp"
#include "sim/core/mbarrier.hpp"
#include "sim/core/observer.hpp"
#include "sim/core/poison.hpp"
#include "sim/core/program.hpp"
#include "sim/core/racing_reads.hpp"
#include "sim/core/random.hpp"
#include "sim/core/run.hpp"
#include "sim/core/storage.hpp"
#include "sim/core/tensor_memory.hpp"
#include "sim/core/warp.hpp"
#include "sim/core/wgmma_queue.hpp"

namespace kiln::sim {

struct Cta;
struct Cluster;
class TensorChain;   // sim/tensor/chain.hpp
struct PoisonFlows;  // sim/ops/poison.cpp
namespace schedule {
class Schedule;    // sim/schedule/schedule.hpp
struct Recording;  // sim/schedule/recording.hpp
}  // namespace schedule

/// The other CTAs of the SM, which share the columns of tensor memory (sim/schedule/residents.hpp).
class SharedColumns {
 public:
  virtual ~SharedColumns() = default;
  /// Whether a CTA that asks for columns must wait although there may be some.
  virtual bool holds_back(const Cta&) const = 0;
  /// Something changed that threads of any of these CTAs may wait for.
  virtual void wake(WaitKind kind) = 0;
};

/// One launch while it runs.
struct Grid {
  const Program& program;
  GlobalMemory& memory;
  const launch::Launch& launch;
  const Options& options;
  diag::Sink& sink;
  Observer* observer = nullptr;
  bool steps = false;                      // the observer wants every instruction
  std::uint32_t number = 0;                // of the launch in the run
  std::vector<std::uint8_t> parameters{};  // the kernel's parameter block
  launch::Dim3 cluster_shape{};
  bool in_clusters = true;  // of one CTA too: then the kernel says so, since the contract does not
  Statistics statistics{};
  AsyncId last_async = 0;
  std::deque<std::uint32_t> waiting{};  // clusters that have not started, in the order in which they will
  std::uint64_t most_clusters = 1;      // that the chip has room for
  num::GemmKernel gemm{};
  schedule::Schedule* schedule = nullptr;    // decides instead of chance
  schedule::Recording* recording = nullptr;  // what was decided is written here
  SharedColumns* residents = nullptr;        // clusters that run side by side; null: one runs alone
  std::set<std::pair<const ir::Operation*, rules::Rule>> reported{};
  std::unordered_map<const ir::Operation*, std::vector<std::uint32_t>> touched{};  // registers, by offset in the file

  PoisonSources poison{};
  RacingReads* racing = nullptr;                // what these load is poison, to see what it reaches
  std::shared_ptr<PoisonFlows> poison_flows{};  // what instructions do with poison; null until a warp has some

  /// Reports that an instruction breaks a rule, and goes on; once per instruction and rule.
  void report(const ir::Operation* operation, rules::Rule rule, const std::string& got);
  void report(const ir::Operation* operation, const rules::Verdict& broken);
  /// Reports that poison decides something: `as` says what it is there, "an address". Once per instruction, and once
  /// per read.
  void report_poison(const ir::Operation* operation, PoisonSource source, std::string_view as);
};

/// Bulk copies of one thread between two commits.
struct BulkGroup {
  int reads_left = 0;   // sources not read yet
  int writes_left = 0;  // not complete
};

/// A thread's bulk async-groups: the open one and those committed.
struct BulkGroups {
  std::shared_ptr<BulkGroup> open{};
  std::deque<std::shared_ptr<BulkGroup>> committed{};

  /// Closes the open group, or an empty one, and forgets those at the front that are complete.
  void commit();
};

/// An arrival on an mbarrier that waits for cp.async copies.
struct CopyArrival {
  std::uint32_t address = 0;
  AsyncId id = 0;
  std::vector<std::shared_ptr<BulkGroup>> groups{};
};

/// One of the sixteen barriers of `bar` and `barrier`.
struct NamedBarrier {
  /// A warp of which some lanes have arrived: it counts whole once no other lane is left.
  struct Part {
    std::uint32_t warp = 0;  // index in the CTA
    Mask lanes = 0;          // that have arrived
  };
  std::uint32_t arrived = 0;   // threads
  std::uint32_t expected = 0;  // threads; 0: all of the CTA
  std::uint64_t generation = 0;
  bool all_threads = false;
  std::uint32_t population = 0;  // bar.red: threads with the predicate
  std::uint32_t result = 0;      // of the generation before
  std::vector<Part> parts{};

  /// Lanes of a warp arrive, of which `live` have not exited. The threads that they count for: where a thread count was
  /// given an H100 counts those that have exited with the rest of their warp (tests/gpu/partial_warps.cu).
  std::uint32_t arrive(std::uint32_t warp, Mask lanes, Mask live);
  /// Lanes of a warp have exited; `live` are left.
  void leave(std::uint32_t warp, Mask live);
};

/// One tcgen05 operation in its CTA's queue.
struct TensorOp {
  const ir::Operation* operation = nullptr;
  AsyncId id = 0;
  std::uint32_t thread = 0;
  std::function<void()> action{};
  std::uint64_t name = 0;  // of its event
};

/// The tensor core's queue: in order, one at a time. A commit waits for what its own thread issued before.
struct TensorQueue {
  struct Commit {
    std::uint64_t after = 0;  // sequence number of the last operation it tracks
    const ir::Operation* operation = nullptr;
    std::function<void()> action{};
    std::uint64_t name = 0;  // of its event
  };
  std::deque<TensorOp> waiting{};
  std::uint64_t issued = 0, completed = 0;
  bool busy = false;
  std::vector<std::uint64_t> last_of_thread{};  // sequence number, by thread
  std::vector<Commit> commits{};
  std::array<isa::CollectorState, isa::all_collector_buffers> collectors{};       // as issued
  std::array<std::vector<std::uint8_t>, isa::all_collector_buffers> collected{};  // as executed: elements since the fill
  std::shared_ptr<TensorChain> chain{};  // products whose sums may not be computed yet
};

struct Cta {
  Cta() = default;
  Cta(Cta&&) = default;  // never copied: warps own what is known of their registers
  Cta& operator=(Cta&&) = default;

  Cluster* cluster = nullptr;
  std::uint32_t rank = 0;   // in the cluster
  std::uint32_t index = 0;  // in the grid
  launch::Dim3 id{0, 0, 0};
  std::uint32_t threads = 0;
  std::uint64_t steps = 0;  // warp instructions
  Storage shared{};
  Storage local{};  // local_bytes per thread
  MbarrierTable mbarriers{};
  TensorMemory tmem{};
  bool tmem_touched = false;
  std::array<NamedBarrier, isa::named_barriers> barriers{};
  std::vector<BulkGroups> bulk{};    // cp.async.bulk, by thread
  std::vector<BulkGroups> copies{};  // cp.async, by thread
  std::vector<CopyArrival> copy_arrivals{};
  TensorQueue tensor{};
  std::vector<WgmmaQueue> wgmma{};  // by warp; empty until one is used
  std::vector<Warp> warps{};
  bool exited = false;

  std::uint32_t live_threads() const;
  void wake(WaitKind kind);
};

/// What asks for asynchronous operations: a warp or an event, and how many it has asked for.
struct Actor {
  std::uint64_t name = 0;
  std::uint64_t warp = 0;  // name of the warp that the actor is or works for
  std::uint64_t* asked = nullptr;
  const ir::Operation* operation = nullptr;  // of an event
};

struct Cluster {
  Grid& grid;
  std::uint32_t index = 0;
  launch::Dim3 id{0, 0, 0};
  Random random;
  std::uint64_t now = 0;
  std::uint64_t tick = 0;  // now, to the instruction; kept for observers of every instruction
  EventQueue events{};
  std::vector<Cta> ctas{};
  // barrier.cluster: threads that arrived in this generation
  std::uint32_t barrier_arrived = 0;
  std::uint64_t barrier_generation = 0;
  std::uint64_t stamp = 0;   // grows with everything that a waiting thread could notice
  std::uint64_t writes = 0;  // and with everything that a thread that polls memory could notice
  Actor actor{};             // the one that executes now
  bool beside = false;       // clusters that started before it are not over

  void wake(WaitKind kind);
  /// Something that a blocked thread of this kind may wait for has changed.
  void changed(WaitKind kind) { ++stamp, wake(kind); }
  /// Runs `action` a seeded while from now, at least `least` and less than `least + spread` ticks. `name` is that of
  /// the event; 0: the actor's next.
  void later(std::uint32_t least, std::uint32_t spread, const ir::Operation* operation, std::function<void()> action,
             std::uint64_t name = 0);
  /// A name for the actor's next request: the same in every schedule in which the actor makes it.
  std::uint64_t next_name();
  /// Grows when anything happens that a thread could be waiting for.
  std::uint64_t activity() const { return stamp + writes; }
};

/// Calls f(cta, warp, fragment) for every fragment of a cluster.
template <class C, class F>
void each_fragment(C& cluster, F f) {
  for (auto& cta : cluster.ctas)
    for (auto& w : cta.warps)
      for (int k = 0; k < w.fragment_count; ++k) f(cta, w, w.fragments[std::size_t(k)]);
}

/// What a handler may use: the thread group that executes, and the machine around it.
struct Context {
  std::byte* r = nullptr;  // the warp's registers
  Warp* warp = nullptr;
  Fragment* fragment = nullptr;
  Cta* cta = nullptr;
  Cluster* cluster = nullptr;
  Grid* grid = nullptr;

  template <class W>
  W* lanes(std::uint32_t offset) const {
    return reinterpret_cast<W*>(r + offset);
  }
  Mask& mask(std::uint32_t offset) const { return *lanes<Mask>(offset); }
  const Slot& slot(const Inst& i, unsigned k) const { return grid->program.slots[i.more + k]; }

  std::uint64_t read(Slot s, int lane) const;
  /// The same of a register of up to 128 bits: its low and its high word.
  std::array<std::uint64_t, 2> read_words(Slot s, int lane) const {
    return {read(s, lane), s.bytes == 16 ? lanes<std::uint64_t>(s.offset)[warp_lanes + lane] : 0};
  }
  void write(Slot s, int lane, std::uint64_t value) const;
  bool read_predicate(Slot s, int lane) const { return ((mask(s.offset) >> lane & 1) != 0) != s.negated; }
  Mask read_mask(Slot s) const { return s.negated ? ~mask(s.offset) : mask(s.offset); }
  /// The value of an instruction's k-th further operand.
  std::uint64_t value(const Inst& i, unsigned k, int lane) const { return read(slot(i, k), lane); }
  /// Writes a predicate register of these lanes.
  void write_mask(std::uint32_t offset, Mask lanes, Mask value) const {
    mask(offset) = (mask(offset) & ~lanes) | (value & lanes);
  }
  std::uint64_t address(const Inst& i, int lane) const;

  std::uint32_t thread(int lane) const { return warp->index * warp_lanes + std::uint32_t(lane); }
  Agent agent(Mask lanes) const { return {cta->index, warp->index, lanes}; }
  Status block(Wait wait) const {
    fragment->wait = wait;
    return Status::blocked;
  }
};

inline std::uint64_t Context::read(Slot s, int lane) const {
  if (s.bytes == 4) return lanes<std::uint32_t>(s.offset)[lane];
  if (s.bytes == 0) return mask(s.offset) >> lane & 1;
  return lanes<std::uint64_t>(s.offset)[lane];
}

inline void Context::write(Slot s, int lane, std::uint64_t value) const {
  if (s.bytes == 4)
    lanes<std::uint32_t>(s.offset)[lane] = std::uint32_t(value);
  else if (s.bytes == 0)
    mask(s.offset) = (mask(s.offset) & ~(1u << lane)) | std::uint32_t(value & 1) << lane;
  else
    lanes<std::uint64_t>(s.offset)[lane] = value;
}

inline std::uint64_t Context::address(const Inst& i, int lane) const {
  const std::uint64_t base = i.wide ? lanes<std::uint64_t>(i.a)[lane] : lanes<std::uint32_t>(i.a)[lane];
  return base + std::uint64_t(i.value);
}

/// Tells the observer, if there is one, about a synchronisation operation.
inline void observe(Context& c, const Inst& i, Mask lanes, const Sync& s) {
  if (c.grid->observer) c.grid->observer->sync(c.agent(lanes), i.operation, s);
}

/// The same about an object of the CTA. Sync says what object, value and by are.
inline void observe(Context& c, const Inst& i, Mask lanes, SyncKind kind, std::uint64_t object, std::uint64_t value = 0,
                    AsyncId by = 0) {
  observe(c, i, lanes, Sync{kind, c.cta->index, object, value, by});
}

/// Faults when a CTA mask names a CTA beyond the cluster.
void check_cta_mask(const Context& c, std::uint32_t mask);

/// A name for a warp: unique in a run, never 0. `cluster`: its number; the others are indices, in the grid and the CTA.
constexpr std::uint64_t warp_name(std::uint64_t cluster, std::uint32_t cta, std::uint32_t warp) {
  return (cluster << 48 | std::uint64_t(cta) << 8 | warp) + 1;
}
std::uint64_t warp_name(const Cta& cta, const Warp& warp);

}  // namespace kiln::sim

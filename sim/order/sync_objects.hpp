// The objects that hand knowledge from thread to thread: mbarriers, barriers of a CTA or cluster, flags in memory.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "sim/order/access.hpp"
#include "sim/order/agents.hpp"
#include "sim/order/reports.hpp"

namespace kiln::sim {

class Mbarriers {
 public:
  Mbarriers(Agents& agents, Records& records, Reports& reports)
      : agents_(agents), records_(records), reports_(reports) {}

  void start() {
    barriers_.clear();
    from_ = ~std::uint64_t{0}, to_ = 0;
  }
  /// A write of shared memory: no mbarrier may live there. What uses that mbarrier later finds it overwritten; without
  /// such a use the bytes are memory like any other (measured, tests/gpu/mbarrier_memory.cu).
  void written(const Agent& a, const ir::Operation& op, const Range& range) {
    if (range.address < to_ && range.address + range.bytes > from_) check_given_back(a, op, range);
  }
  /// `payload`: what the arrival of an asynchronous operation releases, if anything.
  void sync(const Agent&, const ir::Operation*, const Sync&, const Message* payload);
  /// Checks that the initialisation is known to a thread that uses the mbarrier, and published for an asynchronous use.
  void check_init(const Agent&, const ir::Operation&, const Sync&, bool is_async);

 private:
  // What has been released into the phases of an mbarrier.
  struct Barrier {
    std::uint64_t phase = 0;  // phases complete
    Message pending{};        // of the phase that is open, and all before
    Message complete{};       // of the last complete phase
    std::uint64_t complete_name = 0;
    History near{}, complete_near{};  // of both, what a wait at CTA scope acquires
    bool is_far = false;              // threads of other CTAs arrive
    const ir::Operation* init = nullptr;
    Agent initialiser{};
    Stamp init_at{};  // of the first lane
  };
  void arrive(const Agent&, const ir::Operation&, const Sync&, Barrier&);
  void observe(const Agent&, const ir::Operation&, const Barrier&);
  void check_given_back(const Agent&, const ir::Operation&, const Range&);

  Agents& agents_;
  Records& records_;
  Reports& reports_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, Barrier> barriers_;  // by CTA and shared offset
  std::uint64_t from_ = ~std::uint64_t{0}, to_ = 0;                      // shared offsets between which all lie
  std::uint64_t phases_ = 0;                                             // complete so far, of all mbarriers
};

/// Barriers of CTAs, and that of the cluster.
class Barriers {
 public:
  Barriers(Agents& agents, Reports& reports) : agents_(agents), reports_(reports) {}

  void start() { barriers_.clear(), departed_.clear(); }
  void sync(const Agent&, const ir::Operation*, const Sync&);
  /// Threads exit. A barrier of all threads ends without those that have exited, so what they did comes before its end
  /// in each use in which they have not arrived. PTX ISA "exit"; on an H100 stored words too
  /// (tests/gpu/relaxed_barrier.cu).
  void exit(const Agent&);

 private:
  // Threads of a warp that have arrived.
  struct Arrival {
    Agent agent{};
    Stamp at{};
    const ir::Operation* operation = nullptr;
  };
  struct Generation {
    Message released{};
    std::vector<Arrival> arrivals{};  // of a CTA's barriers
    int waiting = 0;                  // threads that have arrived and will leave
    bool awaits_all = false;          // it has no thread count
    std::vector<Mask> came{};         // lanes that have arrived, by warp of the cluster; of a use that awaits all
  };
  using Generations = std::map<std::uint64_t, Generation>;
  void arrive(const Agent&, const ir::Operation&, const Sync&, Generations&);
  void check_overrun(const Agent&, const ir::Operation&, const Sync&, const Generations&);

  Agents& agents_;
  Reports& reports_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, Generations> barriers_;  // by CTA + 1, or 0, and number
  std::map<std::uint32_t, Message> departed_;                                // by threads that have exited, by the same
};

/// What strong writes released at each place, until a weak write; a read that sees one may acquire it.
class Flags {
 public:
  void start_launch() { flags_.clear(); }
  /// `knowledge`: of the warp that makes the access.
  void access(WarpKnowledge& knowledge, const Agent&, const Access&, const Range&, AccessKind);

 private:
  // By the threads of one CTA, to those of their cluster.
  struct Flag {
    std::uint32_t cta = 0, cluster = 0;
    std::array<Message, std::size_t(Reach::grid)> released{};
  };
  struct Word {
    std::vector<Flag> near{};
    Message far{};  // by all whose scope is the grid, to other clusters
    bool is_far = false;
  };
  std::map<std::pair<std::uint32_t, std::uint64_t>, Word> flags_;  // by owner + 1 or 0, and address
};

}  // namespace kiln::sim

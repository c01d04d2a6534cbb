// The happens-before detector: judges every access when it is issued, against the last accesses to the same bytes and
// what the issuing thread knows. A verdict therefore depends on the order of synchronisation alone, never on when an
// asynchronous operation happens to run. README.md has the model.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <set>
#include <tuple>
#include <unordered_map>

#include "ptx/diag/diagnostic.hpp"
#include "ptx/flow/definitions.hpp"
#include "sim/core/observer.hpp"
#include "sim/order/judge.hpp"
#include "sim/order/streams.hpp"

namespace kiln::sim {

struct Grid;

/// What a detector holds in memory, for who wants to know what it costs.
struct ShadowSize {
  std::size_t shared_bytes = 0, tensor_bytes = 0, global_bytes = 0;
};

class RaceDetector final : public Observer {
 public:
  void start(Cluster&, std::uint32_t launch) override;
  void issue(AsyncId, const Agent&, const ir::Operation&) override;
  void execute(const Agent&, const ir::Operation&) override;
  void access(const Agent&, const ir::Operation&, const Range&, AccessKind, Proxy, AsyncId) override;
  void sync(const Agent&, const ir::Operation*, const Sync&) override;

  ShadowSize shadow_size() const;

 private:
  // An mbarrier: what has been released into its phases.
  struct Barrier {
    std::uint64_t phase = 0;  // phases complete
    Message pending{};        // of the phase that is open, and all before
    Message complete{};       // of the last complete phase
    std::uint64_t complete_name = 0;
    Access init{};
    Mask init_lanes = 0;
  };
  // What a finding says beyond its rule.
  struct Found {
    std::string got{};
    std::vector<diag::Note> notes{};
  };
  // Threads of a warp that have come to a barrier.
  struct Arrival {
    std::uint32_t warp = 0;
    Mask lanes = 0;
    Stamp at{};
    const ir::Operation* operation = nullptr;
  };
  struct Generation {
    Message released{};
    std::vector<Arrival> arrivals{};  // of a CTA's barriers
    int waiting = 0;                  // threads that have arrived and will leave
  };
  // One of a CTA's or the cluster's barriers.
  using Generations = std::map<std::uint64_t, Generation>;
  // What strong writes of one CTA to one place released.
  struct Flag {
    std::uint32_t cta = 0, cluster = 0;
    ByReach released{};
  };
  // Who works on a CTA's memory without being one of its threads: other CTAs, and asynchronous operations.
  struct Use {
    Stamp done{};
    AccessId access = 0;
    AsyncId async = 0;  // whose completion is not known yet; else 0
  };
  struct Uses {
    std::map<Component, Use> latest{};
    std::vector<Use> open{};
  };
  struct WarpState {
    WarpKnowledge knowledge{};
    AccessId last = 0;            // the warp's latest record
    Epoch loads = 0, stores = 0;  // tcgen05.ld and st issued
    Epoch wgmma = 0;              // wgmma groups committed
    struct PendingLoad {
      Epoch number = 0;
      const ir::Operation* operation = nullptr;
      std::vector<ir::RegisterId> registers{};
    };
    std::vector<PendingLoad> pending{};
  };
  // A fence.proxy.tensormap acquire: when it was, and what it made current.
  struct MapAcquire {
    Stamp at{0, 0};
    Clock released{};
  };
  struct CtaState {
    std::uint32_t index = 0;
    std::vector<WarpState> warps{};
    Shadow shared{}, tensor{};
    std::map<std::uint32_t, Barrier> barriers{};
    std::map<std::uint64_t, Generations> named{};
    std::vector<MapAcquire> map_acquires{};
    Uses uses{};
    std::uint32_t frees = 0;  // tcgen05.dealloc executed
    bool exited = false;
  };
  // What a thread's asynchronous operations have come to.
  struct ThreadState {
    Epoch tensor = 0;                  // tcgen05 operations issued
    Message tensor_issue{};            // known when the last of them was
    std::uint64_t tensor_version = 0;  // of the warp's knowledge then
    Epoch bulk = 0;                    // bulk groups committed
    Epoch copies = 0;                  // batches of cp.async that a commit or an arrival on an mbarrier has closed
    std::vector<Epoch> copy_groups{};  // committed: the last batch of each
  };

  // The last cells that were judged, before and after, and what the verdicts rest on. Holds the lists of both. Several:
  // the lines of a tile have been read by as many instructions as they have slices, turned around by the swizzle.
  struct Memo {
    using Key = std::tuple<std::uint64_t, AccessId, Mask, AccessKind, isa::Space, std::uint64_t, std::uint64_t>;
    struct Judged {
      TouchLists* lists = nullptr;  // null: no cell
      std::uint16_t bytes = 0;
      Cell before{}, after{};
    };
    Key key{};
    std::array<Judged, 4> judged{};
    std::size_t next = 0;

    void forget();
    void forget(Judged&);
  };

  // Global memory that the grid before a programmatic dependent launch touches.
  struct PriorRange {
    std::uint64_t address = 0, bytes = 0;
    bool writes = false;
  };

  // prior_grid.cpp
  void begin_launch(const Grid&);
  std::vector<PriorRange> touched() const;
  void remember_prior_grid(Shadow&, std::uint64_t page) const;
  void wait_for_prior_grid(const Agent&);

  // detector.cpp
  CtaState& cta(std::uint32_t index);
  std::uint32_t rank(const CtaState& c) const { return std::uint32_t(&c - ctas_.data()); }
  WarpState& warp(const Agent& a) { return cta(a.cta).warps[a.warp]; }
  ThreadState& thread(const Agent& a);
  std::uint32_t thread_number(const Agent& a) const;
  Completion& completion(AsyncId id);
  Completion completion_of(const Access& x) const {
    return x.async && x.completion.is_open() && x.async >= first_async_ ? completions_[x.async - first_async_]
                                                                        : x.completion;
  }
  void keep_completions();
  AccessId record(const Agent&, const ir::Operation&, const Range&, AccessKind, Proxy, AsyncId);
  void start_warp_operation(const Agent&, Access&);
  template <class F>
  void each_access(F f);
  void forget_accesses();
  void follow_flag(const Agent&, const ir::Operation&, const Range&, AccessKind);
  void use_remote(const Agent&, CtaState& owner, const ir::Operation&);
  void note_use(const Agent&, CtaState& owner, AccessId, AsyncId, bool reads);

  // detector_cells.cpp
  class Sweep;
  void recall(AccessId, const Agent&, const Range&, AccessKind);
  static constexpr std::uint64_t page_bytes = 4096;
  void touch_bytes(const Agent&, AccessId, const Range&, AccessKind);
  void touch_tensor(const Agent&, AccessId, const Range&, AccessKind);
  Shadow& page(std::uint64_t number);

  // detector_sync.cpp
  void sync_mbarrier(const Agent&, const ir::Operation*, const Sync&);
  void arrive(const Agent&, const ir::Operation&, const Sync&, Barrier&);
  void complete_tx(const Agent&, const ir::Operation&, const Sync&, Barrier&);
  void arrive_async(const Sync&, Barrier&);
  void check_overrun(const Agent&, const ir::Operation&, const Sync&, const Generations&);
  void check_init(const Agent&, const ir::Operation&, const Sync&, const Barrier&, bool is_async);
  void sync_barrier(const Agent&, const ir::Operation*, const Sync&);
  void sync_async(const Agent&, const ir::Operation&, const Sync&);
  void sync_tensor(const Agent&, const ir::Operation&, const Sync&);
  void fence(const Agent&, const ir::Operation&);
  void fence_proxy(const Agent&, const ir::Operation&);
  void learn_map_acquires(const Agent&);
  void commit(const Agent&, const ir::Operation&, const Sync&);
  CtaState* peer(const Agent&, const ir::Operation&);  // of a cta_group::2 instruction, else null
  void dealloc(const Agent&, const ir::Operation&, const Sync&);
  void leave(CtaState&);

  // detector_report.cpp
  void report(rules::Rule, const Earlier&, const Later&, const Range&);
  // `describe` puts words together, and is asked once for each rule and instruction that breaks it.
  template <class Describe>
  void report(const rules::Verdict& v, const Agent& a, const ir::Operation& op, Describe describe) {
    report_once(v, &op, a, op, describe);
  }
  // Once for each rule and `cause`.
  template <class Describe>
  void report_once(const rules::Verdict& v, const ir::Operation* cause, const Agent& a, const ir::Operation& op,
                   Describe describe) {
    if (v.broken() && reported_.insert({v.rule, cause, nullptr}).second) publish(v.rule, a, op, describe());
  }
  void publish(rules::Rule, const Agent&, const ir::Operation&, Found);
  std::string where(const Range&) const;
  std::string missing(rules::Rule, const Earlier&, const Later&) const;

  Cluster* cluster_ = nullptr;
  std::uint32_t cluster_number_ = 0, launch_ = ~0u;
  std::uint32_t threads_ = 0;  // components of one CTA
  Streams streams_;
  std::vector<CtaState> ctas_;
  std::unordered_map<std::uint32_t, std::uint32_t> slot_of_;  // CTA index in the grid -> rank
  std::vector<ThreadState> thread_states_;
  std::vector<Access> accesses_{{}};
  std::size_t most_accesses_ = std::size_t{1} << 20;  // before those that nobody remembers are dropped
  AsyncId first_async_ = 1;
  std::vector<Completion> completions_;            // of the cluster's announced operations
  std::unordered_map<AsyncId, Message> payloads_;  // what an arrival that is on its way releases
  Generations cluster_barrier_;
  std::shared_ptr<TouchLists> page_lists_ = std::make_shared<TouchLists>();
  std::unordered_map<std::uint64_t, std::unique_ptr<Shadow>> pages_;  // global memory
  std::uint64_t phases_ = 0;                                          // complete so far, of all mbarriers
  std::uint64_t events_ = 1;  // counts what may change a verdict: everything but plain accesses
  Memo memo_{};
  std::vector<PriorRange> prior_{};
  AccessId prior_access_ = 0;
  std::size_t last_cta_ = 0;
  std::tuple<AccessId, std::uint32_t, bool> last_use_{};
  std::uint64_t last_page_ = 0;
  Shadow* last_shadow_ = nullptr;
  std::map<std::tuple<std::uint32_t, std::uint64_t>, std::vector<Flag>> flags_;  // by owner + 1 or 0, and address
  std::unique_ptr<flow::Definitions> definitions_;
  const ir::Code* code_ = nullptr;
  std::set<std::tuple<rules::Rule, const ir::Operation*, const ir::Operation*>> reported_;
};

}  // namespace kiln::sim

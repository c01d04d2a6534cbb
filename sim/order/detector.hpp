// The happens-before detector: judges every access when it is issued, against the last accesses to the same bytes and
// what the issuing thread knows. A verdict therefore depends on the order of synchronisation alone, never on when an
// asynchronous operation happens to run. README.md has the model.
#pragma once

#include <map>
#include <memory>

#include "sim/order/async_work.hpp"
#include "sim/order/grids.hpp"
#include "sim/order/lifetimes.hpp"
#include "sim/order/memory.hpp"
#include "sim/order/sync_objects.hpp"

namespace kiln::sim {

class RaceDetector final : public Observer {
 public:
  /// Takes no notice of loads that are `left_out`.
  explicit RaceDetector(const RacingReads* left_out = nullptr) : left_out_(left_out) {}

  void start(Cluster&, std::uint32_t launch) override;
  void enter(Cluster&) override;
  void issue(AsyncId, const Agent&, const ir::Operation&) override;
  void execute(const Agent&, const ir::Operation&) override;
  void access(const Agent&, const ir::Operation&, const Range&, AccessKind, Proxy, AsyncId) override;
  void sync(const Agent&, const ir::Operation*, const Sync&) override;

  ReadRaces& read_races() { return reports_.read_races(); }
  /// The size of its shadows of shared and tensor memory.
  std::size_t shadow_bytes() const;

 private:
  // What is known in one cluster; those that run side by side have one each.
  struct OfCluster {
    explicit OfCluster(RaceDetector& d)
        : reports(d.reports_), records(d.records_), lists(d.lists_), global(d.global_) {}

    Reports& reports;
    Records& records;
    TouchLists& lists;
    GlobalShadow& global;
    const Cluster* cluster = nullptr;
    std::uint32_t number = 0;              // in the records
    std::uint32_t launch = ~0u;            // in which it was used last
    std::vector<AccessId> last_records{};  // by warp
    Agents agents{};
    AsyncWork async{agents, reports};
    Memory memory{agents, records, reports, lists, global};
    Mbarriers mbarriers{agents, records, reports};
    Barriers barriers{agents, reports};
    Lifetimes lifetimes{agents, records, reports};
  };
  bool is_left_out(const Agent&, const ir::Operation&) const;
  void drop_unused_records();
  AccessId record(const Agent&, const ir::Operation&, const Range&, AccessKind, Proxy, AsyncId);
  void arrive_remotely(const Agent&, const ir::Operation&, std::uint32_t cta);
  void commit(const Agent&, const ir::Operation&, const Sync&);

  const RacingReads* left_out_;
  std::uint32_t launch_ = ~0u;
  Records records_;
  Reports reports_;
  Flags flags_;
  TouchLists lists_;
  GlobalShadow global_{lists_};
  GridChain grids_;
  std::map<const Cluster*, std::unique_ptr<OfCluster>> clusters_;
  OfCluster* now_ = nullptr;  // that of the cluster that runs
};

}  // namespace kiln::sim

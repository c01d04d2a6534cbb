// Asynchronous operations that complete in the order in which a thread or warp issues them: how many there were, and
// which of them are known to be done.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "ptx/flow/definitions.hpp"
#include "sim/order/agents.hpp"
#include "sim/order/reports.hpp"

namespace kiln::sim {

class AsyncWork {
 public:
  AsyncWork(Agents& agents, Reports& reports) : agents_(agents), reports_(reports) {}

  void start(const ir::Code&, bool is_new_launch);
  /// An announced operation enters flight. Returns its completion, open where an mbarrier will tell it.
  Completion issue(const Agent&, const ir::Operation&);
  /// The same for a tcgen05.ld or st, which has no number.
  Completion issue_transfer(const Agent&, const ir::Operation&);
  /// Lanes execute an operation: a tcgen05.ld counts as complete once every register of it was used.
  void execute(const Agent&, const ir::Operation&);
  /// Lanes do something themselves: it comes after the tcgen05 operations that their warp has issued, whose commit does
  /// not release it.
  void end_issue(const Agent& a) {
    if (Warp& w = warp(a); w.has_issued) w.has_issued = false, agents_[a].advance();
  }
  /// Commits of groups, waits for them, tcgen05.commit.
  void sync(const Agent&, const Sync&);
  /// What an arrival on an mbarrier will release that follows operations; null if it follows none.
  const Message* payload(AsyncId id) const {
    const auto found = payloads_.find(id);
    return found == payloads_.end() ? nullptr : &found->second;
  }

 private:
  struct Thread {
    Epoch tensor = 0;                  // tcgen05 operations issued
    Message tensor_issue{};            // known when the last of them was
    std::uint64_t tensor_version = 0;  // of the warp's knowledge then
    Epoch bulk = 0;                    // bulk groups committed
    Epoch copies = 0;                  // batches of cp.async that a commit or an arrival on an mbarrier has closed
    std::vector<Epoch> copy_groups{};  // committed: the last batch of each
  };
  struct PendingLoad {
    Epoch number = 0;
    const ir::Operation* operation = nullptr;
    std::vector<ir::RegisterId> registers{};
  };
  struct Warp {
    Epoch loads = 0, stores = 0;  // tcgen05.ld and st issued
    Epoch wgmma = 0;              // wgmma groups committed
    bool has_issued = false;      // a tcgen05 operation since the last access of its own
    std::vector<PendingLoad> pending{};
  };
  Thread& thread(const Agent& a) { return threads_[agents_.warp(a) * warp_lanes + std::size_t(first_lane(a.lanes))]; }
  Warp& warp(const Agent& a) { return warps_[agents_.warp(a)]; }
  void learn(const Agent& a, StreamKind kind, std::size_t done) {
    agents_[a].learn(a.lanes, {agents_.stream(kind, a), Epoch(done)});
  }
  void sync_thread(const Agent&, const Sync&);

  Agents& agents_;
  Reports& reports_;
  const ir::Code* code_ = nullptr;
  std::unique_ptr<flow::Definitions> definitions_;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  std::unordered_map<AsyncId, Message> payloads_;
};

}  // namespace kiln::sim

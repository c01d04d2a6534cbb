// The order of synchronisation operations as a run shows it: which transition touched which object, and a number that
// two runs share when every object saw the same operations in the same order.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "sim/core/machine.hpp"

namespace kiln::sim::schedule {

/// A synchronisation operation on an object.
struct Touch {
  enum class Kind : std::uint8_t {
    read,    // in any order with other reads
    write,   // in no other order with anything
    update,  // of a phase of an mbarrier or barrier: in any order with other updates of the phase
    signal,  // of a lasting event: its order does not matter, but what awaits it comes later
    await
  };
  std::uint64_t object = 0;
  Kind kind = Kind::read;
  std::uint64_t phase = 0;
  std::uint64_t warp = 0;  // name of the warp that does it; 0: an asynchronous operation does
  bool flips = false;      // update: completes the phase
};

/// What counts as independent.
enum class Grain : std::uint8_t {
  coarse,  // operations on different objects, and two that only read
  fine     // and two that arrive in the same phase
};

/// The object that an mbarrier is, by the index of its CTA and its address.
std::uint64_t mbarrier_object(std::uint32_t cta, std::uint64_t address);

/// True when the order of two operations on one object matters.
bool dependent(const Touch& a, const Touch& b);

/// Watches a run.
class SyncTrace final : public Observer {
 public:
  void start(Cluster& cluster, std::uint32_t launch) override;
  void enter(Cluster& cluster) override { cluster_ = &cluster; }
  void issue(AsyncId id, const Agent& a, const ir::Operation& op) override;
  void complete(AsyncId id) override;
  void access(const Agent& a, const ir::Operation& op, const Range& r, AccessKind k, Proxy p, AsyncId id) override;
  void sync(const Agent& a, const ir::Operation* op, const Sync& s) override;

  /// The same for two runs whose objects saw the same operations in the same order.
  std::uint64_t hash() const { return hash_; }
  /// What was touched since the last call.
  std::vector<Touch> take() { return std::exchange(touches_, {}); }
  /// Keeps touches for take(); else only the number is made.
  void keep(Grain grain) {
    keeps_ = true;
    grain_ = grain;
  }

 private:
  void touch(Touch t, std::uint64_t tag);
  std::uint64_t warp_of(const Agent& a) const;
  void barrier(const ir::Operation* op, const Sync& s, std::uint64_t warp);
  void mbarrier(const Agent& a, const ir::Operation* op, const Sync& s);
  std::uint64_t phase_of(const Sync& s) const;

  Cluster* cluster_ = nullptr;
  std::uint64_t hash_ = 0;
  bool keeps_ = false;
  Grain grain_ = Grain::fine;
  std::vector<Touch> touches_{};
  std::unordered_map<std::uint64_t, std::uint64_t> versions_{};  // writes so far, by object
  struct InFlight {
    std::uint64_t warp = 0;
    std::vector<Range> writes{};  // small ones: a thread may poll for them
  };
  std::unordered_map<AsyncId, InFlight> in_flight_{};
  std::unordered_set<std::uint64_t> polled_{};  // words that a strong access reads
};

}  // namespace kiln::sim::schedule

// The resources of one streaming multiprocessor, each a server that does one thing after the other. Times are SM cycles
// since the cluster's start.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <set>
#include <unordered_set>

#include "timing/chip.hpp"
#include "timing/l1_cache.hpp"
#include "timing/wavefronts.hpp"

namespace kiln::timing {

/// Serves requests one after the other, and remembers for how long it was busy.
class Server {
 public:
  /// A request that comes at `at` and takes `cycles`; returns when it begins.
  double begin(double at, double cycles) {
    const double start = at > free_ ? at : free_;
    free_ = start + cycles;
    busy_ += cycles;
    return start;
  }
  /// The same; returns when it ends.
  double end(double at, double cycles) { return begin(at, cycles) + cycles; }
  /// Nothing begins before `until`, though nothing is served.
  void hold(double until) { free_ = std::max(free_, until); }
  double free() const { return free_; }
  double busy() const { return busy_; }

 private:
  double free_ = 0, busy_ = 0;
};

/// Of the time, the part that a unit is busy, over the last while.
class RecentUse {
 public:
  /// `busy`: cycles that the unit has been, or will be with what it was given until `now`.
  double until(double now, double busy) {
    if (now - since_ < a_while) return use_;
    use_ = (busy - busy_) / (now - since_);
    since_ = now, busy_ = busy;
    return use_;
  }

 private:
  static constexpr double a_while = 4096;  // cycles
  double since_ = 0, busy_ = 0, use_ = 0;
};

/// The tensor core of tcgen05.mma. It executes MMAs in order, and a short queue holds those that wait for it.
class TensorPipe {
 public:
  explicit TensorPipe(const Chip& chip) : depth_(std::size_t(chip[FactId::mma_queue])) {}

  /// When the queue has room again for what is issued at `at` or later.
  double room(double at) const { return starts_.size() < depth_ || starts_.front() < at ? at : starts_.front(); }
  /// An MMA that comes at `at` and may not start before `least`; returns when it starts.
  double begin(double at, double least, const MmaTime&);
  /// The pipe is taken until `until`: by the other CTA of a pair, or by a copy.
  void block(double until, double busy);
  double free() const { return free_; }
  double busy() const { return busy_; }
  /// When the stretch began in which it has been busy without a break.
  double busy_since() const { return busy_since_; }

 private:
  std::size_t depth_;
  std::deque<double> starts_{};  // of the latest MMAs, as many as the queue holds
  double free_ = 0, busy_ = 0, busy_since_ = 0;
  bool refilled_ = false;  // since the pipe was last empty
};

/// wgmmas that the first warps of warpgroups have issued and that have not ended. Such a warp waits while there are too
/// many. The other three do not wait: in a profile they issue eight in 150 cycles beside a first warp that takes 800.
class WgmmaQueue {
 public:
  explicit WgmmaQueue(const Chip& chip) : most_(std::size_t(chip[FactId::wgmma_queue])) {}

  /// When a warp may issue another, at `at` or later.
  double room(double at) const { return ends_.size() < most_ ? at : std::max(at, ends_.front()); }
  void add(double end);

 private:
  std::size_t most_;
  std::deque<double> ends_{};  // of the latest, as many as there may be
};

/// What CTAs of one SM share.
struct Sm {
  /// `shared`: bytes of shared memory that its CTA has.
  Sm(const Chip& chip, std::uint64_t shared)
      : l1(std::uint64_t(chip[FactId::l1_and_shared]) - std::min(std::uint64_t(chip[FactId::l1_and_shared]), shared)),
        store_room(chip.core == TensorCore::wgmma ? chip[FactId::store_queue]
                                                  : std::max(0.0, chip[FactId::l1_and_shared] - double(shared))),
        wgmmas(chip),
        tensor(chip) {}

  /// wgmma reads its operands through the port that loads and stores use; tcgen05.mma has one of its own. Copies are
  /// not slowed on either chip, and do not slow.
  void use_operands(const Chip& chip, double at, double bytes) {
    if (chip.core == TensorCore::wgmma) operands.end(at, bytes / chip[FactId::shared_rate]);
  }

  std::array<Server, 4> schedulers{};
  std::array<Server, 4> special_units{};  // of each
  std::array<Server, 4> product_units{};  // the same: what mma.sync uses of the tensor core
  std::array<Server, 4> tmem_ports{};     // of the four quarters
  Server wgmma_core{};                    // all parts of it, which a warpgroup's warps use together
  L1Cache l1;
  double store_room = 0;  // of stores on their way, while their warps go on: how many, or bytes of sectors
  WgmmaQueue wgmmas;
  RecentUse wgmma_use{};
  Server shared_port{};
  Server operands{};                               // of wgmma, and copies beside them, out of and into shared memory
  Server lines{};                                  // of global memory, as loads touch them
  Server sent{};                                   // stores, as the SM sends them
  Server written{};                                // and as its share of what L2 takes
  Server hbm{};                                    // the SM's share of it
  std::unordered_set<std::uint64_t> hbm_blocks{};  // that loads have asked of it
  Server copies{};                                 // the copy engine: rows of boxes
  Server stores{};
  Server ingest{};  // from L2, as its share of that
  Server port{};    // and as it takes what comes
  TensorPipe tensor;
  std::set<std::uint64_t> maps{};  // tensors whose maps have been fetched
  bool fetches_maps = false;       // the kernel does so itself

  /// When L2 has all that was stored.
  double stored() const { return std::max(sent.free(), written.free()); }
};

}  // namespace kiln::timing

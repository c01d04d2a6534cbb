// What touched memory: one record for each executed instruction and warp, or for each asynchronous operation.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "ptx/ir/code.hpp"
#include "ptx/order/reach.hpp"
#include "sim/core/observer.hpp"
#include "sim/order/clock.hpp"

namespace kiln::sim {

using order::acquires;
using order::Reach;
using order::releases;

/// How an asynchronous operation is known to be done. An epoch of `never` is not known yet.
struct Completion {
  static constexpr Epoch never = ~Epoch{0};
  Stamp done{0, never};
  Stamp read{0, never};  // when its sources have been read; operations that tell it apart

  bool is_open() const { return done.epoch == never; }
};

/// The number that stands for the grid before a programmatic dependent launch; clusters have higher ones. It is one
/// agent, and has one event: its end.
inline constexpr std::uint32_t prior_cluster = 0;
inline constexpr Stamp end_of_prior_grid{0, 1};

/// Index of an Access; 0 is none.
using AccessId = std::uint32_t;

struct Access {
  static constexpr std::uint64_t no_source = ~std::uint64_t{0};
  const ir::Operation* operation = nullptr;
  std::uint32_t cluster = 0;  // number in the run
  std::uint32_t cta = 0;      // index in the grid
  std::uint32_t warp = 0;     // index in the CTA
  Component component = 0;    // of lane 0 of the warp
  Epoch epoch = 0;            // of the warp at issue
  std::uint64_t tick =
      0;  // of the cluster, when it was executed; 0 for plain reads: lanes with the same one did it together
  AsyncId async = 0;                 // number of an announced operation; 0 for others
  bool is_async = false;             // its end has to be known; tcgen05.ld and st have no number
  Completion completion{};           // open while only its number tells: see Records::completion_of
  std::uint64_t accumulator = 0;     // tcgen05.mma: names D's address, extent and kind
  std::uint64_t source = no_source;  // shared address that an asynchronous copy reads
  Proxy proxy = Proxy::generic;
  bool strong = false;        // relaxed, volatile or stronger, or atomic
  Reach reach = Reach::grid;  // of a strong access: how far its scope reaches

  bool is_same_thread_as(const Access& o) const { return cluster == o.cluster && component == o.component; }
};

/// How far a scope must reach to include a thread of the other CTA.
constexpr Reach distance(std::uint32_t cluster, std::uint32_t cta, std::uint32_t other_cluster, std::uint32_t other) {
  return cluster != other_cluster ? Reach::grid : cta != other ? Reach::cluster : Reach::cta;
}

/// Whether two accesses are morally strong, so that they do not race: each is strong and its scope includes the other.
/// PTX ISA "Morally Strong Operations".
inline bool are_morally_strong(const Access& a, const Access& b) {
  if (!a.strong || !b.strong) return false;
  const Reach far = distance(a.cluster, a.cta, b.cluster, b.cta);
  return far <= a.reach && far <= b.reach;
}

/// Whether everything that is morally strong with `b` is so with `a` too.
inline bool is_as_strong_as(const Access& a, const Access& b) {
  return !b.strong || (a.strong && a.reach >= b.reach && a.cluster == b.cluster && a.cta == b.cta);
}

/// The records of a run. Numbers of operations mean something within clusters that run side by side only.
class Records {
 public:
  /// The next cluster begins, `beside` those before it or after their end; `first` is the number of its first
  /// asynchronous operation.
  void start(AsyncId first, bool beside) {
    cluster_ = ++clusters_;
    if (beside) return;
    for (auto x = accesses_.rbegin(); x != accesses_.rend() && x->cluster >= first_cluster_; ++x)
      x->completion = completion_of(*x);
    first_cluster_ = cluster_;
    first_async_ = first;
    completions_.clear();
  }
  /// A cluster goes on that began before.
  void enter(std::uint32_t cluster) { cluster_ = cluster; }
  /// The number of the cluster that runs.
  std::uint32_t cluster() const { return cluster_; }

  Access& operator[](AccessId id) { return accesses_[id]; }
  const Access& operator[](AccessId id) const { return accesses_[id]; }
  AccessId add(const Access& x) {
    accesses_.push_back(x);
    return AccessId(accesses_.size() - 1);
  }
  /// There are so many that unused ones should be dropped.
  bool is_full() const { return accesses_.size() >= most_; }
  /// Keeps the records that are still referred to, in their order. `each(f)` calls f(AccessId&) for every reference.
  template <class Each>
  void drop_unused(Each each) {
    std::vector<AccessId> place(accesses_.size());
    each([&](AccessId& id) { place[id] = 1; });
    place[0] = 0;
    AccessId next = 1;
    for (AccessId id = 1; id < place.size(); ++id) {
      if (!place[id]) continue;
      accesses_[next] = accesses_[id];
      place[id] = next++;
    }
    accesses_.resize(next);
    each([&](AccessId& id) { id = place[id]; });
    most_ = std::max(most_, 2 * accesses_.size());
  }

  /// The completion of an announced operation of this cluster or one beside it.
  Completion& completion(AsyncId id) {
    if (id - first_async_ >= completions_.size()) completions_.resize(id - first_async_ + 1);
    return completions_[id - first_async_];
  }
  /// The completion of an access, as far as it is known by now.
  Completion completion_of(const Access& x) const {
    return x.async && x.completion.is_open() && x.async >= first_async_ ? completions_[x.async - first_async_]
                                                                        : x.completion;
  }

 private:
  std::vector<Access> accesses_{{}};
  std::size_t most_ = std::size_t{1} << 20;
  std::vector<Completion> completions_;
  AsyncId first_async_ = 1;
  std::uint32_t cluster_ = 0, clusters_ = 0;
  std::uint32_t first_cluster_ = 1;  // of those that run side by side
};

}  // namespace kiln::sim

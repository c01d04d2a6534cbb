// The records of accesses, and when the asynchronous ones are known to be done.
#pragma once

#include <algorithm>
#include <vector>

#include "sim/order/access.hpp"

namespace kiln::sim {

/// Shadows and lists refer to records by their ids. Numbers of operations mean something within one cluster only.
class Records {
 public:
  /// The next cluster begins; `first` is the number of its first asynchronous operation.
  void start(AsyncId first) {
    for (auto x = accesses_.rbegin(); x != accesses_.rend() && x->cluster == cluster_; ++x)
      x->completion = completion_of(*x);
    ++cluster_;
    first_async_ = first;
    completions_.clear();
  }
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

  /// The completion of an announced operation of this cluster.
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
  std::uint32_t cluster_ = 0;
};

}  // namespace kiln::sim

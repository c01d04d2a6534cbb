// Vector clocks: what is known to have happened. Every thread, and every stream of asynchronous operations that
// completes in order (an mbarrier's phases, a thread's bulk groups, its tcgen05 operations), is a component.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace kiln::sim {

/// Index of a component in every clock of a cluster.
using Component = std::uint32_t;
/// How far a component has come; 0 is before anything.
using Epoch = std::uint32_t;

/// One event: the component it belongs to, and its place there. Epoch 0 marks an event that no clock has to know.
struct Stamp {
  Component component = 0;
  Epoch epoch = 0;
};

/// For every component the last event that is known; earlier ones are known with it.
class Clock {
 public:
  Epoch at(Component c) const { return c < epochs_.size() ? epochs_[c] : 0; }
  bool knows(Stamp s) const { return at(s.component) >= s.epoch; }
  void raise(Stamp s) {
    if (s.component >= epochs_.size()) epochs_.resize(s.component + 1);
    epochs_[s.component] = std::max(epochs_[s.component], s.epoch);
  }
  void join(const Clock& other) {
    if (other.epochs_.size() > epochs_.size()) epochs_.resize(other.epochs_.size());
    for (std::size_t i = 0; i < other.epochs_.size(); ++i) epochs_[i] = std::max(epochs_[i], other.epochs_[i]);
  }
  bool empty() const { return epochs_.empty(); }

 private:
  std::vector<Epoch> epochs_;
};

}  // namespace kiln::sim

// Vector clocks: what is known to have happened. Every thread, and every stream of asynchronous operations that
// completes in order (an mbarrier's phases, a thread's bulk groups, its tcgen05 operations), is a component.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
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

/// For every component the last event that is known; earlier ones are known with it. Copies share their epochs until
/// one of them changes: most of what threads know they have from each other.
class Clock {
 public:
  Epoch at(Component c) const { return epochs_ && c < epochs_->size() ? (*epochs_)[c] : 0; }
  bool knows(Stamp s) const { return at(s.component) >= s.epoch; }
  void raise(Stamp s) {
    if (at(s.component) >= s.epoch) return;
    std::vector<Epoch>& own = change(s.component + 1);
    own[s.component] = s.epoch;
  }
  void join(const Clock& other) {
    if (!other.epochs_ || other.epochs_ == epochs_) return;
    if (!epochs_) {
      epochs_ = other.epochs_;
      return;
    }
    if (covers(other)) return;
    const std::vector<Epoch>& theirs = *other.epochs_;
    std::vector<Epoch>& own = change(theirs.size());
    for (std::size_t i = 0; i < theirs.size(); ++i) own[i] = std::max(own[i], theirs[i]);
  }

 private:
  bool covers(const Clock& other) const {
    const std::vector<Epoch>&own = *epochs_, &theirs = *other.epochs_;
    if (theirs.size() > own.size()) return false;
    Epoch behind = 0;
    for (std::size_t i = 0; i < theirs.size(); ++i) behind |= Epoch(own[i] < theirs[i]);
    return behind == 0;
  }
  // The epochs for writing, at least `size` of them.
  std::vector<Epoch>& change(std::size_t size) {
    if (!epochs_)
      epochs_ = std::make_shared<std::vector<Epoch>>();
    else if (epochs_.use_count() > 1)
      epochs_ = std::make_shared<std::vector<Epoch>>(*epochs_);
    if (size > epochs_->size()) epochs_->resize(size);
    return *epochs_;
  }

  std::shared_ptr<std::vector<Epoch>> epochs_;
};

}  // namespace kiln::sim

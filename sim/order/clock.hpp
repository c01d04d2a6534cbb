// Vector clocks: what is known to have happened. Every thread, and every stream of asynchronous operations that
// completes in order (an mbarrier's phases, a thread's bulk groups, its tcgen05 operations), is a component.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
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
/// one of them changes: most of what threads know they have from each other. Not for two threads at once.
class Clock {
 public:
  Clock() = default;
  Clock(const Clock& o) : epochs_(o.epochs_) {
    if (epochs_) ++epochs_->users;
  }
  Clock(Clock&& o) noexcept : epochs_(std::exchange(o.epochs_, nullptr)) {}
  Clock& operator=(Clock o) noexcept {
    std::swap(epochs_, o.epochs_);
    return *this;
  }
  ~Clock() { drop(epochs_); }

  Epoch at(Component c) const { return epochs_ && c < epochs_->of.size() ? epochs_->of[c] : 0; }
  bool knows(Stamp s) const { return at(s.component) >= s.epoch; }
  void raise(Stamp s) {
    if (at(s.component) < s.epoch) change(s.component + 1)[s.component] = s.epoch;
  }
  void join(const Clock& other) {
    if (!other.epochs_ || other.epochs_ == epochs_) return;
    const bool is_older = !epochs_ || !covers(*epochs_, *other.epochs_);
    // Equal clocks become one, so that they are not compared again.
    if (!epochs_ || covers(*other.epochs_, *epochs_)) {
      *this = other;
    } else if (is_older) {
      const std::vector<Epoch>& theirs = other.epochs_->of;
      Epoch* own = change(theirs.size());
      for (std::size_t i = 0; i < theirs.size(); i += stride)
        for (std::size_t j = i; j < i + stride; ++j) own[j] = std::max(own[j], theirs[j]);
    }
  }

 private:
  struct Epochs {
    std::vector<Epoch> of{};  // a multiple of `stride`
    std::uint32_t users = 1;
  };
  static constexpr std::size_t stride = 16;  // compared at once

  static void drop(Epochs* e) {
    if (e && --e->users == 0) delete e;
  }
  static bool covers(const Epochs& own, const Epochs& theirs) {
    const Epoch *a = own.of.data(), *b = theirs.of.data();
    const std::size_t common = std::min(own.of.size(), theirs.of.size());
    for (std::size_t i = 0; i < common; i += stride) {
      Epoch is_older = 0;
      for (std::size_t j = 0; j < stride; ++j) is_older |= Epoch(a[i + j] < b[i + j]);
      if (is_older) return false;
    }
    return std::all_of(theirs.of.begin() + std::ptrdiff_t(common), theirs.of.end(), [](Epoch e) { return e == 0; });
  }
  // The epochs for writing, at least `size` of them.
  Epoch* change(std::size_t size) {
    if (!epochs_ || epochs_->users > 1) {
      Epochs* own = epochs_ ? new Epochs{epochs_->of} : new Epochs;
      drop(std::exchange(epochs_, own));
    }
    if (size > epochs_->of.size()) epochs_->of.resize((size + stride - 1) / stride * stride);
    return epochs_->of.data();
  }

  Epochs* epochs_ = nullptr;
};

/// What makes it doubtful that what is known to have happened may be relied on: a wait on an mbarrier that PTX lets
/// acquire nothing, though hardware does not tell it from one that does (tests/gpu/wait_scope.cu).
enum class Doubt : std::uint8_t {
  relaxed,  // the wait is .relaxed
  narrow    // its scope ends before the thread that arrived
};
inline constexpr int doubts = 2;

/// What has happened, and what of it is known without each doubt.
class History : public Clock {
 public:
  void raise(Stamp s) {
    Clock::raise(s);
    for (std::optional<Clock>& c : certain_)
      if (c) c->raise(s);
  }
  void join(const Clock& o) {
    for (std::optional<Clock>& c : certain_)
      if (c) c->join(o);
    Clock::join(o);
  }
  void join(const History& o) {
    for (std::size_t d = 0; d < doubts; ++d) {
      if (!certain_[d] && !o.certain_[d]) continue;
      if (!certain_[d]) certain_[d] = Clock(*this);
      certain_[d]->join(o.certain(Doubt(d)));
    }
    Clock::join(o);
  }
  /// All of it is doubtful but for `rest`.
  void doubt(Doubt d, const Clock& rest) { certain_[std::size_t(d)] = rest; }
  const Clock& certain(Doubt d) const { return certain_[std::size_t(d)] ? *certain_[std::size_t(d)] : *this; }

 private:
  std::array<std::optional<Clock>, doubts> certain_{};  // where it is not all
};

}  // namespace kiln::sim

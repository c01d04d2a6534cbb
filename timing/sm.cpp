#include "timing/sm.hpp"

#include <algorithm>

namespace kiln::timing {

double TensorPipe::begin(double at, double least, const MmaTime& t) {
  const double taken = std::max(free_, least);
  const bool waits = at < taken;
  const double start = waits ? taken + (refilled_ ? 0 : t.refill) : at;
  refilled_ = waits;
  if (!waits) busy_since_ = start;
  free_ = start + t.interval;
  busy_ += t.interval;
  starts_.push_back(start);
  if (starts_.size() > depth_) starts_.pop_front();
  return start;
}

void TensorPipe::block(double until, double busy) {
  free_ = std::max(free_, until);
  busy_ += busy;
}

double WgmmaQueue::room(double at, std::uint32_t warp) const {
  const bool alone =
      std::none_of(issued_.begin(), issued_.end(), [&](const Issued& x) { return x.warp != warp && x.end > at; });
  const std::size_t most = alone ? alone_ : shared_;
  return issued_.size() < most ? at : std::max(at, issued_[issued_.size() - most].end);
}

void WgmmaQueue::add(std::uint32_t warp, double end) {
  issued_.push_back({warp, end});
  if (issued_.size() > std::max(alone_, shared_)) issued_.pop_front();
}

}  // namespace kiln::timing

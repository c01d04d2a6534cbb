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

void WgmmaQueue::add(double end) {
  ends_.push_back(end);
  if (ends_.size() > most_) ends_.pop_front();
}

}  // namespace kiln::timing

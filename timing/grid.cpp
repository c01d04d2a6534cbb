#include "timing/grid.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>
#include <set>
#include <utility>

namespace kiln::timing {
namespace {

constexpr double straight = 0.01;        // a cluster that is so far off the line, as a part of its time, bends it
constexpr double worth = 0.005;          // of the grid's work: less is not worth another cluster
constexpr std::size_t most_points = 16;  // of an axis
// Of one whose clusters all run in their order. On the first axis that is done for few only, because there clusters that
// count share no tile, but have one after the other.
constexpr std::size_t most_in_order = 128;

Work between(const Work& x, const Work& y, double share) {
  const auto on_line = [&](double a, double b) { return a + share * (b - a); };
  return {on_line(x.cycles, y.cycles), on_line(x.tensor, y.tensor), on_line(x.operations, y.operations),
          on_line(x.loaded, y.loaded)};
}

}  // namespace

Sample::Sample(launch::Dim3 clusters, bool all) : extents_{clusters.x, clusters.y, clusters.z}, all_(all) {}

std::uint32_t Sample::number(int axis, std::uint32_t at) const {
  return axis == 0 ? at : axis == 1 ? at * extents_[0] : at * extents_[0] * extents_[1];
}

void Sample::take_all_of_last_axis() {
  in_order_ = true;
  left_out_ |= last_axis() > 0 && extents_[std::size_t(last_axis())] > most_in_order;
}

void Sample::take_all_of(const std::array<bool, 3>& axes, std::size_t most) {
  if (!to_run_.empty()) return;
  together_ = axes;
  ChosenPlaces places = places_on(extents_, axes, most);
  to_run_ = std::move(places.numbers), left_out_ |= places.left_out;
}

void Sample::mix(const std::array<bool, 3>& axes, const Tallies& tallies, std::size_t most, bool checked) {
  if (mixes_) return;
  together_ = axes, left_out_ |= tallies.left_out;
  mixes_.emplace(tallies, most, checked);
  for (const auto& [place, work] : ran_) mixes_->add(place, work);
}

Work Sample::mean() const {
  if (mixes_) return mixes_->mean_work();
  Work sum;
  for (const std::uint32_t k : to_run_) {
    const Work& w = ran_.at(k);
    sum.cycles += w.cycles, sum.tensor += w.tensor, sum.operations += w.operations, sum.loaded += w.loaded;
  }
  return between({}, sum, 1 / double(to_run_.size()));
}

// The ends, the second and the middle; then the middle of what is not straight and long enough to matter.
std::optional<std::uint32_t> Sample::missing(int axis) const {
  const std::uint32_t extent = extents_[std::size_t(axis)];
  if (in_order_ && axis == last_axis() && extent <= (axis == 0 ? most_points : most_in_order))
    for (std::uint32_t at = 0; at < extent; ++at)
      if (!ran_.contains(number(axis, at))) return number(axis, at);
  for (const std::uint32_t at : {0u, extent - 1, std::min(1u, extent - 1), extent / 2})
    if (!ran_.contains(number(axis, at))) return number(axis, at);
  const Line& points = lines_[std::size_t(axis)];
  if (points.size() >= most_points) return std::nullopt;
  double widest = 0;
  std::optional<std::uint32_t> best;
  for (auto low = points.begin(), high = std::next(low); high != points.end(); ++low, ++high) {
    const std::uint32_t width = high->first - low->first;
    if (width < 2) continue;
    // How far the points beside the interval are off its line, or it is off theirs.
    double off = 0;
    const auto compare = [&](Line::const_iterator a, Line::const_iterator b, Line::const_iterator c) {
      const double share = double(b->first - a->first) / double(c->first - a->first);
      off = std::max(off, std::abs(between(a->second, c->second, share).cycles - b->second.cycles));
    };
    if (low != points.begin()) compare(std::prev(low), low, high);
    if (std::next(high) != points.end()) compare(low, high, std::next(high));
    const double most = std::max(low->second.cycles, high->second.cycles);
    const double weight = std::min(off, std::abs(high->second.cycles - low->second.cycles)) * width;
    if (off > straight * most && weight > worth * most * extent && weight > widest)
      widest = weight, best = number(axis, low->first + width / 2);
  }
  return best;
}

std::optional<std::uint32_t> Sample::next() const {
  if (all_) {
    const std::uint64_t clusters = std::uint64_t(extents_[0]) * extents_[1] * extents_[2];
    return ran_.size() < clusters ? std::optional(std::uint32_t(ran_.size())) : std::nullopt;
  }
  for (const std::uint32_t k : to_run_)
    if (!ran_.contains(k)) return k;
  if (mixes_)
    if (const auto place = mixes_->next()) return place;
  for (int axis = 0; axis < 3; ++axis)
    if (!together_[std::size_t(axis)])
      if (const auto number = missing(axis)) return number;
  return std::nullopt;
}

std::vector<std::uint32_t> Sample::of_last_wave() const {
  const std::uint32_t extent = extents_[std::size_t(last_axis())];
  if (!in_order_ || extent > most_points) return {0};
  std::vector<std::uint32_t> all;
  for (std::uint32_t at = 0; at < extent; ++at) all.push_back(number(last_axis(), at));
  return all;
}

void Sample::add(std::uint32_t cluster, const Work& work) {
  ran_[cluster] = work;
  if (mixes_) mixes_->add(cluster, work);
  const std::array<std::uint32_t, 3> at{cluster % extents_[0], cluster / extents_[0] % extents_[1],
                                        cluster / extents_[0] / extents_[1]};
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (number(int(axis), at[axis]) == cluster) lines_[axis][at[axis]] = work;
}

// What an axis does to the first cluster it does to all.
Work Sample::of(std::uint32_t cluster) const {
  if (const auto found = ran_.find(cluster); found != ran_.end()) return found->second;
  const Work first = ran_.at(0);
  std::array<std::uint32_t, 3> places{cluster % extents_[0], cluster / extents_[0] % extents_[1],
                                      cluster / extents_[0] / extents_[1]};
  Work out = first;
  if (!to_run_.empty() || mixes_) {
    std::uint32_t like = 0;  // the cluster at the same places on the axes of which all run
    for (int axis = 0; axis < 3; ++axis)
      if (together_[std::size_t(axis)]) like += number(axis, std::exchange(places[std::size_t(axis)], 0));
    const auto found = ran_.find(like);
    out = found != ran_.end() ? found->second : mixes_ && mixes_->knows(like) ? mixes_->of(like) : mean();
  }
  for (int axis = 0; axis < 3; ++axis) {
    const std::uint32_t at = places[std::size_t(axis)];
    if (at == 0) continue;
    const Line& points = lines_[std::size_t(axis)];
    const auto high = points.lower_bound(at);
    if (high == points.end()) continue;
    const auto low = high->first == at ? high : std::prev(high);
    const double width = high->first - low->first;
    const Work here = between(low->second, high->second, width > 0 ? (at - low->first) / width : 0);
    const auto scale = [](double& value, double here_, double first_) {
      if (first_ > 0) value *= here_ / first_;
    };
    scale(out.cycles, here.cycles, first.cycles), scale(out.tensor, here.tensor, first.tensor);
    scale(out.operations, here.operations, first.operations), scale(out.loaded, here.loaded, first.loaded);
  }
  return out;
}

GridWork dispatch(const Sample& sample, std::uint64_t clusters, std::uint64_t resident, double gap, double tail) {
  GridWork out;
  out.ran = sample.size();
  out.left_out = sample.left_out(), out.mixed = sample.mixes().has_value();
  std::priority_queue<double, std::vector<double>, std::greater<>> ends;
  const std::uint64_t last_wave = clusters > resident ? (clusters - 1) / resident * resident : clusters;
  std::set<long> kinds;
  for (std::uint64_t k = 0; k < clusters; ++k) {
    Work work = sample.of(std::uint32_t(k));
    kinds.insert(std::lround(std::log(work.cycles) / straight));
    if (k >= last_wave) work.cycles *= tail;
    double start = 0;
    if (ends.size() >= resident) start = ends.top() + gap, ends.pop();
    ends.push(start + work.cycles);
    out.cycles = std::max(out.cycles, start + work.cycles);
    out.tensor += work.tensor, out.busy += work.cycles;
    out.operations += work.operations, out.loaded += work.loaded;
  }
  out.kinds = kinds.size();
  return out;
}

}  // namespace kiln::timing
